/*
 * What do many short-lived threads cost an allocator?
 *
 * COUNT threads in all (default 10,000), at most THREADS of them alive at once (default 64). Each
 * allocates 256 blocks of 16 … 1,024 B, frees all but 8 of them, and leaves those to whichever
 * thread takes its place in the table next. An operation is one malloc with its free.
 */
#include "common.h"

enum { BLOCKS = 256, LEFT_BEHIND = 8, THREADS_MAX = 4096 };

struct place {
    pthread_t thread;
    uint64_t seed;
    void *left[LEFT_BEHIND];
};

static void *
live(void *argument)
{
    struct place *place = argument;
    struct bench_random random = bench_random_start(place->seed);
    void *blocks[BLOCKS];
    for (int i = 0; i < LEFT_BEHIND; i++) {
        free(place->left[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = 16 + bench_scale((uint32_t)(bench_next(&random) >> 32), 1009);
        blocks[i] = bench_malloc(size);
        bench_touch(blocks[i], size);
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (i < LEFT_BEHIND) {
            place->left[i] = blocks[i];
        } else {
            free(blocks[i]);
        }
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[THREADS] [COUNT] [SEED]");
    uint64_t places = bench_number_or(argc, argv, 1, "THREADS", 1, THREADS_MAX, 64);
    uint64_t count = bench_number_or(argc, argv, 2, "COUNT", 1, 1000000000u, 10000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);

    struct place *all = bench_table(places * sizeof *all);
    double start = bench_now();
    for (uint64_t i = 0; i < count; i++) {
        struct place *place = &all[i % places];
        if (i >= places) {
            pthread_join(place->thread, NULL);
        }
        place->seed = seed * 1000003 + i;
        bench_thread_start(&place->thread, live, place);
    }
    uint64_t taken = count < places ? count : places;
    for (uint64_t i = 0; i < taken; i++) {
        pthread_join(all[i].thread, NULL);
    }
    double end = bench_now();
    for (uint64_t i = 0; i < taken; i++) {
        for (int j = 0; j < LEFT_BEHIND; j++) {
            free(all[i].left[j]);
        }
    }
    bench_report(count * BLOCKS, end - start);
    return 0;
}
