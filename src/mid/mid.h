/* Mid: blocks above 1 KiB to 32 KiB. The same slabs as Tiny, and magazines as well, but each block in a
 * magazine also has its bit set in a third bitmap of its slab, the cached bits; a mid slab has at most
 * 64 blocks, so each bitmap is one word. The three together say of every block whether it is in use, so
 * every free is checked at once, by any thread. Cached blocks count as used.
 *
 * Called from the slow exits of malloc and free, by the heap's own thread.
 */
#ifndef HAK_MID_MID_H
#define HAK_MID_MID_H

#include "tiny/heap.h"

/* Sets a class up. */
void hak_mid_init(struct hak_heap *heap, unsigned size_class);

/* A block of the class; fills a part of the magazine if it is empty. NULL when memory is out. */
void *hak_mid_alloc(struct hak_heap *heap, unsigned size_class);

/* Gives all blocks in the magazine back to their slabs. */
void hak_mid_flush(struct hak_heap *heap, unsigned size_class);

HAK_INLINE struct hak_mid *hak_mid_of(struct hak_heap *heap, unsigned size_class)
{
    return &heap->mid[size_class - HAK_TINY_CLASSES];
}

HAK_INLINE struct hak_slab *hak_mid_slot_slab(uintptr_t slot)
{
    return (struct hak_slab *)(slot & -sizeof(struct hak_slab));
}

HAK_INLINE unsigned hak_mid_slot_index(uintptr_t slot)
{
    return slot % sizeof(struct hak_slab);
}

/* The block freed last of a magazine that is not empty. */
HAK_INLINE void *hak_mid_pop(struct hak_mid *mid)
{
    uint32_t count = mid->count - 1u;
    uintptr_t slot = mid->slots[count];
    struct hak_slab *slab = hak_mid_slot_slab(slot);
    unsigned index = hak_mid_slot_index(slot);
    mid->count = (uint8_t)count;
    hak_store_relaxed(&slab->own_bits[2],
                      hak_load_relaxed(&slab->own_bits[2]) & ~((uint64_t)1 << index));
    return (void *)(slab->first + (size_t)index * mid->size);
}

/* Puts a block in use into the magazine, which has room. The bit first: a fork in between then loses
 * the block, and nothing else. */
HAK_INLINE void hak_mid_push(struct hak_mid *mid, struct hak_slab *slab, uintptr_t index,
                             uint64_t cached)
{
    uint32_t count = mid->count;
    hak_store_relaxed(&slab->own_bits[2], cached | (uint64_t)1 << (index & 63));
    mid->slots[count] = (uintptr_t)slab + index;
    mid->count = (uint8_t)(count + 1);
}

/* Frees a block of the heap's own slab of that class. False, with nothing done: to be done by
 * hak_mid_free_slow. */
HAK_INLINE bool hak_mid_free(struct hak_heap *heap, uintptr_t p, unsigned size_class)
{
    struct hak_slab *slab = hak_slab_of(p);
    struct hak_mid *mid = hak_mid_of(heap, size_class);
    size_t offset = p - slab->first;
    uint32_t index = (uint32_t)((offset >> 3) * mid->inverse >> 32);
    uint64_t cached = hak_load_relaxed(&slab->own_bits[2]);
    uint64_t out = hak_load_relaxed(&slab->own_bits[0]) | hak_load_relaxed(&slab->own_bits[1]);
    /* What would be blocks behind the last one has its cached bits set for good. */
    if (HAK_UNLIKELY(index * mid->size != offset || ((cached | out) >> (index & 63) & 1) != 0 ||
                     mid->count >= mid->limit))
        return false;
    hak_mid_push(mid, slab, index, cached);
    return true;
}

/* The same with a full magazine, or with misuse: aborts unless a block in use starts at p. */
void hak_mid_free_slow(struct hak_heap *heap, uintptr_t p, unsigned size_class, const void *caller);

#endif
