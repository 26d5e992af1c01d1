/*
 * What does the churn of large blocks cost?
 *
 * THREADS (default 1), OPS each (default 5,000). Each thread has 16 slots; a step replaces a
 * random one by a block of 64 KiB … 8 MiB, small ones as likely as large ones in each doubling, and
 * writes to every page of it, as a reader of files does. An operation is one free with the malloc
 * that follows it.
 */
#include "crew.h"

enum { SLOTS = 16, DOUBLINGS = 7, PAGE = 4096 };

static void
work(struct crew_member *member)
{
    unsigned char *slots[SLOTS] = {NULL};
    crew_ready(member);
    for (uint64_t i = 0; i < member->steps; i++) {
        uint64_t bits = bench_next(&member->random);
        size_t low = (size_t)(64 << 10) << bench_scale((uint32_t)bits, DOUBLINGS);
        size_t size = low + bench_scale((uint32_t)(bits >> 32), (uint32_t)low + 1);
        unsigned char **slot = &slots[bits % SLOTS];
        free(*slot);
        *slot = bench_malloc(size);
        for (size_t at = 0; at < size; at += PAGE) {
            *(volatile unsigned char *)(*slot + at) = (unsigned char)at;
        }
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
    uint64_t steps = bench_number_or(argc, argv, 2, "OPS", 1, 1000000000000u, 5000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, steps, seed, NULL, work);
    return 0;
}
