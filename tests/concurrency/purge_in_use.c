/*
 * No data is lost to a purge: threads fill blocks of every tier with patterns, hand them on, free and
 * resize them, while others purge everything that can be purged, all the time.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

#include <hakmem/hakmem.h>

enum { THREADS = 8, KEPT = 200, SHARED = 256 };

static struct parcel *_Atomic shared[SHARED];
static _Atomic int working;
static int steps;

static struct parcel *boxed(struct parcel parcel)
{
    struct parcel *box = malloc(sizeof *box);
    CHECK(box != NULL);
    *box = parcel;
    return box;
}

static void drop(struct parcel *box)
{
    parcel_free(box);
    free(box);
}

/* Mostly small, so that slabs are partly used: that is what is purged page by page. Page runs are purged in
 * the caches of the threads that freed them. */
static size_t any_size(struct rng *rng)
{
    switch (rng_below(rng, 50)) {
    case 0:
        return rng_mixed_size(rng);
    case 1:
        return rng_between(rng, 40000, 200000);
    default:
        return rng_between(rng, 1, 6000);
    }
}

static void *worker(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number + 77};
    struct parcel *kept[KEPT] = {0};
    for (int i = 0; i < steps; i++) {
        size_t k = rng_below(&rng, KEPT);
        if (kept[k] == NULL) {
            kept[k] = boxed(parcel_make(any_size(&rng), (unsigned)number, (uint64_t)i));
        } else if (rng_below(&rng, 8) == 0) {
            parcel_resize(kept[k], any_size(&rng));
        } else if (rng_below(&rng, 3) == 0) { /* in exchange for somebody else's */
            kept[k] = atomic_exchange_explicit(&shared[rng_below(&rng, SHARED)], kept[k],
                                               memory_order_acq_rel);
        } else {
            drop(kept[k]);
            kept[k] = NULL;
        }
        if (number % 2 == 0) /* half of the threads purge as well */
            if (i % 16 == 0)
                hakmem_purge();
    }
    for (int k = 0; k < KEPT; k++)
        if (kept[k] != NULL)
            drop(kept[k]);
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void *purger(void *argument)
{
    (void)argument;
    while (atomic_load(&working) != 0)
        hakmem_purge();
    return NULL;
}

static void *either(void *argument)
{
    return (intptr_t)argument < THREADS ? worker(argument) : purger(argument);
}

static void run(void)
{
    uint64_t before = bytes_in_use();
    atomic_store(&working, THREADS);
    crew_run(THREADS + 1, either);
    for (int i = 0; i < SHARED; i++) {
        struct parcel *found = atomic_exchange(&shared[i], NULL);
        if (found != NULL)
            drop(found);
    }
    check_settled(before);
}

/* Threads that end leave orphans, which are purged and adopted at the same time. */
static void with_threads_that_end(void)
{
    int all = steps;
    steps = all / 8;
    for (int i = 0; i < 8; i++)
        run();
    steps = all;
}

int main(int argc, char **argv)
{
    steps = 4000 * scale_of(argc, argv);
    reach_hakmem();
    RUN(run);
    RUN(with_threads_that_end);
    return 0;
}
