/* The unit map: one 32-bit word a unit of 64 KiB of the whole address space, zero for what is not
 * ours. free() learns owner and size class from it by one load.
 *
 *   tiny slab   heap id << 8 | size class           (bits 31 and 30 clear)
 *   mid slab    the same | HAK_WORD_MID             (so that the fast path of free lets it pass)
 *   page run    HAK_WORD_SPECIAL | HAK_CLASS_RUN or HAK_CLASS_INSIDE
 *   large       HAK_WORD_SPECIAL | index << 8 | HAK_CLASS_LARGE (first unit only)
 *   gone        HAK_WORD_GONE: in a user heap until it was destroyed, not used again yet
 *
 * Ids of threads' heaps run from HAK_ID_FIRST to HAK_ID_LAST; HAK_ID_ORPHAN stands for "no heap". The
 * rest, from HAK_ID_USER_FIRST on, are those of user heaps, which the program makes and destroys. So bit
 * 29 marks what is a user heap's:
 *   slab        id << 8 | size class | HAK_WORD_MID, Tiny ones too: no free of them takes the fast path
 *               or is deferred
 *   page run    HAK_WORD_SPECIAL | id << 8 | HAK_CLASS_RUN
 *   large       HAK_WORD_USER on top of the usual; its descriptor has the id
 *
 * Two kinds. Absolute: a table of all 2^31 units, reserved as read-only zeros and made writable in
 * chunks, so that any address can be looked up without a test. Sparse: where the address space is
 * limited, a hash of the pieces of that table that are in use; the fast path then sees the single
 * word hak_unit_map_none and every free takes the slow exit, which knows both kinds.
 *
 * A word is written by whoever owns the unit at that time (the heap, or the thread that won a
 * claim), before a block of it is given out; the program's own synchronization carries it to other
 * threads along with the block.
 */
#ifndef HAK_SPACE_UNIT_MAP_H
#define HAK_SPACE_UNIT_MAP_H

#include "space/layout.h"

enum {
    HAK_ID_ORPHAN = 1,
    HAK_ID_FIRST = 2,
    HAK_ID_LAST = (1 << 21) - 1,
    HAK_ID_USER_FIRST = 1 << 21,
    HAK_ID_USER_LAST = (1 << 22) - 2, /* all bits set is what matches no heap: core/heap.c */
    HAK_CLASS_RUN = 0xfe,
    HAK_CLASS_INSIDE = 0xfd,
    HAK_CLASS_LARGE = 0xfc,
    HAK_CLASS_GONE = 0xfb,
};

#define HAK_WORD_TINY_END 0x40000000u
#define HAK_WORD_USER 0x20000000u
#define HAK_WORD_MID 0x80000000u
#define HAK_WORD_SPECIAL 0xc0000000u
#define HAK_WORD_RUN (HAK_WORD_SPECIAL | HAK_CLASS_RUN)
#define HAK_WORD_INSIDE (HAK_WORD_SPECIAL | HAK_CLASS_INSIDE)
#define HAK_WORD_GONE (HAK_WORD_SPECIAL | HAK_CLASS_GONE)

/* Whether a word is that of a slab, run or large block of a user heap. */
HAK_INLINE bool hak_word_is_user(uint32_t word)
{
    return (word & HAK_WORD_USER) != 0;
}

/* The id in the word of a slab, or of a user heap's run. */
HAK_INLINE uint32_t hak_word_id(uint32_t word)
{
    return (word & ~HAK_WORD_SPECIAL) >> 8;
}

struct hak_unit_map {
    const _Atomic uint32_t *words; /* absolute: the table; sparse: one zero word */
    uintptr_t mask;                /* of the unit number; 0 in the sparse kind */
};
extern struct hak_unit_map hak_unit_map;
extern const _Atomic uint32_t hak_unit_map_none;

/* Reserves the table. False when there is no memory at all. Called once, under the init lock. */
bool hak_unit_map_init(bool sparse);

uint32_t hak_unit_map_get_sparse(uintptr_t p);

/* The word of any address whatsoever, 0 for what is not ours. Any thread, no lock. */
HAK_INLINE uint32_t hak_unit_map_get(uintptr_t p)
{
    if (HAK_UNLIKELY(p >> HAK_ADDRESS_BITS != 0))
        return 0;
    if (HAK_LIKELY(hak_unit_map.mask != 0))
        return hak_load_relaxed(&hak_unit_map.words[p >> HAK_UNIT_SHIFT]);
    return hak_unit_map_get_sparse(p);
}

/* Makes the words of [p, p + bytes) writable. False (ENOMEM) when memory is out. */
bool hak_unit_map_prepare(uintptr_t p, size_t bytes);

/* Sets the words of n units from p on, which hak_unit_map_prepare covered before. */
void hak_unit_map_set(uintptr_t p, size_t n, uint32_t word);

void hak_unit_map_fork_prepare(void);
void hak_unit_map_fork_release(void);
void hak_unit_map_fork_child(void);

#endif
