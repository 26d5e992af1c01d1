/*
 * free_sized and free_aligned_sized (C23) and cfree, which glibc 2.36 does not have.
 */
#include "support/pattern.h"
#include "support/proc.h"
#include "tiers.h"

#include "support/api.h"

static void free_sized_frees(void)
{
    free_sized(opaque(NULL), 40);
    for (int i = 0; i < TIER_SIZES; i++) {
        for (int round = 0; round < 20; round++) {
            void *block = round % 2 ? malloc(tier_sizes[i]) : calloc(1, tier_sizes[i]);
            CHECK(block != NULL);
            errno = 4718;
            free_sized(block, tier_sizes[i]);
            CHECK(errno == 4718);
        }
    }
}

static void free_aligned_sized_frees(void)
{
    free_aligned_sized(opaque(NULL), 64, 40);
    for (int i = 0; i < TIER_SIZES; i++) {
        for (size_t alignment = 8; alignment <= (1u << 21); alignment *= 4) {
            void *block = aligned_alloc(alignment, tier_sizes[i]);
            CHECK(block != NULL);
            errno = 4719;
            free_aligned_sized(block, alignment, tier_sizes[i]);
            CHECK(errno == 4719);
        }
    }
}

static void cfree_frees(void)
{
    cfree(opaque(NULL));
    for (int i = 0; i < TIER_SIZES; i++) {
        void *block = calloc(1, tier_sizes[i]);
        CHECK(block != NULL);
        cfree(block);
    }
}

/* 660 MB in turn: none of the three may leak. */
static void nothing_leaks(void)
{
    size_t before = proc_rss_kib();
    for (int i = 0; i < 20000; i++) {
        size_t size = 30000 + (size_t)(i % 7) * 1000;
        void *block = i % 3 == 1 ? aligned_alloc(64, size) : malloc(size);
        CHECK(block != NULL);
        memset(block, 1, size);
        if (i % 3 == 0)
            free_sized(block, size);
        else if (i % 3 == 1)
            free_aligned_sized(block, 64, size);
        else
            cfree(block);
    }
    size_t after = proc_rss_kib();
    CHECK_THAT(after < before + 32768, "%zu KiB before, %zu after", before, after);
}

int main(void)
{
    reach_hakmem();
    if (any_allocator() && !has_sized_free())
        return CHECK_SKIPPED;
    CHECK(has_sized_free());
    RUN(free_sized_frees);
    RUN(free_aligned_sized_frees);
    RUN(cfree_frees);
    RUN(nothing_leaks);
    return 0;
}
