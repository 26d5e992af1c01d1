/*
 * What does a block cost that one thread allocates and another frees?
 *
 * N batches of 1,024 blocks of 16 … 271 B. The two threads take strict turns through a pair of
 * semaphores: the owner fills a batch, the other thread frees it. So the count of instructions does
 * not depend on waiting or on the scheduler, and holds both sides' work: the sender's and what the
 * owner does to get the blocks back. An operation is one malloc with its remote free. For the
 * speed of both threads running at once see bench_producer_consumer.
 */
#include "common.h"

#include <semaphore.h>

enum { BATCH = 1024 };

static void *blocks[BATCH];
static uint64_t batches;
static sem_t filled, emptied;

static void
wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

static void *
free_all(void *unused)
{
    for (uint64_t i = 0; i < batches; i++) {
        wait_for(&filled);
        for (int j = 0; j < BATCH; j++) {
            free(blocks[j]);
        }
        sem_post(&emptied);
    }
    return unused;
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 1, 2, "N [SEED]");
    batches = bench_number("N", argv[1], 1, 1000000000u);
    uint64_t seed = bench_number_or(argc, argv, 2, "SEED", 0, UINT64_MAX, 1);

    struct bench_random random = bench_random_start(seed);
    sem_init(&filled, 0, 0);
    sem_init(&emptied, 0, 0);
    pthread_t sender;
    bench_thread_start(&sender, free_all, NULL);
    double start = bench_now();
    for (uint64_t i = 0; i < batches; i++) {
        for (int j = 0; j < BATCH; j++) {
            blocks[j] = malloc(16 + (bench_next(&random) >> 56));
        }
        sem_post(&filled);
        wait_for(&emptied);
    }
    double end = bench_now();
    pthread_join(sender, NULL);
    bench_report(batches * BATCH, end - start);
    return 0;
}
