/*
 * realloc and reallocarray: zero sizes as glibc, contents kept from every tier to every tier,
 * failure leaves the block, overflow of the product.
 */
#include "support/pattern.h"
#include "support/proc.h"
#include "tiers.h"

#include "support/api.h"

static void null_pointer_is_malloc(void)
{
    void *zero = opaque(realloc(opaque(NULL), opaque_size(0)));
    CHECK(zero != NULL);
    free(zero);
    for (int i = 0; i < TIER_SIZES; i++) {
        void *block = realloc(opaque(NULL), tier_sizes[i]);
        CHECK(block != NULL);
        CHECK((uintptr_t)block % standard_alignment(tier_sizes[i]) == 0);
        CHECK(malloc_usable_size(block) >= tier_sizes[i]);
        free(block);
    }
}

/* glibc: realloc(p, 0) frees p and returns NULL, without an error. */
static void zero_size_frees(void)
{
    for (int i = 0; i < TIER_SIZES; i++) {
        void *block = malloc(tier_sizes[i]);
        CHECK(block != NULL);
        errno = 4714;
        CHECK(opaque(realloc(block, opaque_size(0))) == NULL);
        CHECK(errno == 4714);
    }
    size_t before = proc_rss_kib();
    for (int i = 0; i < 1024; i++) {
        void *block = malloc(300000);
        CHECK(block != NULL);
        memset(block, 1, 300000);
        CHECK(opaque(realloc(block, opaque_size(0))) == NULL);
    }
    size_t after = proc_rss_kib();
    CHECK_THAT(after < before + 65536, "%zu KiB before, %zu after", before, after);
}

static void keeps_contents_between_all_tiers(void)
{
    for (int i = 0; i < TIER_SIZES; i++) {
        for (int j = 0; j < TIER_SIZES; j++) {
            size_t from = tier_sizes[i];
            size_t to = tier_sizes[j];
            /* Every pair up to 1 MiB; above, an eighth of them keeps the run short. */
            if ((from > (1u << 20) || to > (1u << 20)) && (i + 3 * j) % 8)
                continue;
            uint64_t stamp = from * 1000003 + to;
            void *block = malloc(from);
            CHECK(block != NULL);
            pattern_fill(block, from, stamp);
            block = realloc(block, to);
            CHECK_THAT(block != NULL, "%zu to %zu", from, to);
            CHECK_THAT((uintptr_t)block % standard_alignment(to) == 0, "%zu to %zu", from, to);
            size_t usable = malloc_usable_size(block);
            CHECK_THAT(usable >= to, "%zu to %zu gives %zu", from, to, usable);
            size_t kept = from < to ? from : to;
            size_t at = pattern_prefix_difference(block, kept, from, stamp);
            CHECK_THAT(at == kept, "%zu to %zu: byte %zu lost", from, to, at);
            pattern_fill(block, usable, ~stamp);
            CHECK(pattern_first_difference(block, usable, ~stamp) == usable);
            free(block);
        }
    }
}

/* One block through growth by half and shrinking by a third, with neighbours in its way. */
static void grows_and_shrinks_in_steps(void)
{
    void *block = NULL;
    void *neighbours[64] = {0};
    size_t size = 0;
    int step = 0;
    for (size_t next = 8; next <= (64u << 20); next += next / 2, step++) {
        block = realloc(block, next);
        CHECK(block != NULL);
        size_t at = size ? pattern_prefix_difference(block, size, size, size) : 0;
        CHECK_THAT(at == size, "growing to %zu", next);
        pattern_fill(block, next, next);
        size = next;
        if (step < 64)
            neighbours[step] = malloc(next < (1u << 20) ? next : 100);
    }
    while (size > 8) {
        size_t next = size - size / 3;
        if (next == size)
            next = size - 1;
        block = realloc(block, next);
        CHECK(block != NULL);
        size_t at = pattern_prefix_difference(block, next, size, size);
        CHECK_THAT(at == next, "shrinking to %zu", next);
        pattern_fill(block, next, next);
        size = next;
    }
    free(block);
    for (int i = 0; i < 64; i++)
        free(neighbours[i]);
}

/* A block that is cut to an eighth must not keep half of its memory. */
static void shrink_gives_memory_back(void)
{
    for (int i = 0; i < TIER_SIZES; i++) {
        size_t from = tier_sizes[i];
        if (from < 4096)
            continue;
        void *block = malloc(from);
        CHECK(block != NULL);
        size_t to = from / 8;
        block = realloc(block, to);
        CHECK(block != NULL);
        CHECK_THAT(malloc_usable_size(block) < from / 2, "%zu to %zu leaves %zu", from, to,
                   malloc_usable_size(block));
        free(block);
    }
}

static void failure_leaves_the_block(void)
{
    for (int i = 0; i < TIER_SAMPLES; i++) {
        size_t size = tier_samples[i];
        void *block = malloc(size);
        CHECK(block != NULL);
        pattern_fill(block, size, 99);
        static const size_t impossible[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX, SIZE_MAX - 4095,
                                            (size_t)PTRDIFF_MAX - 4096};
        for (int k = 0; k < 4; k++) {
            errno = 0;
            CHECK(opaque(realloc(block, opaque_size(impossible[k]))) == NULL);
            CHECK(errno == ENOMEM);
            CHECK(pattern_first_difference(block, size, 99) == size);
        }
        free(block);
    }
}

static void reallocarray_multiplies_and_checks(void)
{
    static const size_t overflowing[][2] = {
        {SIZE_MAX, 2}, {2, SIZE_MAX}, {(size_t)1 << 32, (size_t)1 << 32}, {SIZE_MAX / 8 + 1, 8}};
    unsigned char *volatile block = reallocarray(opaque(NULL), 10, 30);
    CHECK(block != NULL && malloc_usable_size(block) >= 300);
    pattern_fill(block, 300, 5);
    block = reallocarray(block, 1000, 30);
    CHECK(block != NULL && malloc_usable_size(block) >= 30000);
    CHECK(pattern_prefix_difference(block, 300, 300, 5) == 300);
    for (int i = 0; i < 4; i++) {
        errno = 0;
        CHECK(opaque(reallocarray(block, opaque_size(overflowing[i][0]),
                                  opaque_size(overflowing[i][1]))) == NULL);
        CHECK(errno == ENOMEM);
        CHECK(pattern_prefix_difference(block, 300, 300, 5) == 300);
    }
    CHECK(opaque(reallocarray(block, opaque_size(0), opaque_size(16))) == NULL);
    void *zero = opaque(reallocarray(opaque(NULL), opaque_size(0), opaque_size(16)));
    CHECK(zero != NULL);
    free(zero);
}

int main(void)
{
    reach_hakmem();
    RUN(null_pointer_is_malloc);
    RUN(zero_size_frees);
    RUN(keeps_contents_between_all_tiers);
    RUN(grows_and_shrinks_in_steps);
    RUN(shrink_gives_memory_back);
    RUN(failure_leaves_the_block);
    RUN(reallocarray_multiplies_and_checks);
    return 0;
}
