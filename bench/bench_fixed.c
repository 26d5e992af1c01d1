/*
 * How fast is a thread whose blocks all have one size?
 *
 * A working set of 1,024 slots, N steps (default 20,000,000); each step frees or fills a random
 * slot. An operation is one step.
 */
#include "churn.h"

int
main(int argc, char **argv)
{
    bench_expect(argc, 1, 3, "SIZE [N] [SEED]");
    uint64_t size = bench_number("SIZE", argv[1], 1, 1u << 30);
    uint64_t steps = bench_number_or(argc, argv, 2, "N", 1, 1000000000000u, 20000000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);

    struct churn churn = churn_start(1024, (uint32_t)size, (uint32_t)size, seed);
    churn_warm_up(&churn);
    double start = bench_now();
    churn_run(&churn, steps);
    double end = bench_now();
    churn_end(&churn);
    bench_report(steps, end - start);
    return 0;
}
