/*
 * Sizes that the contract tests walk through: both sides of every tier's edge, powers of two and
 * their neighbours, from 1 byte to 64 MiB.
 */
#ifndef HAKMEM_TESTS_TIERS_H
#define HAKMEM_TESTS_TIERS_H

#include <stddef.h>

static const size_t tier_sizes[] = {
    1,       7,       8,       9,        15,       16,       17,        24,        31,
    32,      33,      48,      63,       64,       65,       100,       127,       128,
    129,     200,     255,     256,      257,      400,      511,       512,       513,
    777,     1023,    1024,    1025,     1500,     2047,     2048,      2049,      3000,
    4095,    4096,    4097,    6000,     8191,     8192,     8193,      12345,     16383,
    16384,   16385,   24000,   32767,    32768,    32769,    40000,     65535,     65536,
    65537,   100000,  131071,  131072,   131073,   200000,   262144,    262145,    500000,
    524288,  524289,  1000000, 1048575,  1048576,  1048577,  1500000,   2097151,   2097152,
    2097153, 3000000, 4194304, 4194305,  8388608,  10000001, 33554432,  33554433,  67108864,
};

enum { TIER_SIZES = sizeof tier_sizes / sizeof tier_sizes[0] };

/* A size in the middle of each tier: Tiny, Mid, page runs, direct mappings. */
static const size_t tier_samples[] = {8, 48, 512, 1024, 3000, 8192, 32768, 65536, 300000, 1048576,
                                      4194304, 67108864};

enum { TIER_SAMPLES = sizeof tier_samples / sizeof tier_samples[0] };

/* Largest alignment that the standards ask for a plain allocation of size bytes. */
static inline size_t standard_alignment(size_t size)
{
    return size >= 16 ? 16 : 8;
}

#endif
