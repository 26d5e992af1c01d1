/* The fast path of malloc and free: all that a call costs when nothing is missing.
 *
 *   hak_malloc_inline
 *     magazine empty, size > 1 KiB, no heap   -> slow: hak_malloc_slow
 *   hak_free_inline
 *     the block freed last once more, magazine full -> hak_free_full
 *     not mine, mid, run, large, null, foreign      -> hak_free_other
 *
 * The slow exits are tail calls, so the fast path has no stack frame, and they get what it knows
 * in registers.
 */
#ifndef HAK_CORE_FAST_PATH_H
#define HAK_CORE_FAST_PATH_H

#include "tiny/heap.h"

void *hak_malloc_slow(size_t size, struct hak_heap *heap);

/* A Tiny block of the heap's own, of class c. */
void hak_free_full(void *p, struct hak_heap *heap, uintptr_t c);

/* Any other pointer; x: its unit-map word ^ heap->id_word. */
void hak_free_other(void *p, struct hak_heap *heap, uintptr_t x);

HAK_INLINE void *hak_malloc_inline(size_t size, void *(*slow)(size_t, struct hak_heap *))
{
    struct hak_heap *heap = hak_tls_heap;
    if (HAK_LIKELY(size <= HAK_TINY_MAX)) {
        size_t c = heap->class_of[(size + 7) >> HAK_CLASS_STEP_SHIFT];
        uintptr_t block = heap->top[c][-1];
        if (HAK_LIKELY(block != 0)) {
            hak_bump(&heap->top[c], -1);
            return (void *)block;
        }
    }
    return slow(size, heap);
}

HAK_INLINE void hak_free_inline(void *p)
{
    struct hak_heap *heap = hak_tls_heap;
    uintptr_t unit = (uintptr_t)p >> HAK_UNIT_SHIFT & heap->map_mask;
    uintptr_t c = hak_load_relaxed(&heap->map[unit]) ^ heap->id_word;
    if (HAK_UNLIKELY(c >= 256)) {
        hak_free_other(p, heap, c);
        return;
    }
    uintptr_t *top = heap->top[c];
    if (HAK_UNLIKELY(top[-1] == (uintptr_t)p || ((uintptr_t)top & heap->mask[c]) == 0)) {
        hak_free_full(p, heap, c);
        return;
    }
    *top = (uintptr_t)p;
    hak_bump(&heap->top[c], 1);
}

#endif
