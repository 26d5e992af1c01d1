/*
 * Does it matter in which order the blocks of a batch are freed?
 *
 * ORDER is lifo, fifo or random; THREADS (default 1); BATCHES (default 100) of 10,000 blocks of 16
 * … 256 B that are all allocated and then all freed in that order. An operation is one malloc with
 * its free.
 */
#include "crew.h"

enum { BATCH = 10000 };

enum order { LIFO, FIFO, RANDOM, ORDERS };

static const char *const names[ORDERS] = {"lifo", "fifo", "random"};

static void
arrange(uint32_t *places, enum order order, struct bench_random *random)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        places[i] = order == LIFO ? BATCH - 1 - i : i;
    }
    for (uint32_t i = BATCH - 1; order == RANDOM && i > 0; i--) {
        uint32_t other = bench_scale((uint32_t)(bench_next(random) >> 32), i + 1);
        uint32_t place = places[i];
        places[i] = places[other];
        places[other] = place;
    }
}

static void
work(struct crew_member *member)
{
    void **blocks = bench_table(BATCH * sizeof *blocks);
    uint32_t *places = bench_table(BATCH * sizeof *places);
    arrange(places, *(enum order *)member->shared, &member->random);
    crew_ready(member);
    for (uint64_t batch = 0; batch < member->steps; batch++) {
        for (int i = 0; i < BATCH; i++) {
            size_t size = 16 + bench_scale((uint32_t)(bench_next(&member->random) >> 32), 241);
            blocks[i] = bench_malloc(size);
            bench_touch(blocks[i], size);
        }
        for (int i = 0; i < BATCH; i++) {
            free(blocks[places[i]]);
        }
    }
    crew_done(member, member->steps * BATCH);
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 1, 4, "lifo|fifo|random [THREADS] [BATCHES] [SEED]");
    enum order order = LIFO;
    while (order < ORDERS && strcmp(names[order], argv[1]) != 0) {
        order++;
    }
    if (order == ORDERS) {
        bench_usage("ORDER must be lifo, fifo or random, not \"%s\"", argv[1]);
    }
    uint64_t threads = bench_number_or(argc, argv, 2, "THREADS", 1, CREW_MAX, 1);
    uint64_t batches = bench_number_or(argc, argv, 3, "BATCHES", 1, 1000000000u, 100);
    uint64_t seed = bench_number_or(argc, argv, 4, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, batches, seed, &order, work);
    return 0;
}
