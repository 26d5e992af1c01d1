/*
 * How fast do blocks move from threads that allocate to threads that free?
 *
 * PAIRS of one producer and one consumer (default 1), each with its own ring of 1,024 places, both
 * running at once; OPS blocks a pair (default 5,000,000), sizes 16 … 1,024 B. An operation is one
 * block allocated, handed over and freed.
 */
#include "common.h"

#include <sched.h>
#include <stdatomic.h>

enum { PLACES = 1024, PAIRS_MAX = 256 };

struct pair {
    _Alignas(64) _Atomic uint64_t written;
    _Alignas(64) _Atomic uint64_t read;
    _Alignas(64) pthread_t producer, consumer;
    uint64_t operations;
    uint64_t seed;
    void *places[PLACES];
};

static void *
produce(void *argument)
{
    struct pair *pair = argument;
    struct bench_random random = bench_random_start(pair->seed);
    uint64_t room_until = PLACES;
    for (uint64_t i = 0; i < pair->operations; i++) {
        size_t size = 16 + bench_scale((uint32_t)(bench_next(&random) >> 32), 1009);
        void *block = bench_malloc(size);
        bench_touch(block, size);
        while (i == room_until) {
            room_until = atomic_load_explicit(&pair->read, memory_order_acquire) + PLACES;
            if (i == room_until) {
                sched_yield();
            }
        }
        pair->places[i % PLACES] = block;
        atomic_store_explicit(&pair->written, i + 1, memory_order_release);
    }
    return NULL;
}

static void *
consume(void *argument)
{
    struct pair *pair = argument;
    uint64_t there_until = 0;
    for (uint64_t i = 0; i < pair->operations; i++) {
        while (i == there_until) {
            there_until = atomic_load_explicit(&pair->written, memory_order_acquire);
            if (i == there_until) {
                sched_yield();
            }
        }
        free(pair->places[i % PLACES]);
        atomic_store_explicit(&pair->read, i + 1, memory_order_release);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[PAIRS] [OPS] [SEED]");
    uint64_t pairs = bench_number_or(argc, argv, 1, "PAIRS", 1, PAIRS_MAX, 1);
    uint64_t operations = bench_number_or(argc, argv, 2, "OPS", 1, 1000000000000u, 5000000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);

    struct pair *all = bench_table(pairs * sizeof *all);
    double start = bench_now();
    for (uint64_t i = 0; i < pairs; i++) {
        all[i].operations = operations;
        all[i].seed = seed * 1024 + i;
        bench_thread_start(&all[i].producer, produce, &all[i]);
        bench_thread_start(&all[i].consumer, consume, &all[i]);
    }
    for (uint64_t i = 0; i < pairs; i++) {
        pthread_join(all[i].producer, NULL);
        pthread_join(all[i].consumer, NULL);
    }
    bench_report(pairs * operations, bench_now() - start);
    return 0;
}
