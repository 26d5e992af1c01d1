/*
 * How fast is a thread that frees and allocates blocks of mixed sizes in random order?
 *
 * One thread, a working set of WS slots, N steps; each step frees or fills a random slot. An
 * operation is one step. Sizes are MIN … MAX bytes, uniformly, by default 16 … 1024.
 */
#include "churn.h"

int
main(int argc, char **argv)
{
    if (argc == 5) {
        bench_usage("MIN and MAX are given together or not at all");
    }
    bench_expect(argc, 3, 5, "N WS SEED [MIN MAX]");
    uint64_t steps = bench_number("N", argv[1], 1, 1000000000000u);
    uint64_t slots = bench_number("WS", argv[2], 256, 1048576);
    uint64_t seed = bench_number("SEED", argv[3], 0, UINT64_MAX);
    uint64_t size_min = bench_number_or(argc, argv, 4, "MIN", 1, 1u << 30, 16);
    uint64_t size_max = bench_number_or(argc, argv, 5, "MAX", size_min, 1u << 30, 1024);

    struct churn churn = churn_start((uint32_t)slots, (uint32_t)size_min, (uint32_t)size_max, seed);
    churn_warm_up(&churn);
    double start = bench_now();
    churn_run(&churn, steps);
    double end = bench_now();
    churn_end(&churn);
    bench_report(steps, end - start);
    return 0;
}
