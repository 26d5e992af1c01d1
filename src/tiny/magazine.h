/* Magazines: a heap's short array of free block addresses of one class, and how it is filled from
 * and emptied into slabs. Push and pop are inline in core/fast_path.h; what is here is every slow
 * exit of them. Called by the heap's own thread only.
 *
 *   slot    0    1    2    3    4  ...  n-1
 *         | 0  | p1 | p2 | p3 |    |     |  |
 *                             ^top           ^aligned end: (top & mask) == 0, full
 *
 * Oldest at the bottom. Refill stores addresses descending, so that the lowest is popped first.
 */
#ifndef HAK_TINY_MAGAZINE_H
#define HAK_TINY_MAGAZINE_H

#include "tiny/heap.h"

HAK_INLINE uintptr_t *hak_magazine_base(const struct hak_heap *heap, unsigned c)
{
    return (uintptr_t *)(((uintptr_t)heap->top[c] - 1) & ~(uintptr_t)heap->mask[c]);
}

/* Blocks in the magazine. */
HAK_INLINE uint32_t hak_magazine_count(const struct hak_heap *heap, unsigned c)
{
    return (uint32_t)(heap->top[c] - hak_magazine_base(heap, c)) - 1;
}

HAK_INLINE uint32_t hak_magazine_capacity(const struct hak_heap *heap, unsigned c)
{
    return (heap->mask[c] + 1) / (uint32_t)sizeof(uintptr_t) - 1;
}

/* Gets one block of the class and, unless only_one, fills a part of the empty magazine. NULL when
 * memory is out (errno is the caller's business). */
void *hak_magazine_refill(struct hak_heap *heap, unsigned c, bool only_one);

/* Returns the n oldest blocks of the magazine to their slabs, after checking each: a misaligned or
 * interior pointer or a block free already aborts. caller: for the message, or NULL. */
void hak_magazine_flush(struct hak_heap *heap, unsigned c, uint32_t n, const void *caller);

/* Takes n blocks of the heap's slabs into the magazine, as far as it has room; the others go back to
 * their slabs, checked like those of a flush. */
void hak_magazine_put(struct hak_heap *heap, unsigned c, const uintptr_t *blocks, uint32_t n,
                      const void *caller);

/* Makes room for one block in a full magazine: by growing it, or by flushing its oldest half. */
void hak_magazine_make_room(struct hak_heap *heap, unsigned c, const void *caller);

/* Sets a heap's empty magazine up, in the heap's own slots. */
void hak_magazine_init(struct hak_heap *heap, unsigned c);

/* A slab of the class, the heap's own or acquired, claimed for want blocks; NULL when memory is out.
 * To be ended by hak_magazine_unclaim with the number of blocks taken. */
struct hak_slab *hak_magazine_claim(struct hak_heap *heap, unsigned c, uint32_t want);
void hak_magazine_unclaim(struct hak_heap *heap, struct hak_slab *slab, uint32_t want, uint32_t got);

/* Accounts for n blocks of an own slab whose free bits were set; an emptied slab goes to the warm pool
 * or is handed on. */
void hak_magazine_return_blocks(struct hak_heap *heap, struct hak_slab *slab, uint32_t n);

/* Returns a single checked block straight to its slab. */
void hak_magazine_return(struct hak_heap *heap, uintptr_t p, const void *caller);

/* Gives the warm pool's empty slab of the class to the shared pool. */
void hak_magazine_drop_warm(struct hak_heap *heap, unsigned c);

/* Index of the block at p, after checking that a block of the slab starts there; aborts if not. */
uint32_t hak_block_checked(const struct hak_slab *slab, uintptr_t p, const void *caller);

#endif
