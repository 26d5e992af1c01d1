/* Slabs: one or more units of one size class, with the bitmaps of their free blocks kept outside.
 * Called by refill, flush, remote drain, thread exit and the mid tier.
 *
 * The protocol (docs/protocol.md; checked exhaustively by tests/model) rests on one atomic word:
 *
 *   63      40 39   35 34  33   32   31            0
 *   | owner   |       | kind | busy | used           |
 *
 *   used  blocks not returned to the bitmaps: those of the program, of magazines, outboxes, inboxes
 *         and deferred maps
 *   busy  somebody takes bits (refill) or reads them to purge pages; excludes the other of the two
 *   kind  NONE (no slab), OWNED (by the heap `owner`), ORPHAN (in the shared pool, owner 0)
 *
 * free_bits are set by the owner (flush) and cleared by it under busy (refill). remote_bits are set by
 * anyone (atomic or) and moved to free_bits by the owner under busy. A block is returned in the
 * order bit, then used: so used == 0 means that every bit is set, and whoever brings it there may
 * try to steal the slab. Once used is subtracted the slab is touched no more unless the steal is won.
 */
#ifndef HAK_TINY_SLAB_H
#define HAK_TINY_SLAB_H

#include "base/bits.h"
#include "base/check.h"
#include "space/region.h"
#include "space/unit_map.h"
#include "tiny/size_class.h"

enum hak_slab_kind { HAK_SLAB_NONE, HAK_SLAB_OWNED, HAK_SLAB_ORPHAN };

#define HAK_SLAB_BUSY ((uint64_t)1 << 32)
#define HAK_SLAB_KIND_SHIFT 33
#define HAK_SLAB_OWNER_SHIFT 40
#define HAK_SLAB_USED_MASK 0xffffffffull

HAK_INLINE uint64_t hak_slab_state(uint32_t owner, enum hak_slab_kind kind, uint32_t used)
{
    return (uint64_t)owner << HAK_SLAB_OWNER_SHIFT | (uint64_t)kind << HAK_SLAB_KIND_SHIFT | used;
}

HAK_INLINE uint32_t hak_state_used(uint64_t state)
{
    return (uint32_t)(state & HAK_SLAB_USED_MASK);
}

/* Owner and kind, in place. */
HAK_INLINE uint64_t hak_state_identity(uint64_t state)
{
    return state & ~(HAK_SLAB_USED_MASK | HAK_SLAB_BUSY);
}

HAK_INLINE bool hak_slab_owned_by(uint64_t state, uint32_t owner)
{
    return hak_state_identity(state) == hak_slab_state(owner, HAK_SLAB_OWNED, 0);
}

HAK_INLINE _Atomic uint64_t *hak_slab_free_bits(struct hak_slab *slab)
{
    return hak_load_relaxed(&slab->bits);
}

HAK_INLINE _Atomic uint64_t *hak_slab_remote_bits(struct hak_slab *slab,
                                                  const struct hak_size_class *c)
{
    return hak_slab_free_bits(slab) + c->words;
}

/* Where the blocks of the slab that p lies in start. */
HAK_INLINE uintptr_t hak_slab_first_block(uintptr_t p)
{
    struct hak_slab *unit = hak_unit_of(p);
    return (p & ~(HAK_UNIT_BYTES - 1)) - ((uintptr_t)hak_load_relaxed(&unit->back) << HAK_UNIT_SHIFT);
}

/* Number of blocks. */
HAK_INLINE uint32_t hak_slab_capacity(const struct hak_slab *slab)
{
    return hak_size_classes[slab->size_class].capacity;
}

enum hak_claim { HAK_CLAIM_WON, HAK_CLAIM_BUSY, HAK_CLAIM_LOST };

/* Claims k blocks of a slab for its owner to take bits: busy set, used raised by k. LOST: the slab is
 * not the owner's any more. */
enum hak_claim hak_slab_claim(struct hak_slab *slab, uint32_t owner, uint32_t k);

/* Ends a claim of which `unused` blocks were not taken; returns the new state. */
uint64_t hak_slab_unclaim(struct hak_slab *slab, uint32_t unused);

/* Takes up to want of the lowest free blocks; needs the claim. Stores them downwards from end[-1], the
 * lowest first. Merges the remote bits when the owner's do not suffice. Returns how many. A block free
 * twice aborts. */
uint32_t hak_slab_take(struct hak_slab *slab, uint32_t want, uintptr_t *end);

/* The same for the lowest free block alone; 0 when there is none. */
HAK_INLINE uintptr_t hak_slab_take_one(struct hak_slab *slab)
{
    _Atomic uint64_t *bits = &hak_slab_free_bits(slab)[slab->first_word];
    uint64_t word = hak_load_relaxed(bits);
    uintptr_t block = 0;
    if (HAK_UNLIKELY(word == 0))
        return hak_slab_take(slab, 1, &block + 1) != 0 ? block : 0;
    hak_store_relaxed(bits, word & (word - 1));
    uint32_t index = slab->first_word * 64u + (uint32_t)__builtin_ctzll(word);
    return slab->first + (size_t)index * hak_size_classes[slab->size_class].size;
}

/* The same for a slab of at most 64 blocks; returns the blocks as a mask. */
uint64_t hak_slab_take_mask(struct hak_slab *slab, uint32_t want);

/* Subtracts n returned blocks, whose bits are set; returns the new state. */
HAK_INLINE uint64_t hak_slab_return(struct hak_slab *slab, uint32_t n)
{
    return atomic_fetch_sub_explicit(&slab->state, n, memory_order_acq_rel) - n;
}

/* Tries to take an owned slab with used == 0 out of use, as anyone may. The winner, and nobody else,
 * then calls hak_slab_retire. */
bool hak_slab_steal(struct hak_slab *slab);

/* Gives the units of a stolen slab to the shared pool. */
void hak_slab_retire(struct hak_slab *slab);

/* What a remote thread does after its subtraction showed used == 0: steal the slab, or take it off
 * the list of orphans, and retire it; nothing if somebody else deals with it. */
void hak_slab_emptied(struct hak_slab *slab, uint64_t state);

/* A slab for the class: an orphan, unless a user heap asks, or made of fresh units. Returned claimed (busy) with used raised
 * by k, owned by `owner`, the unit map set. NULL (ENOMEM) when memory is out. */
struct hak_slab *hak_slab_acquire(unsigned size_class, uint32_t owner, uint32_t k);

/* Makes an owned slab an orphan, or retires it if it is empty. At thread exit. */
void hak_slab_abandon(struct hak_slab *slab, uint32_t owner);

/* Purge in use: the claim of a purge (tiny/purge.c), under the purge lock. False: busy, or no slab in
 * use. Nobody who has one may take the pool lock. To be ended by hak_slab_purge_end, which hands the slab
 * on if it was emptied meanwhile. */
bool hak_slab_purge_begin(struct hak_slab *slab);
void hak_slab_purge_end(struct hak_slab *slab);

/* Of a slab claimed for a purge: a hash of which blocks are free, and the bytes of the pages that hold
 * free blocks only. */
uint32_t hak_slab_purgeable(const struct hak_slab *slab, size_t *bytes);

/* Gives these pages back; returns the bytes. */
size_t hak_slab_purge_pages(const struct hak_slab *slab);

/* The word of the unit map for a slab of the class owned by id. */
HAK_INLINE uint32_t hak_slab_word(unsigned size_class, uint32_t id)
{
    bool mid = size_class >= HAK_TINY_CLASSES || id >= HAK_ID_USER_FIRST;
    return id << 8 | size_class | (mid ? HAK_WORD_MID : 0);
}

/* Whether a block's bits say that it is free or, in a mid slab, cached. The truth for mid slabs, and for
 * all while every free is checked; otherwise blocks in magazines and maps are not seen. */
HAK_INLINE bool hak_block_is_free(struct hak_slab *slab, uint32_t index)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    uint64_t bits = hak_load_relaxed(&hak_slab_free_bits(slab)[index / 64]) |
                    hak_load_relaxed(&hak_slab_remote_bits(slab, c)[index / 64]);
    if (slab->size_class >= HAK_TINY_CLASSES)
        bits |= hak_load_relaxed(&slab->own_bits[2]);
    return bits >> (index % 64) & 1;
}

/* Blocks of a mid slab that its owner's magazine holds; 0 for Tiny. */
HAK_INLINE uint32_t hak_slab_cached(const struct hak_slab *slab, const struct hak_size_class *c)
{
    if (c->size <= HAK_TINY_MAX)
        return 0;
    uint64_t blocks = c->capacity >= 64 ? UINT64_MAX : ((uint64_t)1 << c->capacity) - 1;
    return hak_popcount(hak_load_relaxed(&slab->own_bits[2]) & blocks);
}

/* Slabs made of fresh units since the start. */
uint64_t hak_slabs_made(void);

#endif
