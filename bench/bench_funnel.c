/*
 * What does it cost when many threads allocate and one thread frees it all?
 *
 * THREADS producers (default 4), each with a ring to the one consumer; OPS blocks each (default
 * 1,000,000) of 16 … 512 B. The owners of the memory never free, the thread that frees never
 * allocates. An operation is one block allocated, handed over and freed.
 */
#include "crew.h"
#include "ring.h"

static void
produce(struct crew_member *member)
{
    struct ring *ring = (struct ring *)member->shared + member->index;
    crew_ready(member);
    for (uint64_t i = 0; i < member->steps; i++) {
        size_t size = 16 + bench_scale((uint32_t)(bench_next(&member->random) >> 32), 497);
        void *block = bench_malloc(size);
        bench_touch(block, size);
        while (!ring_put(ring, block)) {
            sched_yield();
        }
    }
    crew_done(member, member->steps);
}

/* The last member: it takes from all the others in turn. */
static void
consume(struct crew_member *member)
{
    struct ring *rings = member->shared;
    unsigned producers = member->count - 1;
    uint64_t left = producers * member->steps;
    crew_ready(member);
    while (left > 0) {
        uint64_t before = left;
        for (unsigned i = 0; i < producers; i++) {
            for (void *block; (block = ring_take(&rings[i])) != NULL;) {
                free(block);
                left--;
            }
        }
        if (left == before) {
            sched_yield();
        }
    }
    crew_done(member, 0);
}

static void
work(struct crew_member *member)
{
    (member->index + 1 < member->count ? produce : consume)(member);
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[THREADS] [OPS] [SEED]");
    uint64_t threads = bench_number_or(argc, argv, 1, "THREADS", 1, CREW_MAX - 1, 4);
    uint64_t steps = bench_number_or(argc, argv, 2, "OPS", 1, 1000000000000u, 1000000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads + 1, steps, seed, bench_table(threads * sizeof(struct ring)), work);
    return 0;
}
