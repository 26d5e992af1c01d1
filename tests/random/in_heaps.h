/*
 * With TEST_IN_HEAPS the model's blocks come from heaps, in turn, where a heap has the call; they are freed
 * and resized as blocks of malloc are.
 */
#ifndef HAKMEM_TESTS_IN_HEAPS_H
#define HAKMEM_TESTS_IN_HEAPS_H

#ifdef TEST_IN_HEAPS
enum { MODEL_HEAPS = 3 };
extern struct hakmem_heap *model_heaps[MODEL_HEAPS];

static inline struct hakmem_heap *next_heap(void)
{
    static _Thread_local unsigned turn;
    return model_heaps[turn++ % MODEL_HEAPS];
}

#undef malloc
#undef calloc
#undef memalign
#undef aligned_alloc
#define malloc(n) hakmem_heap_malloc(next_heap(), n)
#define calloc(n, s) hakmem_heap_calloc(next_heap(), n, s)
#define memalign(a, n) hakmem_heap_aligned_alloc(next_heap(), a, n)
#define aligned_alloc(a, n) hakmem_heap_aligned_alloc(next_heap(), a, n)
#endif

#endif
