/*
 * memalign, aligned_alloc, posix_memalign, valloc, pvalloc: alignments up to 1 GiB in every tier,
 * EINVAL and ENOMEM, blocks that realloc and free take as any other.
 */
#include "support/pattern.h"
#include "tiers.h"

#include "support/api.h"

static const size_t sizes[] = {0, 1, 8, 24, 100, 1000, 5000, 40000, 100000, 1048576, 3000000};

enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void check_block(void *block, size_t alignment, size_t size)
{
    CHECK_THAT(block != NULL, "alignment %zu, size %zu", alignment, size);
    CHECK_THAT((uintptr_t)block % alignment == 0, "%p, alignment %zu, size %zu", block, alignment,
               size);
    CHECK_THAT((uintptr_t)block % standard_alignment(size) == 0, "%p, size %zu", block, size);
    CHECK_THAT(malloc_usable_size(block) >= size, "alignment %zu, size %zu", alignment, size);
    pattern_fill(block, size, alignment ^ size);
}

static void *aligned_by(int function, size_t alignment, size_t size)
{
    void *block = NULL;
    switch (function) {
    case 0:
        return memalign(alignment, size);
    case 1:
        return aligned_alloc(alignment, size);
    default:
        CHECK(posix_memalign(&block, alignment, size) == 0);
        return block;
    }
}

static void every_alignment_to_1_gib(void)
{
    for (int function = 0; function < 3; function++) {
        for (size_t alignment = function == 2 ? sizeof(void *) : 1; alignment <= (1u << 30);
             alignment *= 2) {
            void *blocks[SIZES][2];
            for (int i = 0; i < SIZES; i++)
                for (int j = 0; j < 2; j++) {
                    blocks[i][j] = aligned_by(function, alignment, sizes[i]);
                    check_block(blocks[i][j], alignment, sizes[i]);
                }
            for (int i = 0; i < SIZES; i++)
                for (int j = 0; j < 2; j++) {
                    uint64_t stamp = alignment ^ sizes[i];
                    size_t at = pattern_first_difference(blocks[i][j], sizes[i], stamp);
                    CHECK_THAT(at == sizes[i], "alignment %zu, size %zu", alignment, sizes[i]);
                    errno = 4715;
                    free(blocks[i][j]);
                    CHECK(errno == 4715);
                }
        }
    }
}

static void many_of_one_alignment(void)
{
    enum { COUNT = 500 };
    static void *blocks[COUNT];
    for (size_t alignment = 32; alignment <= 65536; alignment *= 4) {
        for (int i = 0; i < COUNT; i++) {
            blocks[i] = memalign(alignment, (size_t)(i % 97) * 16 + 1);
            check_block(blocks[i], alignment, (size_t)(i % 97) * 16 + 1);
        }
        for (int i = 0; i < COUNT; i++) {
            size_t size = (size_t)(i % 97) * 16 + 1;
            CHECK(pattern_first_difference(blocks[i], size, alignment ^ size) == size);
            free(blocks[i]);
        }
    }
}

static void realloc_takes_aligned_blocks(void)
{
    for (size_t alignment = 32; alignment <= (4u << 20); alignment *= 8) {
        for (int i = 1; i < SIZES; i++) {
            for (int j = 1; j < SIZES; j++) {
                void *block = memalign(alignment, sizes[i]);
                check_block(block, alignment, sizes[i]);
                block = realloc(block, sizes[j]);
                CHECK(block != NULL && malloc_usable_size(block) >= sizes[j]);
                size_t kept = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
                CHECK_THAT(pattern_prefix_difference(block, kept, sizes[i],
                                                     alignment ^ sizes[i]) == kept,
                           "alignment %zu, %zu to %zu", alignment, sizes[i], sizes[j]);
                free(block);
            }
        }
    }
}

static void posix_memalign_errors(void)
{
    static const size_t wrong[] = {0,  1,  2,   4,    3,                7,       12,
                                   24, 48, 100, 4095, (size_t)3 << 30, SIZE_MAX};
    void *const untouched = &posix_memalign_errors;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        void *block = untouched;
        CHECK_THAT(posix_memalign(&block, opaque_size(wrong[i]), 64) == EINVAL, "alignment %zu",
                   wrong[i]);
        CHECK(block == untouched);
    }
    static const size_t large[] = {SIZE_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 4096,
                                   (size_t)PTRDIFF_MAX - 4096};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        for (size_t alignment = 8; alignment <= (1u << 30); alignment *= 32) {
            void *block = untouched;
            CHECK(posix_memalign(&block, alignment, opaque_size(large[i])) == ENOMEM);
            CHECK(block == untouched);
        }
    }
}

static void oversized_is_enomem(void)
{
    static const size_t large[] = {SIZE_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 4096,
                                   (size_t)PTRDIFF_MAX - 4096};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        for (size_t alignment = 1; alignment <= (1u << 30); alignment *= 32) {
            errno = 0;
            CHECK(opaque(memalign(alignment, opaque_size(large[i]))) == NULL && errno == ENOMEM);
            errno = 0;
            CHECK(opaque(aligned_alloc(alignment, opaque_size(large[i]))) == NULL);
            CHECK(errno == ENOMEM);
        }
        errno = 0;
        CHECK(opaque(valloc(opaque_size(large[i]))) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(opaque(pvalloc(opaque_size(large[i]))) == NULL && errno == ENOMEM);
    }
}

/* Alignments so large that no address can have them with room behind it. */
static void impossible_alignment_fails(void)
{
    errno = 0;
    CHECK(opaque(memalign(opaque_size((size_t)1 << 63), 64)) == NULL);
    CHECK(errno == ENOMEM || errno == EINVAL);
    errno = 0;
    CHECK(opaque(memalign(opaque_size(SIZE_MAX), 64)) == NULL);
    CHECK(errno == EINVAL);
}

/* aligned_alloc: C17 lets it fail on an unsupported alignment, and glibc does from 2.38 on. */
static void aligned_alloc_wants_a_power_of_two(void)
{
    static const size_t wrong[] = {0, 3, 12, 24, 100, 4095};
    if (any_allocator())
        return;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        errno = 0;
        CHECK_THAT(opaque(aligned_alloc(opaque_size(wrong[i]), 96)) == NULL, "%zu", wrong[i]);
        CHECK(errno == EINVAL);
    }
}

/* memalign rounds an alignment that is not a power of two up to the next one, as glibc does. */
static void memalign_rounds_up(void)
{
    static const size_t given[][2] = {{0, 1}, {3, 4}, {24, 32}, {33, 64}, {100, 128}, {5000, 8192}};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        for (int k = 0; k < 40; k++) {
            void *block = memalign(opaque_size(given[i][0]), 40);
            check_block(block, given[i][1], 40);
            free(block);
        }
    }
}

static void valloc_and_pvalloc_give_pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < SIZES; i++) {
        void *block = valloc(sizes[i]);
        check_block(block, page, sizes[i]);
        free(block);
        block = pvalloc(sizes[i]);
        check_block(block, page, sizes[i]);
        size_t rounded = (sizes[i] + page - 1) / page * page;
        CHECK(malloc_usable_size(block) >= rounded);
        pattern_fill(block, rounded, 7);
        CHECK(pattern_first_difference(block, rounded, 7) == rounded);
        free(block);
    }
}

int main(void)
{
    reach_hakmem();
    RUN(every_alignment_to_1_gib);
    RUN(many_of_one_alignment);
    RUN(realloc_takes_aligned_blocks);
    RUN(posix_memalign_errors);
    RUN(oversized_is_enomem);
    RUN(impossible_alignment_fails);
    RUN(aligned_alloc_wants_a_power_of_two);
    RUN(memalign_rounds_up);
    RUN(valloc_and_pvalloc_give_pages);
    return 0;
}
