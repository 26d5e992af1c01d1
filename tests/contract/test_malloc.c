/*
 * malloc and free: zero sizes, alignment, usable size, waste, distinct blocks, errno.
 */
#include "support/pattern.h"
#include "tiers.h"

#include "support/api.h"

static void zero_size_gives_distinct_blocks(void)
{
    void *blocks[64];
    for (int i = 0; i < 64; i++) {
        blocks[i] = opaque(malloc(opaque_size(0)));
        CHECK(blocks[i] != NULL);
        for (int j = 0; j < i; j++)
            CHECK(blocks[i] != blocks[j]);
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
}

static void free_of_null_does_nothing(void)
{
    for (int i = 0; i < 100; i++)
        free(opaque(NULL));
}

static void check_one(void *block, size_t size)
{
    CHECK_THAT(block != NULL, "size %zu", size);
    size_t misalignment = (uintptr_t)block % standard_alignment(size);
    CHECK_THAT(misalignment == 0, "%p for size %zu", block, size);
    size_t usable = malloc_usable_size(block);
    CHECK_THAT(usable >= size, "%zu usable of %zu", usable, size);
    CHECK_THAT(size <= 128 || (usable - size) * 8 <= size, "%zu usable of %zu: over 12.5 %% waste",
               usable, size);
    pattern_fill(block, usable, size);
    CHECK_THAT(malloc_usable_size(block) == usable, "size %zu", size);
    CHECK_THAT(pattern_first_difference(block, usable, size) == usable, "size %zu", size);
}

static void every_size_to_40000(void)
{
    for (size_t size = 1; size <= 40000; size += size < 2048 ? 1 : 13) {
        void *block = malloc(size);
        check_one(block, size);
        free(block);
    }
}

static void every_tier_edge(void)
{
    void *blocks[TIER_SIZES];
    for (int i = 0; i < TIER_SIZES; i++) {
        blocks[i] = malloc(tier_sizes[i]);
        check_one(blocks[i], tier_sizes[i]);
    }
    for (int i = 0; i < TIER_SIZES; i++) {
        size_t usable = malloc_usable_size(blocks[i]);
        CHECK(pattern_first_difference(blocks[i], usable, tier_sizes[i]) == usable);
        free(blocks[i]);
    }
}

/* The usable size must not change while neighbours come and go. */
static void usable_size_is_stable(void)
{
    for (int i = 0; i < TIER_SAMPLES; i++) {
        void *block = malloc(tier_samples[i]);
        size_t usable = malloc_usable_size(block);
        for (int round = 0; round < 50; round++) {
            void *neighbour = opaque(malloc(tier_samples[i]));
            CHECK(neighbour != NULL);
            CHECK(malloc_usable_size(block) == usable);
            free(neighbour);
            CHECK(malloc_usable_size(block) == usable);
        }
        free(block);
    }
    CHECK(malloc_usable_size(opaque(NULL)) == 0);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a;
    uintptr_t y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

static void live_blocks_do_not_overlap(void)
{
    enum { COUNT = 20000 };
    static uintptr_t blocks[COUNT];
    static const size_t sizes[] = {8, 16, 48, 96, 320, 1024};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int i = 0; i < COUNT; i++) {
            blocks[i] = (uintptr_t)malloc(sizes[s]);
            CHECK(blocks[i] != 0);
        }
        qsort(blocks, COUNT, sizeof blocks[0], by_address);
        for (int i = 1; i < COUNT; i++)
            CHECK_THAT(blocks[i] - blocks[i - 1] >= sizes[s], "size %zu", sizes[s]);
        for (int i = 0; i < COUNT; i++)
            free((void *)blocks[i]);
    }
}

static void free_keeps_errno(void)
{
    for (int i = 0; i < TIER_SIZES; i++) {
        void *blocks[3];
        for (int j = 0; j < 3; j++) {
            blocks[j] = malloc(tier_sizes[i]);
            CHECK(blocks[j] != NULL);
        }
        for (int j = 0; j < 3; j++) {
            errno = 4711;
            free(blocks[j]);
            CHECK_THAT(errno == 4711, "size %zu", tier_sizes[i]);
        }
    }
    errno = 4712;
    free(opaque(NULL));
    CHECK(errno == 4712);
}

/* Enough blocks at once that flushes, emptied slabs and unmapping happen inside free. */
static void mass_free_keeps_errno(void)
{
    enum { COUNT = 4000 };
    static void *blocks[COUNT];
    static const size_t sizes[] = {24, 700, 5000, 70000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int i = 0; i < COUNT; i++) {
            blocks[i] = malloc(sizes[s]);
            CHECK(blocks[i] != NULL);
        }
        errno = 4713;
        for (int i = 0; i < COUNT; i++)
            free(blocks[i]);
        CHECK_THAT(errno == 4713, "size %zu", sizes[s]);
    }
}

int main(void)
{
    reach_hakmem();
    RUN(zero_size_gives_distinct_blocks);
    RUN(free_of_null_does_nothing);
    RUN(every_size_to_40000);
    RUN(every_tier_edge);
    RUN(usable_size_is_stable);
    RUN(live_blocks_do_not_overlap);
    RUN(free_keeps_errno);
    RUN(mass_free_keeps_errno);
    return 0;
}
