/*
 * How fast are several threads that each use blocks of 8 … 32 KiB?
 *
 * Every thread has its own 256 slots and does OPS operations (default 1,000,000) on them: a random
 * slot is freed or filled, so half of the operations are allocations. The figure counts the
 * operations of all threads from the first start to the last end.
 */
#include "churn.h"

enum { SLOTS = 256, BLOCK_MIN = 8 << 10, BLOCK_MAX = 32 << 10, THREADS_MAX = 1024 };

struct worker {
    pthread_t thread;
    pthread_barrier_t *start_line;
    uint64_t steps;
    uint64_t seed;
    double start, end; /* seconds */
};

static void *
work(void *argument)
{
    struct worker *worker = argument;
    struct churn churn = churn_start(SLOTS, BLOCK_MIN, BLOCK_MAX, worker->seed);
    churn_warm_up(&churn);
    pthread_barrier_wait(worker->start_line);
    worker->start = bench_now();
    churn_run(&churn, worker->steps);
    worker->end = bench_now();
    churn_end(&churn);
    return NULL;
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 1, 3, "THREADS [OPS] [SEED]");
    uint64_t threads = bench_number("THREADS", argv[1], 1, THREADS_MAX);
    uint64_t steps = bench_number_or(argc, argv, 2, "OPS", 1, 1000000000000u, 1000000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);

    static struct worker workers[THREADS_MAX];
    pthread_barrier_t start_line;
    pthread_barrier_init(&start_line, NULL, (unsigned)threads);
    for (uint64_t i = 0; i < threads; i++) {
        workers[i] =
            (struct worker){.start_line = &start_line, .steps = steps, .seed = seed * 1024 + i};
        bench_thread_start(&workers[i].thread, work, &workers[i]);
    }
    double first_start = 0, last_end = 0;
    for (uint64_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        first_start = i == 0 || workers[i].start < first_start ? workers[i].start : first_start;
        last_end = workers[i].end > last_end ? workers[i].end : last_end;
    }
    bench_report(threads * steps, last_end - first_start);
    return 0;
}
