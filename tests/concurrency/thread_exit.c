/*
 * Threads end with blocks outstanding: others free them during the exit, after it, and after the
 * heap has been adopted by a new thread, which meanwhile allocates from it.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

enum { THREADS = 4, LEFT = 400 };

static struct parcel left[2][THREADS][LEFT];
static int generations;
static int generation;

/* Frees what the generation before left, and leaves its own. */
static void *mortal(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)(generation * THREADS + number)};
    struct parcel *mine = left[generation % 2][number];
    struct parcel *inherited = left[(generation + 1) % 2][(number + 1) % THREADS];
    for (int i = 0; i < LEFT; i++) {
        mine[i] = parcel_make(rng_mixed_size(&rng) / 4 + 1, (unsigned)number,
                              (uint64_t)(generation * LEFT + i));
        if (inherited[i].block != NULL)
            parcel_free(&inherited[i]);
    }
    return NULL;
}

static void heirs_free_what_the_dead_left(void)
{
    uint64_t before = bytes_in_use();
    for (generation = 0; generation < generations; generation++)
        crew_run(THREADS, mortal);
    for (int side = 0; side < 2; side++)
        for (int t = 0; t < THREADS; t++)
            for (int i = 0; i < LEFT; i++)
                if (left[side][t][i].block != NULL)
                    parcel_free(&left[side][t][i]);
    check_settled(before);
}

static struct ring exits[THREADS];
static atomic_int living;

/* Sends everything and ends at once: the receiver frees while this thread's exit is under way. */
static void *hasty(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number + 900};
    for (int i = 0; i < RING_SLOTS; i++) {
        struct parcel parcel =
            parcel_make(rng_mixed_size(&rng) / 8 + 1, (unsigned)number, (uint64_t)i);
        while (!ring_send(&exits[number], parcel))
            sched_yield();
    }
    atomic_fetch_sub(&living, 1);
    return NULL;
}

static void *undertaker(void *argument)
{
    (void)argument;
    for (bool any = true; any || atomic_load(&living) > 0;) {
        any = false;
        for (int i = 0; i < THREADS - 1; i++)
            for (struct parcel parcel; ring_receive(&exits[i], &parcel); any = true)
                parcel_free(&parcel);
        if (!any)
            sched_yield();
    }
    return NULL;
}

static void *hasty_or_undertaker(void *argument)
{
    return (intptr_t)argument < THREADS - 1 ? hasty(argument) : undertaker(argument);
}

static void frees_during_the_exit(void)
{
    uint64_t before = bytes_in_use();
    for (int round = 0; round < generations; round++) {
        atomic_store(&living, THREADS - 1);
        crew_run(THREADS, hasty_or_undertaker);
        for (int i = 0; i < THREADS - 1; i++)
            for (struct parcel parcel; ring_receive(&exits[i], &parcel);)
                parcel_free(&parcel);
    }
    check_settled(before);
}

/* 1 MiB a generation that dies and is freed by main: without adoption 60 MiB would pile up. */
static void adoption_reuses_memory(void)
{
    struct hakmem_stats stats = {.size = sizeof stats};
    uint64_t first = 0;
    for (generation = 0; generation < 40; generation++) {
        crew_run(THREADS, mortal);
        if (generation == 8) {
            CHECK(hakmem_stats_get(&stats) == 0);
            first = stats.superslab_bytes;
        }
    }
    CHECK(hakmem_stats_get(&stats) == 0);
    CHECK_THAT(stats.superslab_bytes <= first * 2, "%llu bytes of SuperSlabs, then %llu",
               (unsigned long long)first, (unsigned long long)stats.superslab_bytes);
    CHECK_THAT(stats.heaps_live <= 2, "%llu heaps live with one thread",
               (unsigned long long)stats.heaps_live);
    for (int side = 0; side < 2; side++)
        for (int t = 0; t < THREADS; t++)
            for (int i = 0; i < LEFT; i++)
                if (left[side][t][i].block != NULL)
                    parcel_free(&left[side][t][i]);
}

int main(int argc, char **argv)
{
    generations = 60 * scale_of(argc, argv);
    reach_hakmem();
    RUN(heirs_free_what_the_dead_left);
    RUN(frees_during_the_exit);
    RUN(adoption_reuses_memory);
    return 0;
}
