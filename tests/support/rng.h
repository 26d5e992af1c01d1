/*
 * Deterministic random numbers (splitmix64, Steele, Lea and Flood 2014): one state a thread.
 */
#ifndef HAKMEM_TESTS_RNG_H
#define HAKMEM_TESTS_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform enough for tests in [0, bound); bound is not 0. */
static inline uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    return rng_next(rng) % bound;
}

static inline size_t rng_between(struct rng *rng, size_t low, size_t high)
{
    return low + (size_t)rng_below(rng, high - low + 1);
}

/* A size from a random tier: Tiny, Mid, page runs, direct mappings, with the rarer the larger. */
static inline size_t rng_mixed_size(struct rng *rng)
{
    uint64_t pick = rng_below(rng, 1000);
    if (pick < 700)
        return rng_between(rng, 1, 1024);
    if (pick < 930)
        return rng_between(rng, 1025, 32u << 10);
    if (pick < 990)
        return rng_between(rng, (32u << 10) + 1, 1u << 20);
    return rng_between(rng, (1u << 20) + 1, 4u << 20);
}

#endif
