/*
 * The C API of user heaps: argument checks and errno around core/user_heap.h.
 */
#include "hakmem/hakmem.h"

#include "base/attr.h"
#include "base/names.h"
#include "core/pointer.h"
#include "core/user_heap.h"

#include <errno.h>
#include <string.h>

#define CALLER __builtin_return_address(0)

/* Smallest size of struct hakmem_heap_stats that was ever published. */
enum { STATS_SIZE_MIN = 7 * 8 };

static struct hak_user_heap *inner(struct hakmem_heap *heap)
{
    return (struct hak_user_heap *)heap;
}

HAK_EXPORT struct hakmem_heap *hakmem_heap_new(const char *name, size_t limit)
{
    struct hak_user_heap *heap = hak_user_heap_new(name, limit);
    if (heap == NULL)
        errno = ENOMEM;
    return (struct hakmem_heap *)heap;
}

HAK_EXPORT void hakmem_heap_destroy(struct hakmem_heap *heap)
{
    if (heap != NULL)
        hak_user_heap_destroy(inner(heap), CALLER);
}

HAK_EXPORT void *hakmem_heap_malloc(struct hakmem_heap *heap, size_t size)
{
    bool zeroed;
    return hak_user_heap_alloc(inner(heap), size, 1, &zeroed, CALLER);
}

HAK_EXPORT void *hakmem_heap_calloc(struct hakmem_heap *heap, size_t count, size_t size)
{
    size_t bytes;
    bool zeroed;
    if (HAK_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    void *p = hak_user_heap_alloc(inner(heap), bytes, 1, &zeroed, CALLER);
    if (p != NULL && !zeroed)
        memset(p, 0, bytes);
    return p;
}

HAK_EXPORT void *hakmem_heap_aligned_alloc(struct hakmem_heap *heap, size_t alignment, size_t size)
{
    bool zeroed;
    if (HAK_UNLIKELY(!hak_is_pow2(alignment))) {
        errno = EINVAL;
        return NULL;
    }
    return hak_user_heap_alloc(inner(heap), size, alignment, &zeroed, CALLER);
}

HAK_EXPORT void *hakmem_heap_realloc(struct hakmem_heap *heap, void *p, size_t size)
{
    bool zeroed;
    if (p == NULL)
        return hak_user_heap_alloc(inner(heap), size, 1, &zeroed, CALLER);
    uint32_t word = hak_user_heap_check(inner(heap), (uintptr_t)p, CALLER);
    return hak_user_heap_resize(inner(heap), (uintptr_t)p, word, size, CALLER);
}

HAK_EXPORT void hakmem_heap_free(struct hakmem_heap *heap, void *p)
{
    if (p == NULL)
        return;
    uint32_t word = hak_user_heap_check(inner(heap), (uintptr_t)p, CALLER);
    hak_user_heap_release(inner(heap), (uintptr_t)p, word, CALLER);
}

HAK_EXPORT struct hakmem_heap *hakmem_heap_of(const void *p)
{
    uint32_t word = hak_unit_map_get((uintptr_t)p);
    if (!hak_word_is_user(word))
        return NULL;
    return (struct hakmem_heap *)hak_user_heap_of((uintptr_t)p, word, CALLER);
}

HAK_EXPORT const char *hakmem_heap_name(struct hakmem_heap *heap)
{
    return hak_user_heap_name(inner(heap), CALLER);
}

HAK_EXPORT int hakmem_heap_stats_get(struct hakmem_heap *heap, struct hakmem_heap_stats *stats)
{
    if (stats == NULL || stats->size < STATS_SIZE_MIN)
        return EINVAL;
    struct hak_user_heap_totals totals;
    hak_user_heap_totals(inner(heap), &totals, CALLER);
    struct hakmem_heap_stats ours = {
        .size = sizeof ours,
        .limit = totals.limit,
        .used_bytes = totals.used_bytes,
        .peak_bytes = totals.peak_bytes,
        .held_bytes = totals.held_bytes,
        .blocks = totals.blocks,
        .refused = totals.refused,
    };
    if (stats->size < ours.size)
        ours.size = stats->size;
    memcpy(stats, &ours, ours.size);
    return 0;
}
