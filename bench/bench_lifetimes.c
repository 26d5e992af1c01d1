/*
 * How well does an allocator do when short-lived and long-lived blocks are made side by side?
 *
 * One thread, N steps (default 20,000,000). Each step allocates a block whose time of death is
 * drawn at once: 80 in a hundred live up to 128 steps, 15 up to 16 Ki, and 5 up to 1 Mi. The range of sizes
 * moves every 2 Mi steps (16 … 128, 64 … 512, 256 … 2,048 B), so that the survivors of one phase lie
 * in the way of the next: run under a meter of RSS it shows fragmentation. An operation is one malloc
 * with its free.
 */
#include "common.h"

enum { CALENDAR = 1 << 20, PHASE = 1 << 21, BYTE_UNIT = 16 };

/* The block that dies at each step to come; a place that is taken passes the block to the next. */
static void **calendar;

static uint64_t
draw_lifetime(uint64_t bits)
{
    uint32_t percent = bench_scale((uint32_t)(bits >> 32), 100);
    uint32_t reach = percent < 80 ? 128 : percent < 95 ? 16 << 10 : CALENDAR - 1;
    return 1 + bench_scale((uint32_t)(bits << 7), reach);
}

static void
step(uint64_t now, struct bench_random *random)
{
    void **due = &calendar[now % CALENDAR];
    free(*due);
    *due = NULL;
    uint64_t bits = bench_next(random);
    uint32_t low = (uint32_t)BYTE_UNIT << (now / PHASE % 3 * 2);
    size_t size = low + bench_scale((uint32_t)bench_next(random), 7 * low + 1);
    void *block = bench_malloc(size);
    bench_touch(block, size);
    uint64_t death = now + draw_lifetime(bits);
    while (calendar[death % CALENDAR] != NULL) {
        death++;
    }
    calendar[death % CALENDAR] = block;
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 2, "[N] [SEED]");
    uint64_t steps = bench_number_or(argc, argv, 1, "N", 1, 1000000000000u, 20000000);
    uint64_t seed = bench_number_or(argc, argv, 2, "SEED", 0, UINT64_MAX, 1);

    calendar = bench_table(CALENDAR * sizeof *calendar);
    struct bench_random random = bench_random_start(seed);
    double start = bench_now();
    for (uint64_t now = 0; now < steps; now++) {
        step(now, &random);
    }
    double end = bench_now();
    for (uint32_t i = 0; i < CALENDAR; i++) {
        free(calendar[i]);
    }
    bench_report(steps, end - start);
    return 0;
}
