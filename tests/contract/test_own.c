/*
 * What hakmem.h has and libc has not: the version, ownership, statistics, purging, and blocks that
 * change hands between the two sets of names.
 */
#include "support/pattern.h"
#include "support/proc.h"
#include "tiers.h"

#include <hakmem/hakmem.h>

#include "support/api.h"

static void version_is_the_header_s(void)
{
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", HAKMEM_VERSION_MAJOR, HAKMEM_VERSION_MINOR,
             HAKMEM_VERSION_PATCH);
    CHECK_THAT(strcmp(hakmem_version(), expected) == 0, "%s", hakmem_version());
}

static void owns_tells_ours_from_others(void)
{
    int on_stack = 0;
    CHECK(hakmem_owns(&on_stack) == 0);
    CHECK(hakmem_owns(NULL) == 0);
    CHECK(hakmem_owns((void *)&owns_tells_ours_from_others) == 0);
    CHECK(hakmem_owns((void *)(uintptr_t)0xdeadbeefdeadbeef) == 0);
    CHECK(hakmem_owns((void *)UINTPTR_MAX) == 0);
    for (int i = 0; i < TIER_SIZES; i++) {
        char *block = hakmem_malloc(tier_sizes[i]);
        CHECK(block != NULL);
        CHECK_THAT(hakmem_owns(block) == 1, "size %zu", tier_sizes[i]);
        CHECK_THAT(hakmem_owns(block + tier_sizes[i] - 1) == 1, "size %zu", tier_sizes[i]);
        hakmem_free(block);
    }
}

static void statistics_follow_the_heap(void)
{
    enum { COUNT = 8000, SIZE = 2000 };
    static void *blocks[COUNT];
    struct hakmem_stats before = {.size = sizeof before};
    struct hakmem_stats held = {.size = sizeof held};
    struct hakmem_stats after = {.size = sizeof after};
    CHECK(hakmem_stats_get(&before) == 0 && before.size == sizeof before);
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = hakmem_malloc(SIZE);
        CHECK(blocks[i] != NULL);
    }
    void *large = hakmem_malloc((size_t)9 << 20);
    CHECK(large != NULL);
    CHECK(hakmem_stats_get(&held) == 0);
    for (int i = 0; i < COUNT; i++)
        hakmem_free(blocks[i]);
    hakmem_free(large);
    CHECK(hakmem_stats_get(&after) == 0);
    uint64_t asked = (uint64_t)COUNT * SIZE;
    CHECK_THAT(held.used_bytes >= before.used_bytes + asked &&
                   held.used_bytes <= before.used_bytes + asked + asked / 4,
               "%llu used before, %llu held", (unsigned long long)before.used_bytes,
               (unsigned long long)held.used_bytes);
    CHECK(held.superslab_bytes >= held.slab_bytes && held.slab_bytes >= held.used_bytes);
    CHECK(held.large_count == before.large_count + 1);
    CHECK(held.large_bytes >= before.large_bytes + ((uint64_t)9 << 20));
    CHECK_THAT(after.used_bytes <= before.used_bytes + 262144, "%llu used before, %llu after",
               (unsigned long long)before.used_bytes, (unsigned long long)after.used_bytes);
    CHECK(after.large_count == before.large_count);
    CHECK(after.heaps_live == 1 && after.heaps_made >= 1);
    CHECK(after.metadata_bytes > 0 && after.superslabs_peak >= held.superslabs);
}

static void statistics_check_their_argument(void)
{
    struct hakmem_stats stats = {.size = 8, .used_bytes = 77};
    errno = 4730;
    CHECK(hakmem_stats_get(NULL) == EINVAL);
    CHECK(hakmem_stats_get(&stats) == EINVAL && stats.used_bytes == 77);
    CHECK(errno == 4730);
    /* A caller from a future with more fields: those are left alone, and size tells so. */
    struct {
        struct hakmem_stats known;
        uint64_t future;
    } larger = {.known = {.size = sizeof larger}, .future = 99};
    CHECK(hakmem_stats_get(&larger.known) == 0);
    CHECK(larger.known.size == sizeof(struct hakmem_stats) && larger.future == 99);
}

static void purge_gives_memory_back(void)
{
    enum { COUNT = 300, SIZE = 200000 };
    static void *blocks[COUNT];
    size_t before = proc_rss_kib();
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = hakmem_malloc(SIZE);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, SIZE);
    }
    for (int i = 0; i < COUNT; i++)
        hakmem_free(blocks[i]);
    CHECK(hakmem_purge() <= 1);
    CHECK_THAT(proc_rss_kib() < before + 8192, "%zu KiB before, %zu after", before, proc_rss_kib());
}

static void posix_memalign_keeps_errno(void)
{
    void *block = NULL;
    errno = 4731;
    CHECK(hakmem_posix_memalign(&block, 3, 8) == EINVAL && errno == 4731);
    CHECK(hakmem_posix_memalign(&block, 64, opaque_size(SIZE_MAX)) == ENOMEM && errno == 4731);
    CHECK(hakmem_posix_memalign(&block, 64, 8) == 0 && errno == 4731);
    hakmem_free(block);
}

#ifndef HAKMEM_NO_LIBC_NAMES
/* Where libc's names are the library's as well, a block knows no difference. */
static void blocks_change_hands(void)
{
    for (int i = 0; i < TIER_SIZES; i++) {
        size_t size = tier_sizes[i];
        void *block = opaque(malloc(size));
        CHECK(block != NULL && hakmem_owns(block) && hakmem_malloc_usable_size(block) >= size);
        block = hakmem_realloc(block, size + 100);
        CHECK(block != NULL);
        free(block);
        block = opaque(hakmem_calloc(1, size));
        CHECK(block != NULL && malloc_usable_size(block) >= size);
        block = realloc(block, size / 2 + 1);
        CHECK(block != NULL);
        hakmem_free(block);
    }
}
#endif

int main(void)
{
    reach_hakmem();
    RUN(version_is_the_header_s);
    RUN(owns_tells_ours_from_others);
    RUN(statistics_follow_the_heap);
    RUN(statistics_check_their_argument);
    RUN(purge_gives_memory_back);
    RUN(posix_memalign_keeps_errno);
#ifndef HAKMEM_NO_LIBC_NAMES
    RUN(blocks_change_hands);
#endif
    return 0;
}
