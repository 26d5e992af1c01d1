/*
 * What does alignment cost?
 *
 * THREADS (default 1), OPS each (default 2,000,000). Each thread has 512 slots; a step replaces a
 * random one by a block of 16 B … 4 KiB, rounded up, at a multiple of 16, 32, … 4,096, from
 * aligned_alloc or posix_memalign in turn. An operation is one free with the allocation that
 * follows it.
 */
#include "crew.h"

enum { SLOTS = 512, ALIGNMENTS = 9 };

static void *
allocate(size_t alignment, size_t size, bool by_posix)
{
    void *block = NULL;
    if (by_posix) {
        int error = posix_memalign(&block, alignment, size);
        if (error != 0) {
            bench_fail("posix_memalign of %zu bytes failed: %s", size, strerror(error));
        }
    } else {
        block = aligned_alloc(alignment, size);
    }
    if (block == NULL || (uintptr_t)block % alignment != 0) {
        bench_fail("%zu bytes at a multiple of %zu gave %p", size, alignment, block);
    }
    return block;
}

static void
work(struct crew_member *member)
{
    void *slots[SLOTS] = {NULL};
    crew_ready(member);
    for (uint64_t i = 0; i < member->steps; i++) {
        uint64_t bits = bench_next(&member->random);
        size_t alignment = (size_t)16 << bench_scale((uint32_t)bits, ALIGNMENTS);
        size_t size = 16 + bench_scale((uint32_t)(bits >> 32), 4081);
        size = (size + alignment - 1) & ~(alignment - 1); /* as aligned_alloc asks for */
        void **slot = &slots[bits % SLOTS];
        free(*slot);
        *slot = allocate(alignment, size, i % 2 != 0);
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
    uint64_t steps = bench_number_or(argc, argv, 2, "OPS", 1, 1000000000000u, 2000000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, steps, seed, NULL, work);
    return 0;
}
