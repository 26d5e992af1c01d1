/*
 * The step that several workloads share: a random slot of a working set is freed if it holds a
 * block, and filled with a block of a random size if it does not. Half of the slots hold a block in
 * the long run.
 */
#ifndef HAKMEM_BENCH_CHURN_H
#define HAKMEM_BENCH_CHURN_H

#include "common.h"

struct churn {
    void **slots;
    uint32_t slot_count;
    uint32_t size_min;  /* bytes */
    uint32_t size_span; /* size_max - size_min + 1 */
    struct bench_random random;
};

static inline struct churn
churn_start(uint32_t slot_count, uint32_t size_min, uint32_t size_max, uint64_t seed)
{
    return (struct churn){
        .slots = bench_table(slot_count * sizeof(void *)),
        .slot_count = slot_count,
        .size_min = size_min,
        .size_span = size_max - size_min + 1,
        .random = bench_random_start(seed),
    };
}

/* The state lives in locals during the loop, so that the compiler keeps it in registers. */
static inline void
churn_run(struct churn *churn, uint64_t steps)
{
    struct churn here = *churn;
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t bits = bench_next(&here.random);
        void **slot = &here.slots[bench_scale((uint32_t)(bits >> 32), here.slot_count)];
        if (*slot != NULL) {
            free(*slot);
            *slot = NULL;
        } else {
            size_t size = here.size_min + bench_scale((uint32_t)bits, here.size_span);
            *slot = bench_malloc(size);
            bench_touch(*slot, size);
        }
    }
    *churn = here;
}

/* Two steps a slot bring the working set close to its long-run state before the clock starts. */
static inline void
churn_warm_up(struct churn *churn)
{
    churn_run(churn, 2 * (uint64_t)churn->slot_count);
}

static inline void
churn_end(struct churn *churn)
{
    for (uint32_t i = 0; i < churn->slot_count; i++) {
        free(churn->slots[i]);
    }
    munmap(churn->slots, churn->slot_count * sizeof(void *));
}

#endif
