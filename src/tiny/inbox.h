/* Parcels: how most remote frees travel. A thread collects the Tiny blocks of one other heap and one
 * class in an outbox; when that is full, it goes to the heap's inbox as a parcel, and the heap takes
 * its blocks into a magazine. Neither side looks at a slab.
 *
 *   sender   hak_outbox_put      in core/malloc_slow.c: a compare, a store, a bump
 *            hak_outbox_full     hands the parcel over, by one compare-and-swap, and starts another
 *            hak_outbox_open     for a block whose heap and class have no outbox yet
 *   owner    hak_inbox_receive   when a magazine is empty or full: one exchange takes all parcels
 *
 * The inbox is a stack: senders push, and whoever takes takes everything, so there is no ABA. Its head
 * word is the address of the last parcel, with the number of parcels below it. HAK_INBOX_CLOSED
 * instead: nobody may push. That is so while the heap has no thread, and from when a sender finds the
 * inbox full until the heap's thread next receives. That sender takes the parcels and gives their
 * blocks back to the slabs, so that a sleeping owner keeps nothing back. What has no outbox goes the way
 * of tiny/remote.h.
 *
 * Lives. A heap is used again by another thread, and its slabs by other heaps; so every thread of a
 * heap is a life with a number of its own. A parcel has the number that was read before the unit map was
 * asked about its first block. A heap's slabs with used blocks leave it only when its life ends. So
 * the heap that receives a parcel of its present life knows that all blocks of it are its own, and of
 * the parcel's class, and looks none of them up. Any other parcel is emptied block by block.
 */
#ifndef HAK_TINY_INBOX_H
#define HAK_TINY_INBOX_H

#include "tiny/heap.h"

enum {
    HAK_PARCEL_BYTES = 512, /* to which a parcel is aligned */
    HAK_PARCEL_HEAD = 4,    /* slots before the blocks */
    HAK_PARCEL_BLOCKS = HAK_PARCEL_BYTES / 8 - HAK_PARCEL_HEAD,
    HAK_PARCEL_BLOCK_BYTES = 8 << 10, /* at most, of the blocks of a parcel together */
    HAK_INBOX_COUNT = HAK_PARCEL_BYTES - 1,
    HAK_INBOX_CLOSED = HAK_INBOX_COUNT,
};

/* Blocks fill it from some slot to the end, so that full shows in the address alone. Its memory is
 * metadata, and it goes back to the heap that made it. */
struct hak_parcel {
    struct hak_parcel *next; /* in a stack */
    struct hak_heap *home;
    uint64_t life;           /* of the heap that it is for */
    uint8_t size_class, first, count;
    uintptr_t blocks[HAK_PARCEL_BLOCKS];
};
_Static_assert(HAK_OUTBOX_SHIFT == 6, "the multiplier of hak_outbox_at is for 64");
_Static_assert(sizeof(struct hak_outbox) == 16, "hak_outbox_at shifts");
_Static_assert(sizeof(struct hak_parcel) == HAK_PARCEL_BYTES, "aligned to its size");

/* Makes the heap known to senders. False when memory is out. */
bool hak_inbox_init(struct hak_heap *heap);

/* A thread has taken the heap: a new life. */
void hak_inbox_start_life(struct hak_heap *heap);

/* Takes the parcels that have come, if any: their blocks go to magazines with room, or to the slabs. */
void hak_inbox_receive(struct hak_heap *heap, const void *caller);

/* Closes the owner's inbox and moves the blocks in it to the heap's deferred map. Any thread may, with
 * the heap that it has; the owner's opens the inbox again when it next receives. */
void hak_inbox_close(struct hak_heap *owner, struct hak_heap *heap, const void *caller);

/* The same for a heap of which a fork left nothing to rely on, without a heap to help. */
void hak_inbox_abandon(struct hak_heap *owner);

/* Opens an outbox for blocks like p, x being p's word ^ heap->id_word, and puts p in. False: p must go
 * by the deferred map. So must the first of its like: a parcel is for those who free many. */
bool hak_outbox_open(struct hak_heap *heap, uintptr_t p, uint32_t x, const void *caller);

/* Hands over the full outbox for the words that give x. */
void hak_outbox_full(struct hak_heap *heap, uint32_t x, const void *caller);

/* Moves the blocks of all outboxes to the deferred map. */
void hak_outbox_flush(struct hak_heap *heap);

/* The one place that the outbox for a heap and class may have. The classes of one heap, 0 to 32 in the
 * lowest byte of x, come to different places, each a little more than one after the other; heaps are
 * apart by the golden ratio of the table. The place is computed in bytes: compilers, given an index,
 * shift twice. */
HAK_INLINE struct hak_outbox *hak_outbox_at(struct hak_heap *heap, uint32_t x)
{
    uint32_t mask = (HAK_OUTBOXES - 1) * (uint32_t)sizeof(struct hak_outbox);
    uint32_t offset = x * 0x49e3779u >> (28 - HAK_OUTBOX_SHIFT) & mask;
    return (struct hak_outbox *)((char *)heap->out.at + offset);
}

/* Puts a block into the outbox for its heap and class. False: it has none (hak_outbox_open), or the
 * outbox is full now (hak_outbox_full); the key tells. */
HAK_INLINE bool hak_outbox_put(struct hak_heap *heap, uintptr_t p, uint32_t x)
{
    struct hak_outbox *box = hak_outbox_at(heap, x);
    if (HAK_UNLIKELY(box->key != x))
        return false;
    uintptr_t *top = box->top;
    *top = p;
    hak_bump(&box->top, 1);
    return ((uintptr_t)(top + 1) & (HAK_PARCEL_BYTES - 1)) != 0;
}

#endif
