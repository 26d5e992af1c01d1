/*
 * What does calloc cost over all sizes?
 *
 * THREADS (default 1), OPS each (default 1,000,000). Each thread has 256 slots; a step replaces a
 * random one by a zeroed block of 16 B … 1 MiB, each doubling half as likely as the one before. The
 * block must be zero where it is looked at (both ends and a random byte between) and is then
 * written to all over, up to 4 KiB of it. An operation is one free with the calloc that follows it.
 */
#include "crew.h"

enum { SLOTS = 256, SMALLEST = 16, DOUBLINGS = 15, WRITTEN = 4096 };

static size_t
draw_size(uint64_t bits)
{
    /* Trailing zeros of a random number: none in half of the cases, one in a quarter, … */
    unsigned doubling = (unsigned)__builtin_ctzll(bits | (uint64_t)1 << DOUBLINGS);
    size_t low = (size_t)SMALLEST << doubling;
    return low + bench_scale((uint32_t)(bits >> 32), (uint32_t)low);
}

static void
work(struct crew_member *member)
{
    unsigned char *slots[SLOTS] = {NULL};
    crew_ready(member);
    for (uint64_t i = 0; i < member->steps; i++) {
        size_t size = draw_size(bench_next(&member->random));
        uint64_t bits = bench_next(&member->random);
        unsigned char **slot = &slots[bits % SLOTS];
        free(*slot);
        *slot = calloc(1, size);
        if (*slot == NULL) {
            bench_fail("calloc of %zu bytes failed", size);
        }
        size_t at = bench_scale((uint32_t)(bits >> 32), (uint32_t)size);
        if ((*slot)[0] != 0 || (*slot)[size - 1] != 0 || (*slot)[at] != 0) {
            bench_fail("calloc of %zu bytes gave a block that is not zero", size);
        }
        memset(*slot, 0xA5, size < WRITTEN ? size : WRITTEN);
        bench_touch(*slot, size);
    }
    crew_done(member, member->steps);
    for (int i = 0; i < SLOTS; i++) {
        free(slots[i]);
    }
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[THREADS] [OPS] [SEED]");
    uint64_t threads = bench_number_or(argc, argv, 1, "THREADS", 1, CREW_MAX, 1);
    uint64_t steps = bench_number_or(argc, argv, 2, "OPS", 1, 1000000000000u, 1000000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, steps, seed, NULL, work);
    return 0;
}
