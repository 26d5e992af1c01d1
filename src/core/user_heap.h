/* User heaps: heaps that the program makes, fills and destroys as a whole (hakmem_heap_new in the C API).
 *
 *   A heap has slabs, runs and large mappings of its own; nothing of it is in a thread's caches. So every
 *   block is either in use or free in its slab's bitmaps, every free is checked at once, and destroying
 *   the heap has nobody else's books to correct.
 *   Its words in the unit map (space/unit_map.h) send every free of its blocks to the slow exit, and from
 *   there to hak_user_heap_release. The fast path does not know of it.
 *
 *   taking a block: under the heap's lock, as the owner of its slabs in docs/protocol.md
 *   giving it back: by any thread without that lock, as a remote free
 *   destroying:     by any thread; nobody else uses the heap or its blocks then
 *
 * A struct hak_user_heap stays one for the life of the process, so a pointer to a destroyed heap is found
 * out until the next heap is made of it. caller is for messages.
 */
#ifndef HAK_CORE_USER_HEAP_H
#define HAK_CORE_USER_HEAP_H

#include "base/attr.h"

enum { HAK_USER_HEAP_NAME = 32 }; /* bytes of a name, its end included */

struct hak_user_heap;

struct hak_user_heap_totals {
    uint64_t limit;      /* 0: none */
    uint64_t used_bytes; /* usable bytes of blocks in use; what the limit is of */
    uint64_t peak_bytes; /* the most that used_bytes was */
    uint64_t held_bytes; /* of slabs, runs and large mappings */
    uint64_t blocks;     /* in use */
    uint64_t refused;    /* requests that the limit refused */
};

/* limit 0: none. NULL when memory is out (errno is the caller's business). */
struct hak_user_heap *hak_user_heap_new(const char *name, size_t limit);
void hak_user_heap_destroy(struct hak_user_heap *heap, const void *caller);

/* size bytes at a multiple of align (a power of two; 1: what malloc gives). *zeroed: they read as zeros.
 * NULL and ENOMEM at the limit and when there is no memory. */
void *hak_user_heap_alloc(struct hak_user_heap *heap, size_t size, size_t align, bool *zeroed,
                          const void *caller);

/* realloc of a block of the heap, p not 0, within the heap. word: p's in the unit map. */
void *hak_user_heap_resize(struct hak_user_heap *heap, uintptr_t p, uint32_t word, size_t size,
                           const void *caller);

/* Frees the block that p starts, which is in the heap. */
void hak_user_heap_release(struct hak_user_heap *heap, uintptr_t p, uint32_t word,
                           const void *caller);

/* Aborts unless p lies in the heap; its word. */
uint32_t hak_user_heap_check(struct hak_user_heap *heap, uintptr_t p, const void *caller);

/* The heap that p, of such a word, is in. */
struct hak_user_heap *hak_user_heap_of(uintptr_t p, uint32_t word, const void *caller);

const char *hak_user_heap_name(struct hak_user_heap *heap, const void *caller);
void hak_user_heap_totals(struct hak_user_heap *heap, struct hak_user_heap_totals *out,
                          const void *caller);

void hak_user_heap_fork_prepare(void);
void hak_user_heap_fork_parent(void);
void hak_user_heap_fork_child(void);

#endif
