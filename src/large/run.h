/* L2.5: blocks above 32 KiB to 1 MiB, as runs of whole units inside SuperSlabs. A run belongs to no
 * heap; the short ones are cached by the thread that frees them. Its memory is what its pages hold:
 * the pages of the last unit beyond the block are never touched, so only address space is rounded to
 * units. Every free is checked at once.
 */
#ifndef HAK_LARGE_RUN_H
#define HAK_LARGE_RUN_H

#include "tiny/heap.h"

enum { HAK_RUN_MAX = 1 << 20 }; /* bytes */

/* Allocates size bytes (HAK_MID_MAX < size <= HAK_RUN_MAX), 64 KiB-aligned. heap may be one that is
 * not real. *zeroed: the block reads as zeros. NULL when memory is out. */
void *hak_run_alloc(struct hak_heap *heap, size_t size, bool *zeroed);

/* Frees the run that p starts; aborts when p is inside one or it is free. word: p's unit-map word. */
void hak_run_free(struct hak_heap *heap, uintptr_t p, uint32_t word, const void *caller);

/* Changes the length in place, to within the limits of hak_run_alloc. False when it cannot. */
bool hak_run_resize(uintptr_t p, size_t size);

/* Usable bytes; aborts like hak_run_free. */
size_t hak_run_usable(uintptr_t p, uint32_t word, const void *caller);

/* Gives the heap's cached runs back to the pool. */
void hak_run_cache_flush(struct hak_heap *heap);

#endif
