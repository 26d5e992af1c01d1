/*
 * calloc: zero after dirty reuse in every tier, zero sizes, overflow of the product.
 */
#include "support/pattern.h"
#include "tiers.h"

#include "support/api.h"

static void check_zero(const void *block, size_t size)
{
    CHECK_THAT(block != NULL, "size %zu", size);
    size_t at = first_nonzero(block, size);
    CHECK_THAT(at == size, "size %zu: byte %zu is not zero", size, at);
}

static void zero_counts_give_blocks(void)
{
    void *a = opaque(calloc(opaque_size(0), opaque_size(8)));
    void *b = opaque(calloc(opaque_size(8), opaque_size(0)));
    void *c = opaque(calloc(opaque_size(0), opaque_size(SIZE_MAX)));
    CHECK(a != NULL && b != NULL && c != NULL && a != b && b != c && a != c);
    free(a);
    free(b);
    free(c);
}

static void fresh_blocks_are_zero_and_aligned(void)
{
    for (int i = 0; i < TIER_SIZES; i++) {
        unsigned char *block = calloc(1, tier_sizes[i]);
        check_zero(block, tier_sizes[i]);
        CHECK((uintptr_t)block % standard_alignment(tier_sizes[i]) == 0);
        free(block);
    }
}

/* The whole usable size is dirtied, freed, and asked for again by calloc. */
static void dirty_blocks_come_back_zero(void)
{
    enum { MANY = 300 };
    void *blocks[MANY];
    for (int i = 0; i < TIER_SIZES; i++) {
        size_t size = tier_sizes[i];
        int count = size <= 8192 ? MANY : size <= (1u << 20) ? 12 : 2;
        for (int round = 0; round < 3; round++) {
            for (int j = 0; j < count; j++) {
                blocks[j] = calloc(round + 1, size / (size_t)(round + 1) + 1);
                check_zero(blocks[j], size);
                memset(blocks[j], 0xa5, malloc_usable_size(blocks[j]));
            }
            for (int j = 0; j < count; j++)
                free(blocks[j]);
        }
    }
}

/* Dirty memory of one size must not reach calloc of another size that reuses its pages. */
static void zero_across_sizes(void)
{
    enum { COUNT = 64 };
    void *blocks[COUNT];
    for (int i = 0; i < TIER_SAMPLES; i++) {
        for (int j = 0; j < TIER_SAMPLES; j++) {
            int dirty = tier_samples[i] > (1u << 20) ? 1 : COUNT;
            for (int k = 0; k < dirty; k++) {
                blocks[k] = malloc(tier_samples[i]);
                CHECK(blocks[k] != NULL);
                memset(blocks[k], 0xff, tier_samples[i]);
            }
            for (int k = 0; k < dirty; k++)
                free(blocks[k]);
            int clean = tier_samples[j] > (1u << 20) ? 1 : 16;
            for (int k = 0; k < clean; k++) {
                blocks[k] = calloc(tier_samples[j], 1);
                check_zero(blocks[k], tier_samples[j]);
            }
            for (int k = 0; k < clean; k++)
                free(blocks[k]);
        }
    }
}

static void zero_after_realloc_and_trim(void)
{
    for (int i = 0; i < TIER_SAMPLES; i++) {
        void *block = malloc(tier_samples[i]);
        CHECK(block != NULL);
        memset(block, 0x77, tier_samples[i]);
        block = realloc(block, tier_samples[i] / 2 + 1);
        CHECK(block != NULL);
        free(block);
        if (i % 2)
            malloc_trim(0);
        block = calloc(1, tier_samples[i]);
        check_zero(block, tier_samples[i]);
        free(block);
    }
}

static void overflow_is_enomem(void)
{
    static const size_t pairs[][2] = {
        {SIZE_MAX, SIZE_MAX},       {SIZE_MAX, 2},
        {SIZE_MAX / 2 + 1, 2},      {(size_t)1 << 32, (size_t)1 << 32},
        {SIZE_MAX / 16 + 1, 16},    {3, SIZE_MAX / 3 + 1},
        {(size_t)PTRDIFF_MAX, 1},   {(size_t)1 << 33, ((size_t)1 << 31) + 1},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        errno = 0;
        void *block = opaque(calloc(opaque_size(pairs[i][0]), opaque_size(pairs[i][1])));
        CHECK_THAT(block == NULL, "%zu * %zu", pairs[i][0], pairs[i][1]);
        CHECK_THAT(errno == ENOMEM, "%zu * %zu", pairs[i][0], pairs[i][1]);
    }
}

int main(void)
{
    reach_hakmem();
    RUN(zero_counts_give_blocks);
    RUN(fresh_blocks_are_zero_and_aligned);
    RUN(dirty_blocks_come_back_zero);
    RUN(zero_across_sizes);
    RUN(zero_after_realloc_and_trim);
    RUN(overflow_is_enomem);
    return 0;
}
