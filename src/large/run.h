/* L2.5: blocks above 32 KiB to 1 MiB, as runs of whole units inside SuperSlabs. A run belongs to no
 * heap; a freed one is cached by the thread that freed it, as far as that cache goes. Its memory is what its pages hold:
 * the pages of the last unit beyond the block are never touched, so only address space is rounded to
 * units. Every free is checked at once.
 */
#ifndef HAK_LARGE_RUN_H
#define HAK_LARGE_RUN_H

#include "os/os.h"
#include "tiny/heap.h"

enum { HAK_RUN_MAX = 1 << 20 }; /* bytes */

/* slab->state of a run */
enum { HAK_RUN_LIVE = 1, HAK_RUN_CACHED = 2 };

/* Allocates size bytes (HAK_MID_MAX < size <= HAK_RUN_MAX), 64 KiB-aligned. heap may be one that is
 * not real. *zeroed: the block reads as zeros. NULL when memory is out. */
void *hak_run_alloc(struct hak_heap *heap, size_t size, bool *zeroed);

/* Puts the run at base into use for a request. */
HAK_INLINE void *hak_run_start(struct hak_slab *run, uintptr_t base, size_t size)
{
    hak_store_relaxed(&run->run_bytes, hak_round_up(size, hak_os_page_size()));
    hak_store_relaxed(&run->state, HAK_RUN_LIVE);
    return (void *)base;
}

/* The same out of the heap's cache, from a run at most a quarter too long; or NULL. heap: real. */
HAK_INLINE void *hak_run_alloc_cached(struct hak_heap *heap, size_t size)
{
    struct hak_run_cache *cache = &heap->run_cache;
    uint32_t units = (uint32_t)((size + HAK_UNIT_BYTES - 1) >> HAK_UNIT_SHIFT);
    uint32_t fit = cache->lengths >> (units - 1);
    if (fit == 0)
        return NULL;
    uint32_t length = units + (uint32_t)__builtin_ctz(fit);
    if (length > units + units / 4)
        return NULL;
    uint32_t count = cache->counts[length - 1] - 1u;
    uintptr_t base = cache->bases[length - 1][count];
    cache->counts[length - 1] = (uint8_t)count;
    cache->units -= length;
    if (count == 0)
        cache->lengths &= ~(1u << (length - 1));
    return hak_run_start(hak_unit_of(base), base, size);
}

void hak_run_init(struct hak_heap *heap);

/* Frees the run that p starts; aborts when p is inside one or it is free. word: p's unit-map word. */
void hak_run_free(struct hak_heap *heap, uintptr_t p, uint32_t word, const void *caller);

/* Gives a run that hak_run_alloc has just returned to a user heap; its descriptor. The state word is then
 * like that of a slab with one block, of class HAK_CLASS_RUN, so a vector can hold the run. */
struct hak_slab *hak_run_own(uintptr_t p, uint32_t owner);

/* Frees such a run: to the pool, at once. */
void hak_run_free_owned(uintptr_t p, uint32_t word, const void *caller);

/* Changes the length in place, to within the limits of hak_run_alloc. False when it cannot. */
bool hak_run_resize(uintptr_t p, size_t size);

/* Usable bytes; aborts like hak_run_free. */
size_t hak_run_usable(uintptr_t p, uint32_t word, const void *caller);

/* Gives the heap's cached runs back to the pool. */
void hak_run_cache_flush(struct hak_heap *heap);

#endif
