/*
 * Blocks with mappings of their own: growth and shrinking without copying, sparse blocks,
 * neighbours, reuse, memory given back by free.
 */
#include "support/pattern.h"
#include "support/proc.h"

#include "support/api.h"

#define MIB ((size_t)1 << 20)

static void grows_with_contents(void)
{
    size_t size = 2 * MIB;
    unsigned char *block = malloc(size);
    CHECK(block != NULL);
    pattern_fill(block, size, size);
    while (size < 96 * MIB) {
        size_t next = size + size / 2 + 12345;
        block = realloc(block, next);
        CHECK(block != NULL && (uintptr_t)block % 16 == 0);
        size_t at = pattern_prefix_difference(block, size, size, size);
        CHECK_THAT(at == size, "%zu to %zu: byte %zu lost", size, next, at);
        pattern_fill(block, next, next);
        size = next;
    }
    while (size > MIB) {
        size_t next = size / 2;
        block = realloc(block, next);
        CHECK(block != NULL);
        size_t at = pattern_prefix_difference(block, next, size, size);
        CHECK_THAT(at == next, "%zu to %zu: byte %zu lost", size, next, at);
        pattern_fill(block, next, next);
        size = next;
    }
    free(block);
}

/*
 * A copy would fill the holes of a sparse block; moving its pages does not. What is resident
 * after growing tells which one it was.
 */
static void growing_moves_pages(void)
{
    size_t size = 256 * MIB;
    unsigned char *block = calloc(1, size);
    CHECK(block != NULL);
    for (size_t at = 0; at < size; at += MIB)
        block[at] = (unsigned char)(at / MIB);
    /* Something behind it, so that growing in place is not always possible. */
    void *neighbour = malloc(8 * MIB);
    CHECK(neighbour != NULL);
    size_t before = proc_rss_kib();
    for (int i = 0; i < 3; i++) {
        block = realloc(block, size + (size_t)(i + 1) * 64 * MIB);
        CHECK(block != NULL);
    }
    size_t after = proc_rss_kib();
    CHECK_THAT(after < before + 65536, "%zu KiB resident before, %zu after", before, after);
    for (size_t at = 0; at < size; at += MIB)
        CHECK(block[at] == (unsigned char)(at / MIB) && block[at + 1] == 0);
    free(neighbour);
    free(block);
}

static void shrinking_gives_pages_back(void)
{
    size_t before = proc_rss_kib();
    unsigned char *block = malloc(64 * MIB);
    CHECK(block != NULL);
    memset(block, 0x5a, 64 * MIB);
    block = realloc(block, 2 * MIB);
    CHECK(block != NULL);
    for (size_t at = 0; at < 2 * MIB; at++)
        CHECK(block[at] == 0x5a);
    CHECK_THAT(proc_rss_kib() < before + 16384, "%zu KiB before, %zu after", before,
               proc_rss_kib());
    free(block);
}

/* A cache of freed mappings must be bounded. */
static void freeing_gives_pages_back(void)
{
    enum { COUNT = 20 };
    void *blocks[COUNT];
    size_t before = proc_rss_kib();
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(8 * MIB);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, 8 * MIB);
    }
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
    CHECK_THAT(proc_rss_kib() < before + 64 * 1024, "%zu KiB before, %zu after", before,
               proc_rss_kib());
}

static void many_live_at_once(void)
{
    enum { COUNT = 600 };
    static unsigned char *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size_t size = MIB + (size_t)i * 4099;
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL && malloc_usable_size(blocks[i]) >= size);
        pattern_fill(blocks[i], size, (uint64_t)i);
    }
    for (int i = 0; i < COUNT; i += 2) {
        size_t size = MIB + (size_t)i * 4099;
        CHECK(pattern_first_difference(blocks[i], size, (uint64_t)i) == size);
        free(blocks[i]);
        blocks[i] = NULL;
    }
    for (int i = 1; i < COUNT; i += 2) {
        size_t size = MIB + (size_t)i * 4099;
        blocks[i] = realloc(blocks[i], size + 3 * MIB);
        CHECK(blocks[i] != NULL);
        CHECK(pattern_prefix_difference(blocks[i], size, size, (uint64_t)i) == size);
    }
    for (int i = 1; i < COUNT; i += 2)
        free(blocks[i]);
}

static void one_huge_untouched_block(void)
{
    size_t size = (size_t)8 << 30;
    size_t before = proc_rss_kib();
    unsigned char *block = malloc(size);
    CHECK_THAT(block != NULL, "8 GiB of address space");
    block[0] = 1;
    block[size - 1] = 2;
    CHECK(proc_rss_kib() < before + 4096);
    CHECK(malloc_usable_size(block) >= size);
    free(block);
}

int main(void)
{
    reach_hakmem();
    RUN(grows_with_contents);
    RUN(growing_moves_pages);
    RUN(shrinking_gives_pages_back);
    RUN(freeing_gives_pages_back);
    RUN(many_live_at_once);
    RUN(one_huge_untouched_block);
    return 0;
}
