/* Large: blocks above 1 MiB, or aligned to more than a unit, in mappings of their own. The first unit
 * is in the unit map and names a descriptor; nothing is stored beside the block. Freed mappings wait
 * in a bounded cache: a larger one is split, a smaller one grown by mremap, so that memory which is
 * there already is used before new pages are faulted in; the decay time empties it.
 *
 * All functions are thread-safe; one lock, never held across a system call. Every free is checked at
 * once.
 */
#ifndef HAK_LARGE_LARGE_H
#define HAK_LARGE_LARGE_H

#include "space/unit_map.h"

struct hak_large_totals {
    uint64_t live_bytes, live_count, cached_bytes;
};

/* Allocates size bytes (to PTRDIFF_MAX) at a multiple of align (a power of two). NULL when memory is
 * out. *zeroed: the block reads as zeros. */
void *hak_large_alloc(size_t size, size_t align, bool *zeroed);

/* The same for the user heap of that id. */
void *hak_large_alloc_owned(size_t size, size_t align, uint32_t owner, bool *zeroed);

/* The id of the user heap that the block is in, 0 for none; aborts when p starts no live block. */
uint32_t hak_large_owner(uintptr_t p, uint32_t word, const void *caller);

/* Ends all blocks of a user heap. Their memory goes at once; the addresses of the last few are kept from
 * being used again, until memory is short or trimmed. */
void hak_large_destroy_owned(uint32_t owner);

/* Frees the block that p starts. word: the unit-map word of p, of class HAK_CLASS_LARGE. */
void hak_large_free(uintptr_t p, uint32_t word, const void *caller);

/* Makes the block size bytes long, moving pages instead of copying where the address must change.
 * Returns the address, or NULL when the system refused, the block then unchanged. */
void *hak_large_resize(uintptr_t p, uint32_t word, size_t size, const void *caller);

/* Usable bytes; aborts when p does not start a live block. */
size_t hak_large_usable(uintptr_t p, uint32_t word, const void *caller);

/* Unmaps what has been in the cache for the decay time, or everything. Returns the bytes. */
size_t hak_large_purge(uint32_t now_ms, bool everything);

/* For messages: whether p lies in a live block (*inside) or starts one that was freed (*freed). */
void hak_large_diagnose(uintptr_t p, bool *inside, bool *freed);

void hak_large_totals_read(struct hak_large_totals *out);
void hak_large_acquire(void); /* the lock, for fork */
void hak_large_release(void);
void hak_large_fork_child(void);

#endif
