/* Every slow exit of malloc and free, and the other allocating calls on top of them. */
#include <errno.h>
#include <string.h>

#include "config/options.h"
#include "core/core.h"
#include "core/fast_path.h"
#include "core/heap.h"
#include "core/pointer.h"
#include "core/scavenger.h"
#include "core/user_heap.h"
#include "harden/abort.h"
#include "large/large.h"
#include "large/run.h"
#include "mid/mid.h"
#include "os/os.h"
#include "space/held.h"
#include "space/quarantine.h"
#include "space/shared_pool.h"
#include "tiny/inbox.h"
#include "tiny/magazine.h"
#include "tiny/remote.h"

enum { TICKS = 64 }; /* slow exits between two looks at the clock for the purge */

static void tick(struct hak_heap *heap, bool freeing)
{
    if (HAK_LIKELY(!heap->real || ++heap->ticks % TICKS != 0))
        return;
    uint32_t now = hak_os_now_ms();
    if (hak_pool_purge_pending())
        hak_pool_purge(now, 4, false);
    hak_large_purge(now, false);
    if (HAK_UNLIKELY(hak_held_too_much()))
        hak_scavenge_free_now();
    if (freeing)
        hak_scavenger_tick();
}

static void *alloc_slab_block(struct hak_heap *heap, size_t size)
{
    unsigned c = hak_size_class(size);
    if (c >= HAK_TINY_CLASSES)
        return hak_mid_alloc(heap, c);
    uintptr_t block = heap->top[c][-1];
    if (block != 0) { /* an aligned request, or the heap came after the fast path's look */
        heap->top[c]--;
        return (void *)block;
    }
    return hak_magazine_refill(heap, c, hak_options.check);
}

static void *alloc_once(struct hak_heap *heap, size_t size, size_t align, bool *zeroed)
{
    *zeroed = false;
    if (align > HAK_UNIT_BYTES || size > HAK_RUN_MAX)
        return hak_large_alloc(size, align, zeroed);
    size = hak_size_aligned(size, align);
    if (size > HAK_MID_MAX)
        return hak_run_alloc(heap, size, zeroed);
    return alloc_slab_block(heap, size);
}

void hak_heap_reclaim(void)
{
    hak_scavenger_refuse();
    hak_quarantine_flush();
    hak_large_purge(0, true);
    if (hak_options.hard_limit != 0)
        hak_pool_purge(0, UINT32_MAX, true);
    hak_pool_release_empty();
}

static void *alloc(struct hak_heap *heap, size_t size, size_t align, bool *zeroed)
{
    uint32_t mark = hak_heap_enter(heap);
    void *p = alloc_once(heap, size, align, zeroed);
    /* Address space and memory may be what is missing, unless no machine has so much of it. */
    if (HAK_UNLIKELY(p == NULL && (size | align) >> HAK_ADDRESS_BITS == 0)) {
        hak_heap_reclaim();
        p = alloc_once(heap, size, align, zeroed);
    }
    tick(heap, false);
    hak_heap_leave(heap, mark);
    return p;
}

/* align 1: none beyond what malloc gives. */
static HAK_NOINLINE void *alloc_any(size_t size, size_t align, bool *zeroed)
{
    struct hak_heap *heap = hak_tls_heap;
    void *p = NULL;
    if (HAK_UNLIKELY(heap == (struct hak_heap *)&hak_heap_none)) {
        int saved = errno;
        heap = hak_heap_attach();
        errno = saved;
    }
    if (HAK_UNLIKELY(size > PTRDIFF_MAX)) {
        errno = ENOMEM;
        return NULL;
    }
    if (HAK_LIKELY(heap != NULL && heap->real)) {
        p = alloc(heap, size, align, zeroed);
    } else if (heap != NULL) {
        heap = hak_heap_late_acquire();
        if (heap != NULL) {
            p = alloc(heap, size, align, zeroed);
            hak_heap_late_release();
        }
    }
    if (HAK_UNLIKELY(p == NULL))
        errno = ENOMEM;
    return p;
}

/* What the heap has no block at hand for, but for a page run perhaps. */
static HAK_NOINLINE void *malloc_beyond(size_t size, struct hak_heap *heap)
{
    bool zeroed;
    if (size - HAK_MID_MAX - 1 < HAK_RUN_MAX - HAK_MID_MAX && heap->real) {
        void *p = hak_run_alloc_cached(heap, size);
        if (HAK_LIKELY(p != NULL))
            return p;
    }
    return alloc_any(size, 1, &zeroed);
}

HAK_NOINLINE void *hak_malloc_slow(size_t size, struct hak_heap *heap)
{
    if (HAK_LIKELY(size - HAK_TINY_MAX - 1 < heap->mid_span)) {
        struct hak_mid *mid = hak_mid_of(heap, hak_mid_class(size));
        if (HAK_LIKELY(mid->count != 0))
            return hak_mid_pop(mid);
    }
    return malloc_beyond(size, heap);
}

void *hak_calloc(size_t count, size_t size)
{
    size_t bytes;
    bool zeroed = false;
    if (HAK_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    void *p = bytes <= HAK_TINY_MAX ? hak_malloc(bytes) : alloc_any(bytes, 1, &zeroed);
    if (HAK_LIKELY(p != NULL && !zeroed))
        memset(p, 0, bytes);
    return p;
}

void *hak_aligned(size_t align, size_t size)
{
    bool zeroed;
    if (align <= 16 && (size >= align || align <= 8))
        return hak_malloc(size);
    return alloc_any(size, align, &zeroed);
}

HAK_NOINLINE void hak_free_full(void *p, struct hak_heap *heap, uintptr_t c)
{
    const void *caller = __builtin_return_address(0);
    if (HAK_UNLIKELY(heap->top[c][-1] == (uintptr_t)p))
        hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, p, hak_size_classes[c].size, caller);
    uint32_t mark = hak_heap_enter(heap);
    if (((uintptr_t)heap->top[c] & heap->mask[c]) == 0) /* room: looked up in a sparse map */
        hak_magazine_make_room(heap, (unsigned)c, caller);
    *heap->top[c]++ = (uintptr_t)p;
    tick(heap, true);
    hak_heap_leave(heap, mark);
    hak_scavenger_check();
}

/* Blocks of threads without a heap, those of user heaps, remote mid blocks, all above mid, and all Tiny
 * blocks while every free is checked. */
static HAK_NOINLINE void free_any(struct hak_heap *heap, uintptr_t p, uint32_t word,
                                  const void *caller)
{
    uint32_t special = word & HAK_WORD_SPECIAL;
    if (HAK_UNLIKELY(word == 0))
        hak_pointer_abort(p, caller);
    uint32_t mark = hak_heap_enter(heap);
    if (HAK_UNLIKELY(hak_word_is_user(word)))
        hak_user_heap_release(hak_user_heap_of(p, word, caller), p, word, caller);
    else if (special == 0 && heap->real && word >> 8 == heap->id && hak_options.check)
        hak_magazine_return(heap, p, caller);
    else if (special != HAK_WORD_SPECIAL)
        hak_remote_free_now(p, caller);
    else if ((word & 0xff) == HAK_CLASS_LARGE)
        hak_large_free(p, word, caller);
    else
        hak_run_free(heap, p, word, caller);
    tick(heap, true);
    hak_heap_leave(heap, mark);
    hak_scavenger_check();
}

static HAK_NOINLINE void outbox_full(struct hak_heap *heap, uint32_t x)
{
    uint32_t mark = hak_heap_enter(heap);
    hak_outbox_full(heap, x, __builtin_return_address(0));
    hak_heap_leave(heap, mark);
    hak_scavenger_check();
}

/* A Tiny block of another heap, or of an orphan. */
static HAK_NOINLINE void remote_miss(struct hak_heap *heap, uintptr_t p, uint32_t x)
{
    const void *caller = __builtin_return_address(0);
    uint32_t mark = hak_heap_enter(heap);
    /* Making room may have brought blocks of the same word into the map. */
    if (!hak_outbox_open(heap, p, x, caller) && !hak_remote_defer(heap, p, x & 0xff))
        hak_remote_miss(heap, p, x & 0xff, caller);
    hak_heap_leave(heap, mark);
    hak_scavenger_check();
}

/* A thread that only frees gains by outboxes, so it gets a heap as well. */
static HAK_COLD struct hak_heap *free_first(void)
{
    struct hak_heap *heap = hak_heap_attach();
    return heap != NULL ? heap : (struct hak_heap *)&hak_heap_gone;
}

static HAK_NOINLINE void free_mid(struct hak_heap *heap, uintptr_t p, unsigned size_class,
                                  const void *caller)
{
    hak_mid_free_slow(heap, p, size_class, caller);
    hak_scavenger_check();
}

/* What is neither this heap's Tiny nor another's, or was looked up by a thread without a heap or in a
 * map that the fast path does not see. */
static HAK_NOINLINE void free_slow(uintptr_t p, struct hak_heap *heap)
{
    if (p == 0)
        return;
    if (HAK_UNLIKELY(heap == (struct hak_heap *)&hak_heap_none))
        heap = free_first();
    /* Only now: a word read earlier may name the id that this thread has just been given, as that
     * of its last thread. */
    uint32_t word = hak_unit_map_get(p);
    uint32_t x = word ^ heap->id_word;
    if ((word ^ heap->mid_word) < 256)
        free_mid(heap, p, word & 0xff, __builtin_return_address(0));
    else if (x < 256)
        hak_free_full((void *)p, heap, x);
    else if (x >= HAK_WORD_TINY_END || word == 0)
        free_any(heap, p, word, __builtin_return_address(0));
    else
        hak_free_other((void *)p, heap, x);
}

/* A block whose neighbours in the bitmap are in the deferred map goes there too: that saves a try for an
 * outbox, which will not be had for orphans, nor soon where there was no room. */
static HAK_NOINLINE void free_other(void *ptr, struct hak_heap *heap, uintptr_t x)
{
    uintptr_t p = (uintptr_t)ptr;
    if (HAK_UNLIKELY(x >= HAK_WORD_TINY_END || x == heap->id_word))
        free_slow(p, heap);
    else if (hak_outbox_at(heap, (uint32_t)x)->key == x)
        outbox_full(heap, (uint32_t)x);
    else if (hak_outbox_at(heap, (uint32_t)x)->candidate == x || !hak_remote_defer(heap, p, x & 0xff))
        remote_miss(heap, p, (uint32_t)x);
}

/* A mid block of the heap's own, a page run, or what is left. */
static HAK_NOINLINE void free_not_tiny(void *ptr, struct hak_heap *heap, uintptr_t x)
{
    uintptr_t p = (uintptr_t)ptr;
    if (HAK_LIKELY(x - HAK_WORD_MID < 256)) {
        if (HAK_UNLIKELY(!hak_mid_free(heap, p, x & 0xff)))
            free_mid(heap, p, x & 0xff, __builtin_return_address(0));
    } else if ((uint32_t)(x ^ heap->id_word) == HAK_WORD_RUN && heap->real) {
        hak_run_free(heap, p, HAK_WORD_RUN, __builtin_return_address(0));
        hak_scavenger_check();
    } else {
        free_slow(p, heap);
    }
}

/* Heap ids have no bit in common with the kind bits of a word, so x has those of the word; a heap that
 * must not collect has an id_word that sets them. */
HAK_NOINLINE void hak_free_other(void *p, struct hak_heap *heap, uintptr_t x)
{
    if (HAK_UNLIKELY(x >= HAK_WORD_TINY_END))
        free_not_tiny(p, heap, x);
    else if (HAK_UNLIKELY(!hak_outbox_put(heap, (uintptr_t)p, (uint32_t)x)))
        free_other(p, heap, x);
}

bool hak_trim(size_t keep)
{
    struct hak_heap *heap = hak_tls_heap;
    struct hak_pool_totals totals;
    size_t bytes = 0;
    if (!hak_init())
        return false;
    if (heap->real) {
        uint32_t mark = hak_heap_enter(heap);
        hak_heap_flush(heap);
        for (unsigned c = 0; c < HAK_CLASSES; c++)
            hak_magazine_drop_warm(heap, c);
        hak_heap_leave(heap, mark);
    }
    bytes += hak_large_purge(0, true);
    bytes += hak_scavenge_slabs_now();
    hak_pool_totals_read(&totals);
    if (totals.units_dirty << HAK_UNIT_SHIFT > keep)
        bytes += hak_pool_purge(0, UINT32_MAX, true);
    return bytes != 0;
}
