/* What the allocator does, for src/api and src/report. Every function may be called by any thread at
 * any time, before libc's constructors and in a thread's last destructors included. Pointers are
 * those given out here, or NULL; anything else ends in hak_misuse_abort.
 */
#ifndef HAK_CORE_CORE_H
#define HAK_CORE_CORE_H

#include "base/attr.h"

/* size bytes aligned for any object of that size; NULL and ENOMEM when there is no memory or size is
 * above PTRDIFF_MAX. A size of 0 gives a block of its own. */
void *hak_malloc(size_t size);

/* Keeps errno. */
void hak_free(void *p);

/* count * size zeroed bytes; ENOMEM when the product overflows. */
void *hak_calloc(size_t count, size_t size);

/* Like glibc's: NULL allocates, a size of 0 frees and returns NULL; on ENOMEM p stays valid. */
void *hak_realloc(void *p, size_t size);

/* align: a power of two. */
void *hak_aligned(size_t align, size_t size);

/* Bytes that may be used from p on, stable for the life of the block; p is not NULL. */
size_t hak_usable_size(const void *p);

/* Whether p lies in memory that the allocator has given out units for; never aborts. */
bool hak_owns(const void *p);

/* Gives back what this thread and the process cache beyond keep bytes; true if anything went. */
bool hak_trim(size_t keep);

#endif
