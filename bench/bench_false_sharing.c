/*
 * Does an allocator put blocks of different threads into one cache line?
 *
 * KIND is active or passive; THREADS (default 2); ROUNDS of a malloc, 1,000 increments of each of
 * the block's SIZE bytes and a free (default 20,000 rounds of 8 B).
 *
 * active:  every thread allocates for itself. Blocks that lie in one line make the threads wait for
 *          each other's writes.
 * passive: the first block of each thread was allocated by the main thread, one after the other, so
 *          they do share lines. A thread frees it at once; an allocator that gives it the same line
 *          back keeps the sharing going for ever.
 *
 * An operation is one increment. The pattern is that of Berger et al. (Hoard, ASPLOS 2000).
 */
#include "crew.h"

enum { WRITES = 1000 };

struct sharing {
    size_t size;
    void *first[CREW_MAX]; /* passive: made by the main thread */
};

static void
write_often(volatile unsigned char *block, size_t size)
{
    for (int i = 0; i < WRITES; i++) {
        for (size_t at = 0; at < size; at++) {
            block[at]++;
        }
    }
}

static void
work(struct crew_member *member)
{
    struct sharing *sharing = member->shared;
    crew_ready(member);
    free(sharing->first[member->index]);
    for (uint64_t i = 0; i < member->steps; i++) {
        void *block = bench_malloc(sharing->size);
        memset(block, 0, sharing->size);
        write_often(block, sharing->size);
        free(block);
    }
    crew_done(member, member->steps * WRITES * sharing->size);
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 1, 4, "active|passive [THREADS] [ROUNDS] [SIZE]");
    bool passive = strcmp(argv[1], "passive") == 0;
    if (!passive && strcmp(argv[1], "active") != 0) {
        bench_usage("KIND must be active or passive, not \"%s\"", argv[1]);
    }
    uint64_t threads = bench_number_or(argc, argv, 2, "THREADS", 1, CREW_MAX, 2);
    uint64_t rounds = bench_number_or(argc, argv, 3, "ROUNDS", 1, 1000000000u, 20000);
    struct sharing *sharing = bench_table(sizeof *sharing);
    sharing->size = bench_number_or(argc, argv, 4, "SIZE", 1, 64, 8);
    for (uint64_t i = 0; passive && i < threads; i++) {
        sharing->first[i] = bench_malloc(sharing->size);
    }
    crew_run(threads, rounds, 1, sharing, work);
    return 0;
}
