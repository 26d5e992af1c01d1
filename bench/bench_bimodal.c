/*
 * How does memory fragment when most blocks die at once and a few stay for long?
 *
 * THREADS (default 1), STEPS each (default 5,000,000). Each step allocates a block; 97 in a hundred
 * are freed within 64 steps, the others take a random place in a table of 50,000 and stay until
 * another one takes it. Sizes are 16 … 128 B in one phase and four times that in the next, 500,000
 * steps a phase, so that what stayed of one phase keeps memory from the next: run under a meter of
 * RSS over time it shows how much. An operation is one malloc with its free.
 */
#include "crew.h"

enum { SHORT_LIVED = 64, LONG_LIVED = 50000, PHASE = 500000 };

static void
work(struct crew_member *member)
{
    void *young[SHORT_LIVED] = {NULL};
    void **old = bench_table(LONG_LIVED * sizeof *old);
    crew_ready(member);
    for (uint64_t step = 0; step < member->steps; step++) {
        uint64_t bits = bench_next(&member->random);
        size_t size = 16 + bench_scale((uint32_t)bits, 113);
        size *= step / PHASE % 2 != 0 ? 4 : 1;
        bool stays = (bits >> 32) % 100 < 3;
        void **place = stays ? &old[bench_scale((uint32_t)bench_next(&member->random), LONG_LIVED)]
                             : &young[step % SHORT_LIVED];
        free(*place);
        *place = bench_malloc(size);
        bench_touch(*place, size);
    }
    crew_done(member, member->steps);
    for (int i = 0; i < SHORT_LIVED; i++) {
        free(young[i]);
    }
    for (int i = 0; i < LONG_LIVED; i++) {
        free(old[i]);
    }
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[THREADS] [STEPS] [SEED]");
    uint64_t threads = bench_number_or(argc, argv, 1, "THREADS", 1, CREW_MAX, 1);
    uint64_t steps = bench_number_or(argc, argv, 2, "STEPS", 1, 1000000000000u, 5000000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, steps, seed, NULL, work);
    return 0;
}
