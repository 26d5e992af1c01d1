/*
 * Parcels travel round a ring of threads; each station checks them, sometimes resizes them, and
 * after a random number of hops the block is freed far from where it came from.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

enum { THREADS = 6 };

static struct ring rings[THREADS];
static int parcels;
static atomic_int working;

/* One station: passes on what came in, as long as it can; true when something came. */
static bool pass_on(int number, struct rng *rng)
{
    struct parcel parcel;
    if (!ring_receive(&rings[number], &parcel))
        return false;
    parcel_check(&parcel);
    uint64_t pick = rng_below(rng, 8);
    if (pick == 0)
        parcel_resize(&parcel, rng_mixed_size(rng));
    if (pick < 3 || !ring_send(&rings[(number + 1) % THREADS], parcel))
        parcel_free(&parcel);
    return true;
}

static void *station(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number * 77 + 5};
    for (int i = 0; i < parcels; i++) {
        struct parcel parcel = parcel_make(rng_mixed_size(&rng), (unsigned)number, (uint64_t)i);
        if (!ring_send(&rings[(number + 1) % THREADS], parcel))
            parcel_free(&parcel);
        pass_on(number, &rng);
    }
    atomic_fetch_sub(&working, 1);
    /* Nobody sends for ever, so an empty ring with nobody at work means the end. */
    while (atomic_load(&working) > 0)
        if (!pass_on(number, &rng))
            sched_yield();
    return NULL;
}

static void hand_over_in_a_ring(void)
{
    uint64_t before = bytes_in_use();
    atomic_store(&working, THREADS);
    crew_run(THREADS, station);
    for (int i = 0; i < THREADS; i++)
        for (struct parcel parcel; ring_receive(&rings[i], &parcel);)
            parcel_free(&parcel);
    check_settled(before);
}

int main(int argc, char **argv)
{
    parcels = 15000 * scale_of(argc, argv);
    reach_hakmem();
    RUN(hand_over_in_a_ring);
    return 0;
}
