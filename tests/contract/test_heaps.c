/*
 * Heaps of the program's own: allocation in every tier, limits, figures, blocks that libc's names free
 * and resize, destruction with blocks in use, fork.
 */
#include "support/pattern.h"
#include "support/proc.h"
#include "support/rng.h"
#include "tiers.h"

#include "support/heaps.h"

#include <pthread.h>
#include <sys/wait.h>

#include "support/api.h"

static struct hakmem_heap *heap_of_test(size_t limit)
{
    struct hakmem_heap *heap = hakmem_heap_new("test", limit);
    CHECK(heap != NULL);
    return heap;
}

static struct hakmem_heap_stats figures(struct hakmem_heap *heap)
{
    struct hakmem_heap_stats stats = {.size = sizeof stats};
    CHECK(hakmem_heap_stats_get(heap, &stats) == 0 && stats.size == sizeof stats);
    return stats;
}

static uint64_t in_use(void)
{
    struct hakmem_stats stats = {.size = sizeof stats};
    CHECK(hakmem_stats_get(&stats) == 0);
    return stats.used_bytes + stats.large_bytes;
}

static void blocks_of_every_tier(void)
{
    struct hakmem_heap *heap = heap_of_test(0);
    static void *blocks[TIER_SIZES];
    for (int i = 0; i < TIER_SIZES; i++) {
        size_t size = tier_sizes[i];
        blocks[i] = hakmem_heap_malloc(heap, size);
        CHECK(blocks[i] != NULL && hakmem_heap_of(blocks[i]) == heap && hakmem_owns(blocks[i]));
        CHECK_THAT(size < 16 || (uintptr_t)blocks[i] % 16 == 0, "size %zu", size);
        CHECK(malloc_usable_size(blocks[i]) >= size);
        pattern_fill(blocks[i], malloc_usable_size(blocks[i]), (uint64_t)i);
    }
    CHECK(figures(heap).blocks == TIER_SIZES);
    for (int i = 0; i < TIER_SIZES; i++) {
        size_t usable = malloc_usable_size(blocks[i]);
        CHECK(pattern_first_difference(blocks[i], usable, (uint64_t)i) == usable);
        if (i % 2 == 0)
            hakmem_heap_free(heap, blocks[i]);
        else
            free(blocks[i]);
    }
    CHECK(figures(heap).blocks == 0 && figures(heap).used_bytes == 0);
    hakmem_heap_free(heap, NULL);
    hakmem_heap_destroy(heap);
}

static void blocks_of_malloc_are_in_no_heap(void)
{
    void *block = opaque(malloc(100));
    int on_stack;
    CHECK(block != NULL && hakmem_heap_of(block) == NULL);
    CHECK(hakmem_heap_of(NULL) == NULL && hakmem_heap_of(&on_stack) == NULL);
    CHECK(hakmem_heap_of((void *)(uintptr_t)0xdeadbeefdeadbeef) == NULL);
    free(block);
}

static void calloc_clears(void)
{
    struct hakmem_heap *heap = heap_of_test(0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TIER_SIZES; i++) {
            size_t size = tier_sizes[i];
            unsigned char *block = hakmem_heap_calloc(heap, 1, size);
            CHECK(block != NULL && first_nonzero(block, size) == size);
            memset(block, 0xa5, size);
            free(block);
        }
    }
    errno = 0;
    CHECK(hakmem_heap_calloc(heap, opaque_size(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM);
    hakmem_heap_destroy(heap);
}

static void alignment_is_kept(void)
{
    struct hakmem_heap *heap = heap_of_test(0);
    for (size_t align = 1; align <= (size_t)4 << 20; align *= 2) {
        for (size_t size = 1; size <= 300000; size = size * 3 + 5) {
            void *block = hakmem_heap_aligned_alloc(heap, align, size);
            CHECK_THAT(block != NULL && (uintptr_t)block % align == 0, "%zu to %zu", size, align);
            memset(block, 1, size);
            if (size % 2)
                hakmem_heap_free(heap, block);
        }
    }
    errno = 0;
    CHECK(hakmem_heap_aligned_alloc(heap, 24, 8) == NULL && errno == EINVAL);
    hakmem_heap_destroy(heap);
}

static void resize(struct hakmem_heap *heap, bool by_heap)
{
    struct rng rng = {3};
    unsigned char *block = NULL;
    size_t size = 0;
    for (int i = 0; i < 400; i++) {
        size_t next = (size_t)rng_mixed_size(&rng) * (1 + rng_below(&rng, 8)) + 1;
        unsigned char *moved = by_heap || block == NULL ? hakmem_heap_realloc(heap, block, next)
                                                        : realloc(block, next);
        CHECK(moved != NULL && hakmem_heap_of(moved) == heap);
        size_t kept = size < next ? size : next;
        CHECK(pattern_prefix_difference(moved, kept, size, 5) == kept);
        block = moved;
        size = next;
        pattern_fill(block, size, 5);
        CHECK(figures(heap).blocks == 1);
        CHECK(figures(heap).used_bytes == malloc_usable_size(block));
    }
    CHECK(by_heap ? hakmem_heap_realloc(heap, block, 0) == NULL : realloc(block, 0) == NULL);
    CHECK(figures(heap).blocks == 0 && figures(heap).used_bytes == 0);
}

static void realloc_stays_in_the_heap(void)
{
    struct hakmem_heap *heap = heap_of_test(0);
    resize(heap, true);
    resize(heap, false);
    hakmem_heap_destroy(heap);
}

static void the_limit_holds(void)
{
    static const size_t sizes[] = {24, 700, 9000, 100000, 1500000};
    enum { LIMIT = 6000000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct hakmem_heap *heap = heap_of_test(LIMIT);
        size_t size = sizes[s], count = 0;
        void *block, *last = NULL;
        errno = 0;
        while ((block = hakmem_heap_malloc(heap, size)) != NULL) {
            last = block;
            count++;
        }
        struct hakmem_heap_stats stats = figures(heap);
        CHECK(errno == ENOMEM && stats.refused == 1 && stats.limit == LIMIT);
        CHECK(stats.blocks == count && stats.used_bytes == count * malloc_usable_size(last));
        CHECK(stats.used_bytes <= LIMIT && stats.used_bytes + malloc_usable_size(last) > LIMIT);
        CHECK(stats.peak_bytes == stats.used_bytes && stats.held_bytes >= stats.used_bytes);
        errno = 0;
        CHECK(realloc(last, LIMIT + 1) == NULL && errno == ENOMEM);
        CHECK(malloc_usable_size(last) >= size);
        free(last);
        CHECK(hakmem_heap_malloc(heap, size) != NULL);
        CHECK(hakmem_heap_malloc(heap, size) == NULL);
        hakmem_heap_destroy(heap);
    }
    struct hakmem_heap *heap = heap_of_test(0);
    errno = 0;
    CHECK(hakmem_heap_malloc(heap, opaque_size(PTRDIFF_MAX)) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(hakmem_heap_malloc(heap, opaque_size(SIZE_MAX)) == NULL && errno == ENOMEM);
    CHECK(figures(heap).used_bytes == 0);
    hakmem_heap_destroy(heap);
}

static void names_and_figures(void)
{
    struct hakmem_heap *heap = hakmem_heap_new("parser", 0);
    CHECK(heap != NULL && strcmp(hakmem_heap_name(heap), "parser") == 0);
    struct hakmem_heap_stats stats = {.size = 8, .used_bytes = 77};
    errno = 4730;
    CHECK(hakmem_heap_stats_get(heap, NULL) == EINVAL);
    CHECK(hakmem_heap_stats_get(heap, &stats) == EINVAL && stats.used_bytes == 77);
    CHECK(figures(heap).limit == 0 && figures(heap).held_bytes == 0);
    hakmem_heap_destroy(heap);
    hakmem_heap_destroy(NULL);
    CHECK(errno == 4730);
    heap = hakmem_heap_new("a name of more than thirty-one bytes", 0);
    CHECK(heap != NULL && strlen(hakmem_heap_name(heap)) == 31);
    hakmem_heap_destroy(heap);
    heap = hakmem_heap_new(NULL, 0);
    CHECK(heap != NULL && hakmem_heap_name(heap)[0] == '\0');
    hakmem_heap_destroy(heap);
}

static void fill(struct hakmem_heap *heap, struct rng *rng, size_t bytes)
{
    for (size_t got = 0; got < bytes;) {
        size_t size = rng_mixed_size(rng) + 1;
        void *block = hakmem_heap_malloc(heap, size);
        CHECK(block != NULL);
        memset(block, 0x5a, size);
        got += size;
        if (rng_below(rng, 4) == 0)
            free(block);
    }
}

/* What is in use, what is mapped and what is resident stay the same over many heaps. */
static void destroyed_heaps_leave_nothing(void)
{
    enum { ROUNDS = 400, WARM = 100 };
    struct rng rng = {11};
    uint64_t before = in_use();
    size_t rss = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct hakmem_heap *heap = heap_of_test(0);
        fill(heap, &rng, 3000000);
        hakmem_heap_destroy(heap);
        if (i == WARM)
            rss = proc_rss_kib();
    }
    CHECK_THAT(in_use() <= before + 65536, "%llu in use before, %llu after",
               (unsigned long long)before, (unsigned long long)in_use());
    CHECK_THAT(proc_rss_kib() <= rss + 8192, "%zu KiB, then %zu KiB", rss, proc_rss_kib());
}

/* More than the quarantine holds: the rest is the system's after a purge, as with freed blocks. */
static void a_big_heap_gives_its_memory_back(void)
{
    enum { BYTES = 96 << 20 };
    struct rng rng = {13};
    uint64_t before = in_use();
    size_t rss = proc_rss_kib();
    struct hakmem_heap *heap = heap_of_test(0);
    fill(heap, &rng, BYTES);
    CHECK(!PROC_RSS_TELLS || proc_rss_kib() > rss + BYTES / 2048);
    hakmem_heap_destroy(heap);
    malloc_trim(0);
    CHECK(in_use() <= before + 65536);
    CHECK_THAT(proc_rss_kib() <= rss + 16384, "%zu KiB before, %zu after", rss, proc_rss_kib());
}

/* As hakmem_heap_destroy promises for 16 MiB, and for 16 large blocks. */
static void destroyed_addresses_are_not_reused(void)
{
    enum { COUNT = 16, SMALL = 300, MANY = 2000 };
    static const size_t sizes[] = {48, 3000, 100000, 3000000};
    static void *gone[4][SMALL], *later[MANY];
    struct hakmem_heap *heap = heap_of_test(0);
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < (s < 2 ? SMALL : COUNT); i++) {
            gone[s][i] = hakmem_heap_malloc(heap, sizes[s]);
            CHECK(gone[s][i] != NULL);
        }
    }
    hakmem_heap_destroy(heap);
    for (int s = 0; s < 4; s++) {
        int many = s == 3 ? 64 : MANY;
        for (int i = 0; i < many; i++) {
            later[i] = malloc(sizes[s]);
            CHECK(later[i] != NULL);
            for (int k = 0; k < SMALL; k++)
                CHECK_THAT(later[i] != gone[s][k], "size %zu", sizes[s]);
        }
        for (int i = 0; i < many; i++)
            free(later[i]);
    }
}

static void *use_and_destroy(void *argument)
{
    struct hakmem_heap *heap = argument;
    struct rng rng = {5};
    fill(heap, &rng, 500000);
    hakmem_heap_destroy(heap);
    return NULL;
}

static void another_thread_destroys(void)
{
    for (int i = 0; i < 20; i++) {
        struct hakmem_heap *heap = heap_of_test(0);
        struct rng rng = {(uint64_t)i};
        fill(heap, &rng, 500000);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, use_and_destroy, heap) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

/* A child has its parent's heaps, to use, free from and destroy. */
static void heaps_survive_a_fork(void)
{
    struct hakmem_heap *heap = heap_of_test(0);
    struct rng rng = {9};
    fill(heap, &rng, 500000);
    unsigned char *block = hakmem_heap_malloc(heap, 5000);
    CHECK(block != NULL);
    pattern_fill(block, 5000, 1);
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(pattern_first_difference(block, 5000, 1) == 5000);
            free(block);
            fill(heap, &rng, 500000);
            hakmem_heap_destroy(heap);
            use_and_destroy(heap_of_test(0));
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    CHECK(pattern_first_difference(block, 5000, 1) == 5000);
    hakmem_heap_destroy(heap);
}

int main(void)
{
    reach_hakmem();
    RUN(blocks_of_every_tier);
    RUN(blocks_of_malloc_are_in_no_heap);
    RUN(calloc_clears);
    RUN(alignment_is_kept);
    RUN(realloc_stays_in_the_heap);
    RUN(the_limit_holds);
    RUN(names_and_figures);
    RUN(destroyed_heaps_leave_nothing);
    RUN(a_big_heap_gives_its_memory_back);
    RUN(destroyed_addresses_are_not_reused);
    RUN(another_thread_destroys);
    RUN(heaps_survive_a_fork);
    return 0;
}
