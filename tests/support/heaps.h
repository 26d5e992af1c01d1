/*
 * hakmem.h for tests of heaps. A program that gets the library by LD_PRELOAD is not linked with it: its
 * references are weak and filled when it is loaded.
 */
#ifndef HAKMEM_TESTS_HEAPS_H
#define HAKMEM_TESTS_HEAPS_H

#include <hakmem/hakmem.h>

#ifdef TEST_WAY_PRELOAD
#pragma weak hakmem_heap_new
#pragma weak hakmem_heap_destroy
#pragma weak hakmem_heap_malloc
#pragma weak hakmem_heap_calloc
#pragma weak hakmem_heap_aligned_alloc
#pragma weak hakmem_heap_realloc
#pragma weak hakmem_heap_free
#pragma weak hakmem_heap_of
#pragma weak hakmem_heap_name
#pragma weak hakmem_heap_stats_get
#pragma weak hakmem_stats_get
#pragma weak hakmem_owns
#endif

#endif
