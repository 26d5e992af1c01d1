/*
 * Every thread works on every tier at once, shares a table of slots with all the others, and
 * frees or resizes whatever it finds there.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

enum { THREADS = 6, SLOTS = 512 };

/* Slot: a parcel on the heap that belongs to whoever exchanges it out. */
static struct parcel *_Atomic slots[SLOTS];
static int steps;
static bool resizing;

static struct parcel *boxed(struct parcel parcel)
{
    struct parcel *box = malloc(sizeof *box);
    CHECK(box != NULL);
    *box = parcel;
    return box;
}

static void unbox_and_free(struct parcel *box)
{
    parcel_free(box);
    free(box);
}

static void *worker(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number + 400};
    for (int i = 0; i < steps; i++) {
        size_t slot = rng_below(&rng, SLOTS);
        struct parcel *mine = NULL;
        if (rng_below(&rng, 2))
            mine = boxed(parcel_make(rng_mixed_size(&rng), (unsigned)number, (uint64_t)i));
        struct parcel *found =
            atomic_exchange_explicit(&slots[slot], mine, memory_order_acq_rel);
        if (found == NULL)
            continue;
        if (!resizing || rng_below(&rng, 2)) {
            unbox_and_free(found);
            continue;
        }
        parcel_resize(found, rng_mixed_size(&rng));
        slot = rng_below(&rng, SLOTS);
        found = atomic_exchange_explicit(&slots[slot], found, memory_order_acq_rel);
        if (found != NULL)
            unbox_and_free(found);
    }
    return NULL;
}

static void run(void)
{
    uint64_t before = bytes_in_use();
    crew_run(THREADS, worker);
    for (int i = 0; i < SLOTS; i++) {
        struct parcel *found = atomic_exchange(&slots[i], NULL);
        if (found != NULL)
            unbox_and_free(found);
    }
    check_settled(before);
}

static void shared_table(void)
{
    resizing = false;
    run();
}

static void realloc_across_threads(void)
{
    resizing = true;
    run();
}

int main(int argc, char **argv)
{
    steps = 20000 * scale_of(argc, argv);
    reach_hakmem();
    RUN(shared_table);
    RUN(realloc_across_threads);
    return 0;
}
