/*
 * fork while other threads allocate, free remotely and exit. The child finds every block of the
 * parent as it was, frees it, allocates in every tier and ends.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include <sys/wait.h>

enum { THREADS = 3, KEPT = 300, CHILD_SECONDS = 120 };

static struct ring rings[THREADS];
static struct parcel kept[KEPT];
static atomic_int stop;
static int forks;

static void *busy(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number + 60};
    for (uint64_t i = 0; !atomic_load(&stop); i++) {
        struct parcel parcel = parcel_make(rng_mixed_size(&rng) / 4 + 1, (unsigned)number, i);
        if (!ring_send(&rings[(number + 1) % THREADS], parcel))
            parcel_free(&parcel);
        if (ring_receive(&rings[number], &parcel))
            parcel_free(&parcel);
    }
    return NULL;
}

static void work_alone(int steps)
{
    struct rng rng = {(uint64_t)steps};
    struct parcel slots[32] = {0};
    for (int i = 0; i < steps; i++) {
        struct parcel *slot = &slots[rng_below(&rng, 32)];
        if (slot->block != NULL)
            parcel_free(slot);
        else
            *slot = parcel_make(rng_mixed_size(&rng) / 4 + 1, 99, (uint64_t)i);
    }
    for (int i = 0; i < 32; i++)
        if (slots[i].block != NULL)
            parcel_free(&slots[i]);
}

static void child_main(void)
{
    alarm(CHILD_SECONDS);
    for (int i = 0; i < KEPT; i++)
        parcel_free(&kept[i]);
    work_alone(500);
    _exit(0);
}

static void children_work(void)
{
    struct rng rng = {1};
    for (int i = 0; i < KEPT; i++)
        kept[i] = parcel_make(rng_mixed_size(&rng) / 4 + 1, 98, (uint64_t)i);
    struct crew crew;
    crew_start(&crew, THREADS, busy);
    for (int i = 0; i < forks; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            child_main();
        work_alone(100);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_THAT(status == 0, "child %d ended with status %#x", i, (unsigned)status);
    }
    atomic_store(&stop, 1);
    crew_join(&crew);
    for (int i = 0; i < THREADS; i++)
        for (struct parcel parcel; ring_receive(&rings[i], &parcel);)
            parcel_free(&parcel);
    for (int i = 0; i < KEPT; i++)
        parcel_free(&kept[i]);
}

int main(int argc, char **argv)
{
    forks = 30 * scale_of(argc, argv);
    reach_hakmem();
    RUN(children_work);
    return 0;
}
