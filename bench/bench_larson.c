/*
 * How fast is a server whose threads come and go while their blocks stay?
 *
 * After the pattern of Larson and Krishnan (ISMM 1998): THREADS lanes (default 4), each a working
 * set of 1,024 blocks of 10 … 500 B. A thread replaces random blocks of its lane 10,000 times, then
 * starts its successor, hands the lane to it and ends; so most blocks are freed by another thread
 * than the one that allocated them, often after that one has ended. ROUNDS successors a lane
 * (default 200). An operation is one free with the malloc that follows it.
 */
#include "common.h"

#include <semaphore.h>

enum { SLOTS = 1024, STEPS = 10000, THREADS_MAX = 256 };

struct lane {
    void *slots[SLOTS];
    struct bench_random random;
    uint64_t rounds_left;
};

static sem_t lane_ended;

static void *serve(void *argument);

static void
start_detached(struct lane *lane)
{
    pthread_t thread;
    bench_thread_start(&thread, serve, lane);
    pthread_detach(thread);
}

static void *
serve(void *argument)
{
    struct lane *lane = argument;
    struct bench_random random = lane->random;
    for (int step = 0; step < STEPS; step++) {
        uint64_t bits = bench_next(&random);
        void **slot = &lane->slots[bench_scale((uint32_t)(bits >> 32), SLOTS)];
        free(*slot);
        size_t size = 10 + bench_scale((uint32_t)bits, 491);
        *slot = bench_malloc(size);
        bench_touch(*slot, size);
    }
    lane->random = random;
    if (--lane->rounds_left == 0) {
        sem_post(&lane_ended);
    } else {
        start_detached(lane);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[THREADS] [ROUNDS] [SEED]");
    uint64_t threads = bench_number_or(argc, argv, 1, "THREADS", 1, THREADS_MAX, 4);
    uint64_t rounds = bench_number_or(argc, argv, 2, "ROUNDS", 1, 1000000000u, 200);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);

    struct lane *lanes = bench_table(threads * sizeof *lanes);
    sem_init(&lane_ended, 0, 0);
    double start = bench_now();
    for (uint64_t i = 0; i < threads; i++) {
        lanes[i].random = bench_random_start(seed * 1024 + i);
        lanes[i].rounds_left = rounds;
        start_detached(&lanes[i]);
    }
    for (uint64_t ended = 0; ended < threads;) {
        ended += sem_wait(&lane_ended) == 0;
    }
    double end = bench_now();
    for (uint64_t i = 0; i < threads; i++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            free(lanes[i].slots[slot]);
        }
    }
    bench_report(threads * rounds * STEPS, end - start);
    return 0;
}
