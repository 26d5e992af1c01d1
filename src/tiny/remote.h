/* Remote frees that go to the slab: of blocks that have no outbox (tiny/inbox.h), or whose owner's inbox
 * is closed or full. A block never enters the freeing thread's magazine (that would share cache lines
 * between the threads for good); it waits in the thread's deferred map and goes back to its slab with
 * the others of its bitmap word, by one atomic or and one subtraction.
 *
 * The map is a direct-mapped table of bitmap words. An entry goes back when another word needs its
 * place; all of them when the blocks that they could hold exceed HAKMEM_REMOTE_BYTES, and at thread
 * exit. That bounds the map in blocks (64 an entry) and in bytes, without counting either per free.
 */
#ifndef HAK_TINY_REMOTE_H
#define HAK_TINY_REMOTE_H

#include "tiny/heap.h"

void hak_remote_init(struct hak_heap *heap);

/* What hak_remote_defer leaves over: no entry yet, another word's entry, or misuse (which aborts). */
void hak_remote_miss(struct hak_heap *heap, uintptr_t p, unsigned size_class, const void *caller);

/* Frees a block of any slab at once, without a map: mid blocks, threads without a heap, and every
 * block while every free is checked. */
void hak_remote_free_now(uintptr_t p, const void *caller);

/* Hands everything in the map back. */
void hak_remote_drain(struct hak_heap *heap);

enum {
    /* The low half of offset * inverse is below this for the start of a block, because the inverse
     * is at most 1 too large and an offset below 2^16, and above it for any other address, because
     * an eighth of the smallest step, 2^32 / HAK_TINY_MAX, is. */
    HAK_REMOTE_EXACT = 1 << 19,
};

/* The one place that the entry for a word of a unit may have: far from those of the neighbouring units,
 * whose slabs are often freed at the same time. */
HAK_INLINE uint32_t hak_remote_place(uint32_t unit, uint32_t word)
{
    return (unit * 9 + word) % HAK_DEFERRED;
}

/* Frees a Tiny block of another heap's slab, whose slabs are one unit. False: to be done by
 * hak_remote_miss. */
HAK_INLINE bool hak_remote_defer(struct hak_heap *heap, uintptr_t p, unsigned size_class)
{
    struct hak_deferred *map = &heap->deferred;
    uint64_t scaled = (p & (HAK_UNIT_BYTES - 1)) * map->inverse[size_class];
    if (HAK_UNLIKELY((uint32_t)scaled >= HAK_REMOTE_EXACT))
        return false;
    uint32_t index = (uint32_t)(scaled >> 32);
    uint32_t unit = (uint32_t)(p >> HAK_UNIT_SHIFT);
    uint32_t place = hak_remote_place(unit, index / 64);
    uint64_t mask = map->masks[place], bit = (uint64_t)1 << (index % 64);
    if (HAK_UNLIKELY(map->units[place] != unit || (mask & bit) != 0))
        return false;
    map->masks[place] = mask | bit;
    return true;
}

#endif
