/*
 * Every block is freed by another thread than its own, in whole generations: all allocate, all
 * wait, each frees its neighbour's blocks in a random order while it refills its own. Slabs
 * become empty by remote frees alone.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

enum { THREADS = 4, HELD = 3000 };

static struct parcel held[2][THREADS][HELD];
static pthread_barrier_t barrier;
static int generations;

static void shuffle(struct parcel *parcels, struct rng *rng)
{
    for (int i = HELD - 1; i > 0; i--) {
        int j = (int)rng_below(rng, (uint64_t)i + 1);
        struct parcel kept = parcels[i];
        parcels[i] = parcels[j];
        parcels[j] = kept;
    }
}

static size_t size_in(int generation, struct rng *rng)
{
    switch (generation % 4) {
    case 0:
        return 64;
    case 1:
        return rng_between(rng, 1, 1024);
    case 2:
        return rng_between(rng, 1025, 20000);
    default:
        return rng_mixed_size(rng) / 8 + 1;
    }
}

static void *thread_main(void *argument)
{
    int number = (int)(intptr_t)argument;
    int neighbour = (number + 1) % THREADS;
    struct rng rng = {(uint64_t)number + 31};
    for (int generation = 0; generation <= generations; generation++) {
        struct parcel *mine = held[generation % 2][number];
        struct parcel *theirs = held[(generation + 1) % 2][neighbour];
        if (generation > 0)
            shuffle(theirs, &rng);
        for (int i = 0; i < HELD; i++) {
            if (generation > 0)
                parcel_free(&theirs[i]);
            if (generation < generations)
                mine[i] = parcel_make(size_in(generation, &rng), (unsigned)number,
                                      (uint64_t)(generation * HELD + i));
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void all_frees_are_remote(void)
{
    uint64_t before = bytes_in_use();
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    crew_run(THREADS, thread_main);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
    check_settled(before);
}

int main(int argc, char **argv)
{
    generations = 8 * scale_of(argc, argv);
    reach_hakmem();
    RUN(all_frees_are_remote);
    return 0;
}
