/* Mid: blocks above 1 KiB to 32 KiB. The same slabs as Tiny, but no magazine: a slab has at most 64
 * blocks, so a third bitmap can say which of them are cached by the owner, and the owner allocates from
 * that bitmap of its current slab. The three bitmaps together say of every block whether it is in use,
 * so every free is checked at once, by any thread. Cached blocks count as used.
 *
 * Called from the slow exits of malloc and free, by the heap's own thread.
 */
#ifndef HAK_MID_MID_H
#define HAK_MID_MID_H

#include "tiny/heap.h"

/* Sets a class up. */
void hak_mid_init(struct hak_heap *heap, unsigned size_class);

/* Makes a slab with cached blocks current and takes one of them; NULL when memory is out. */
void *hak_mid_refill(struct hak_heap *heap, unsigned size_class);

/* Gives cached blocks back to their slabs: those of one slab, or all of the class. */
void hak_mid_flush_slab(struct hak_heap *heap, struct hak_slab *slab);
void hak_mid_flush(struct hak_heap *heap, unsigned size_class);

/* A block of the class out of the cached ones, or NULL. */
HAK_INLINE void *hak_mid_alloc(struct hak_heap *heap, unsigned size_class)
{
    struct hak_mid *mid = &heap->mid[size_class - HAK_TINY_CLASSES];
    struct hak_slab *slab = mid->current;
    uint64_t cached = hak_load_relaxed(&slab->own_bits[2]);
    if (HAK_UNLIKELY(cached == 0))
        return NULL;
    mid->cached--;
    hak_store_relaxed(&slab->own_bits[2], cached & (cached - 1));
    if ((cached & (cached - 1)) == 0) /* without a cached block the slab can be stolen */
        mid->current = &hak_mid_no_slab;
    return (void *)(slab->first +
                    (uintptr_t)__builtin_ctzll(cached) * hak_size_classes[size_class].size);
}

/* Frees a block of the heap's own slab; aborts unless a block in use starts at p. */
void hak_mid_free(struct hak_heap *heap, uintptr_t p, const void *caller);

#endif
