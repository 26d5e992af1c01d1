/*
 * Statistics, trimming and ownership queries from several threads while others allocate, free
 * and end.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

enum { WORKERS = 3, OBSERVERS = 2 };

static atomic_int working;
static int rounds;

static void *short_lived(void *argument)
{
    struct rng rng = {(uint64_t)(intptr_t)argument};
    struct parcel parcels[200];
    for (int i = 0; i < 200; i++)
        parcels[i] = parcel_make(rng_mixed_size(&rng) / 8 + 1, 1, (uint64_t)i);
    for (int i = 0; i < 200; i++)
        parcel_free(&parcels[i]);
    return NULL;
}

static void work(int number)
{
    for (int i = 0; i < rounds; i++) {
        pthread_t thread;
        void *given = (void *)(intptr_t)(number * rounds + i);
        CHECK(pthread_create(&thread, NULL, short_lived, given) == 0);
        short_lived(given);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    atomic_fetch_sub(&working, 1);
}

static void observe(int number)
{
    while (atomic_load(&working) > 0) {
        struct hakmem_stats stats = {.size = sizeof stats};
        CHECK(hakmem_stats_get(&stats) == 0);
        CHECK(stats.superslabs <= stats.superslabs_peak && stats.heaps_live <= stats.heaps_made);
        CHECK(stats.used_bytes < (uint64_t)1 << 32 && stats.large_bytes < (uint64_t)1 << 32);
        (void)hakmem_owns(&stats);
        if (number % 2 == 0)
            (void)hakmem_malloc_trim(0);
        sched_yield();
    }
}

static void *thread_main(void *argument)
{
    int number = (int)(intptr_t)argument;
    if (number < WORKERS)
        work(number);
    else
        observe(number - WORKERS);
    return NULL;
}

static void observers_see_sane_figures(void)
{
    uint64_t before = bytes_in_use();
    atomic_store(&working, WORKERS);
    crew_run(WORKERS + OBSERVERS, thread_main);
    check_settled(before);
}

int main(int argc, char **argv)
{
    rounds = 80 * scale_of(argc, argv);
    reach_hakmem();
    RUN(observers_see_sane_figures);
    return 0;
}
