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

/* slab->state of a run: its phase, and above that how often it came into use, so that a purge can tell
 * one that lies idle from one that is between two uses. Never a state that a slab may have: the owner
 * and kind of those lie above bit 32.
 *
 *   LIVE -> CACHED         whoever frees it
 *   CACHED, PURGED -> LIVE the heap that has it in its cache
 *   CACHED -> PURGING -> PURGED  a purge, of any thread; the heap waits for its end
 */
enum {
    HAK_RUN_LIVE = 1,
    HAK_RUN_CACHED,
    HAK_RUN_PURGING,
    HAK_RUN_PURGED,
    HAK_RUN_PHASE = 7, /* mask */
    HAK_RUN_USE = 8,   /* one use */
};

/* 0: not of a run. */
HAK_INLINE unsigned hak_run_phase(uint64_t state)
{
    return state <= UINT32_MAX ? (unsigned)(state & HAK_RUN_PHASE) : 0;
}

/* Allocates size bytes (HAK_MID_MAX < size <= HAK_RUN_MAX), 64 KiB-aligned. heap may be one that is
 * not real. *zeroed: the block reads as zeros. NULL when memory is out. */
void *hak_run_alloc(struct hak_heap *heap, size_t size, bool *zeroed);

/* Takes a run of the heap's cache into use. A purge of it takes one system call. */
HAK_INLINE void hak_run_revive(struct hak_slab *run)
{
    uint64_t state = hak_load_relaxed(&run->state), live;
    do {
        while (HAK_UNLIKELY((state & HAK_RUN_PHASE) == HAK_RUN_PURGING)) {
            hak_os_relax();
            state = hak_load_relaxed(&run->state);
        }
        live = (uint32_t)((state & ~(uint64_t)HAK_RUN_PHASE) + HAK_RUN_USE) | HAK_RUN_LIVE;
    } while (HAK_UNLIKELY(!hak_cas_acq_rel(&run->state, &state, live)));
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
    uintptr_t base = (uintptr_t)cache->units_at[length - 1][count] << HAK_UNIT_SHIFT;
    cache->counts[length - 1] = (uint8_t)count;
    cache->units -= length;
    if (count == 0)
        cache->lengths &= ~(1u << (length - 1));
    struct hak_slab *run = hak_unit_of(base);
    hak_run_revive(run);
    hak_store_relaxed(&run->run_bytes, hak_round_up(size, hak_os_page_size()));
    return (void *)base;
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

/* Gives the pages of a cached run back to the system; the run stays in its heap's cache. Returns the bytes,
 * 0 if it is in use, or no run. Any thread. */
size_t hak_run_purge(struct hak_slab *run);

/* Gives the heap's cached runs back to the pool. */
void hak_run_cache_flush(struct hak_heap *heap);

#endif
