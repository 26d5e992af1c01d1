/*
 * hakmem.h - the C API of HAKMEM, a general-purpose memory allocator.
 *
 * Nothing here is needed to use HAKMEM: a program that runs on the library already gets its malloc,
 * free and operator new from it. These names are for programs that want to be sure which allocator
 * they talk to, and for what libc has no name for.
 *
 * Every function may be called from any thread at any time. Blocks are interchangeable: what
 * hakmem_malloc returns may be given to free, and the other way round, wherever free is HAKMEM's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HAKMEM_HAKMEM_H
#define HAKMEM_HAKMEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HAKMEM_VERSION_MAJOR 0
#define HAKMEM_VERSION_MINOR 1
#define HAKMEM_VERSION_PATCH 0

#if defined(__cplusplus)
#define HAKMEM_NOTHROW noexcept
extern "C" {
#else
#define HAKMEM_NOTHROW
#endif

#if defined(__GNUC__)
#define HAKMEM_ATTR(...) __attribute__((__VA_ARGS__))
#else
#define HAKMEM_ATTR(...)
#endif

/* ---- Allocation: the semantics of libc's functions of the same name ------------------------- */

/*
 * Allocates size bytes, aligned for any object that fits into them (16 bytes from 16 bytes on).
 * The contents are indeterminate. A size of 0 gives a unique pointer that may be freed. Returns
 * NULL and sets errno to ENOMEM when there is no memory or size exceeds PTRDIFF_MAX.
 */
void *hakmem_malloc(size_t size) HAKMEM_NOTHROW HAKMEM_ATTR(malloc, alloc_size(1));

/*
 * Allocates count * size bytes that are zero. Returns NULL and sets errno to ENOMEM when there is
 * no memory or the product overflows.
 */
void *hakmem_calloc(size_t count, size_t size) HAKMEM_NOTHROW HAKMEM_ATTR(malloc, alloc_size(1, 2));

/*
 * Changes the size of the block at p, keeping the contents up to the smaller of both sizes, and
 * returns where it is now. p NULL: like hakmem_malloc. size 0 and p not NULL: frees p and returns
 * NULL. Returns NULL and sets errno to ENOMEM, with the old block untouched, when there is no
 * memory.
 */
void *hakmem_realloc(void *p, size_t size) HAKMEM_NOTHROW HAKMEM_ATTR(alloc_size(2));

/* hakmem_realloc to count * size bytes; ENOMEM, with the old block untouched, on overflow. */
void *hakmem_reallocarray(void *p, size_t count, size_t size) HAKMEM_NOTHROW
    HAKMEM_ATTR(alloc_size(2, 3));

/*
 * Frees a block; NULL is ignored. errno is kept. What is not a live block ends the program with a
 * message on stderr and SIGABRT, at this call or soon after it; HAKMEM_CHECK=1 makes it this call.
 */
void hakmem_free(void *p) HAKMEM_NOTHROW;

/* hakmem_free with the size that was asked for (C23 free_sized). */
void hakmem_free_sized(void *p, size_t size) HAKMEM_NOTHROW;

/* hakmem_free with the alignment and size that were asked for (C23 free_aligned_sized). */
void hakmem_free_aligned_sized(void *p, size_t alignment, size_t size) HAKMEM_NOTHROW;

/*
 * Allocates size bytes at a multiple of alignment, which must be a power of two; size need not be
 * a multiple of it. Returns NULL and sets errno to EINVAL for another alignment, to ENOMEM when
 * there is no memory.
 */
void *hakmem_aligned_alloc(size_t alignment, size_t size) HAKMEM_NOTHROW
    HAKMEM_ATTR(malloc, alloc_size(2));

/*
 * The same, but an alignment that is not a power of two is rounded up to one; EINVAL only when
 * there is no such power.
 */
void *hakmem_memalign(size_t alignment, size_t size) HAKMEM_NOTHROW
    HAKMEM_ATTR(malloc, alloc_size(2));

/*
 * Stores size bytes at a multiple of alignment, a power of two and a multiple of sizeof(void *), in
 * *out. Returns 0, EINVAL or ENOMEM; on failure *out is kept, and errno is kept always.
 */
int hakmem_posix_memalign(void **out, size_t alignment, size_t size) HAKMEM_NOTHROW;

/* Allocates size bytes at a multiple of the page size. NULL and ENOMEM when there is no memory. */
void *hakmem_valloc(size_t size) HAKMEM_NOTHROW HAKMEM_ATTR(malloc, alloc_size(1));

/* The same with size rounded up to whole pages; ENOMEM when that overflows. */
void *hakmem_pvalloc(size_t size) HAKMEM_NOTHROW HAKMEM_ATTR(malloc);

/*
 * Number of bytes of the block at p that the program may use: at least what was asked for, and the
 * same for the life of the block. 0 for NULL.
 */
size_t hakmem_malloc_usable_size(const void *p) HAKMEM_NOTHROW;

/* ---- Heaps of the program's own -------------------------------------------------------------- */

/*
 * A heap holds blocks that can be given up all at once, and that have a limit of their own. Its
 * blocks share no 64 KiB of memory with those of malloc or of another heap.
 *
 * Any thread may use any heap; a heap's malloc takes a lock of the heap, its free does not. Blocks
 * are blocks: free, realloc and malloc_usable_size take them as well, from any thread, and realloc
 * leaves them in their heap. Every free of one is checked at once: a double free, a misaligned or
 * an interior pointer, or a block given to a heap that it is not in, ends the program with a message
 * and SIGABRT.
 */
struct hakmem_heap;

/*
 * Makes a heap. name, of which up to 31 bytes are kept, may be NULL. limit bounds the usable bytes
 * of its live blocks together (hakmem_heap_stats.used_bytes); 0: none. Memory that the heap holds
 * beyond them, for blocks to come, does not count. Returns NULL and sets errno to ENOMEM when there
 * is no memory.
 */
struct hakmem_heap *hakmem_heap_new(const char *name, size_t limit) HAKMEM_NOTHROW;

/*
 * Frees every block of the heap, and the heap; NULL is ignored. errno is kept. No thread may use the
 * heap or a block of it meanwhile or afterwards.
 *
 * Afterwards free, realloc or malloc_usable_size of such a block end the program with a message and
 * SIGABRT as long as its address was not handed out again. Certain, save by malloc_trim or when
 * memory runs short, for the last 16 MiB of destroyed slabs and the last 16 blocks above 1 MiB;
 * likely for what was destroyed before. A call with the destroyed heap itself ends the program in
 * the same way until hakmem_heap_new has made another one of it.
 */
void hakmem_heap_destroy(struct hakmem_heap *heap) HAKMEM_NOTHROW;

/* hakmem_malloc from the heap; ENOMEM also when the limit does not allow it. */
void *hakmem_heap_malloc(struct hakmem_heap *heap, size_t size) HAKMEM_NOTHROW
    HAKMEM_ATTR(malloc, alloc_size(2));

/* hakmem_calloc from the heap. */
void *hakmem_heap_calloc(struct hakmem_heap *heap, size_t count, size_t size) HAKMEM_NOTHROW
    HAKMEM_ATTR(malloc, alloc_size(2, 3));

/* hakmem_aligned_alloc from the heap. */
void *hakmem_heap_aligned_alloc(struct hakmem_heap *heap, size_t alignment,
                                size_t size) HAKMEM_NOTHROW HAKMEM_ATTR(malloc, alloc_size(3));

/* hakmem_realloc of a block of the heap, or of NULL. */
void *hakmem_heap_realloc(struct hakmem_heap *heap, void *p, size_t size) HAKMEM_NOTHROW
    HAKMEM_ATTR(alloc_size(3));

/* hakmem_free of a block that must be one of the heap's; NULL is ignored. errno is kept. */
void hakmem_heap_free(struct hakmem_heap *heap, void *p) HAKMEM_NOTHROW;

/* The heap that the block at p is in, NULL when it is in none, or p is NULL or no block. */
struct hakmem_heap *hakmem_heap_of(const void *p) HAKMEM_NOTHROW;

/* The name; valid until the heap is destroyed. */
const char *hakmem_heap_name(struct hakmem_heap *heap) HAKMEM_NOTHROW;

/* Figures of one heap. Grows like struct hakmem_stats. */
struct hakmem_heap_stats {
    size_t size;         /* in: sizeof(struct hakmem_heap_stats); out: bytes that were filled */
    uint64_t limit;      /* as given to hakmem_heap_new */
    uint64_t used_bytes; /* usable bytes of live blocks */
    uint64_t peak_bytes; /* the most that they were */
    uint64_t held_bytes; /* bytes that the heap has taken for them */
    uint64_t blocks;     /* live blocks */
    uint64_t refused;    /* requests that the limit refused */
};

/*
 * Fills *stats, whose `size` the caller has set. Exact while no other thread uses the heap. Returns
 * 0, or EINVAL when stats is NULL or size is too small to be a known one; errno is kept.
 */
int hakmem_heap_stats_get(struct hakmem_heap *heap,
                          struct hakmem_heap_stats *stats) HAKMEM_NOTHROW;

/* ---- Giving memory back ---------------------------------------------------------------------- */

/*
 * Gives freed memory back to the system at once, save about keep bytes: free memory of the process,
 * free pages among blocks in use, and what the calling thread caches. What other threads cache stays;
 * it is bounded, and unreached_bytes of hakmem_stats says how much it is. Returns 1 when there was
 * something to give back, 0 otherwise.
 */
int hakmem_malloc_trim(size_t keep) HAKMEM_NOTHROW;

/* hakmem_malloc_trim(0). */
int hakmem_purge(void) HAKMEM_NOTHROW;

/* ---- Looking at it --------------------------------------------------------------------------- */

/* Version of the library that runs, as "MAJOR.MINOR.PATCH"; a constant string. */
const char *hakmem_version(void) HAKMEM_NOTHROW HAKMEM_ATTR(const);

/*
 * 1 when p is an address in memory that HAKMEM handed out or may hand out, 0 otherwise. Any
 * value.
 */
int hakmem_owns(const void *p) HAKMEM_NOTHROW;

/*
 * Figures of the whole process. Later versions add fields at the end and never change one; `size`
 * tells both sides what the other one knows.
 */
struct hakmem_stats {
    size_t size;              /* in: sizeof(struct hakmem_stats); out: bytes that were filled */
    uint64_t superslab_bytes; /* bytes of SuperSlabs in use, from the system's view committed */
    uint64_t slab_bytes;      /* bytes of slabs that belong to a heap or hold live blocks */
    uint64_t used_bytes;      /* bytes of blocks in use, those in thread caches included */
    uint64_t large_bytes;     /* bytes of live direct mappings */
    uint64_t large_count;     /* number of them */
    uint64_t metadata_bytes;  /* bytes of the allocator's own bookkeeping */
    uint64_t heaps_live;      /* heaps that belong to a thread now */
    uint64_t heaps_made;      /* heaps that were ever made */
    uint64_t superslabs;      /* SuperSlabs in use */
    uint64_t superslabs_peak; /* the most there were at one time */
    uint64_t units_free;      /* units of 64 KiB in SuperSlabs that hold no slab */
    uint64_t purges;          /* times that memory was given back */
    uint64_t purged_bytes;    /* bytes that were given back, in all */
    uint64_t slabs_made;      /* slabs that were ever made */
    uint64_t unreached_bytes; /* in other threads' caches, where no purge reaches; about */
};

/*
 * Fills *stats, whose `size` the caller has set. The figures are gathered while other threads go
 * on, so they fit together only roughly. Returns 0, or EINVAL when stats is NULL or size is too
 * small to be a known one; errno is kept.
 */
int hakmem_stats_get(struct hakmem_stats *stats) HAKMEM_NOTHROW;

/* ---- glibc's statistics and tuning ----------------------------------------------------------- */

struct mallinfo;
struct mallinfo2;

/*
 * The figures in glibc's words (include <malloc.h> to call it): arena is the bytes of SuperSlabs,
 * uordblks and fordblks those of them in use and free, hblks and hblkhd number and bytes of large
 * mappings, ordblks the free units, keepcost their bytes.
 */
struct mallinfo2 hakmem_mallinfo2(void) HAKMEM_NOTHROW;

/* The older form with its int fields: what does not fit reads as INT_MAX. */
struct mallinfo hakmem_mallinfo(void) HAKMEM_NOTHROW;

/*
 * Writes the figures as XML, in the manner of glibc. Returns 0, EINVAL when options is not 0, or
 * EIO when the stream has an error.
 */
int hakmem_malloc_info(int options, FILE *stream) HAKMEM_NOTHROW;

/* Prints the figures on stderr. */
void hakmem_malloc_stats(void) HAKMEM_NOTHROW;

/*
 * Returns 1 for a parameter of <malloc.h> and 0 for any other. The values have no effect: HAKMEM's
 * own options are in docs/options.md.
 */
int hakmem_mallopt(int parameter, int value) HAKMEM_NOTHROW;

/* hakmem_free under a name that libc has given up. */
void hakmem_cfree(void *p) HAKMEM_NOTHROW;

/*
 * The last words of a process that HAKMEM aborted, for debuggers and core files; empty until then.
 */
extern char hakmem_abort_message[512];

#if defined(__cplusplus)
}
#endif

#endif
