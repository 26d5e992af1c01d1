/*
 * What does a pair cost when 64 mallocs come first and their 64 frees after?
 *
 * N batches, sizes 16 … 271 B at random, freed in the order of allocation. An operation is one
 * pair.
 */
#include "common.h"

enum { BATCH = 64 };

int
main(int argc, char **argv)
{
    bench_expect(argc, 1, 2, "N [SEED]");
    uint64_t batches = bench_number("N", argv[1], 1, 1000000000000u);
    uint64_t seed = bench_number_or(argc, argv, 2, "SEED", 0, UINT64_MAX, 1);

    struct bench_random random = bench_random_start(seed);
    void *blocks[BATCH];
    double start = bench_now();
    for (uint64_t i = 0; i < batches; i++) {
        for (int j = 0; j < BATCH; j++) {
            blocks[j] = malloc(16 + (bench_next(&random) >> 56));
        }
        bench_keep(blocks);
        for (int j = 0; j < BATCH; j++) {
            free(blocks[j]);
        }
    }
    bench_report(batches * BATCH, bench_now() - start);
    return 0;
}
