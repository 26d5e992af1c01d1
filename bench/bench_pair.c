/*
 * What does the shortest life of a block cost: a malloc and the free right after it?
 *
 * N pairs, sizes 16 … 271 B at random. An operation is one pair. Its use is counting instructions:
 * two runs of different N, subtracted, leave the cost of the pairs alone.
 */
#include "common.h"

int
main(int argc, char **argv)
{
    bench_expect(argc, 1, 2, "N [SEED]");
    uint64_t pairs = bench_number("N", argv[1], 1, 1000000000000u);
    uint64_t seed = bench_number_or(argc, argv, 2, "SEED", 0, UINT64_MAX, 1);

    struct bench_random random = bench_random_start(seed);
    double start = bench_now();
    for (uint64_t i = 0; i < pairs; i++) {
        void *block = malloc(16 + (bench_next(&random) >> 56));
        bench_keep(block);
        free(block);
    }
    bench_report(pairs, bench_now() - start);
    return 0;
}
