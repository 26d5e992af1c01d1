/* Memory for the allocator's own structures: heaps, vectors, bitmaps, tables. Taken in pieces
 * rounded to a power of two from 16 B up, or to three quarters of one from 48 B up, kept in free lists by
 * that size, and never given back, so that metadata stays dense and type-stable. Lives outside the blocks.
 *
 * Source of memory: the boot arena of the first region, then the end of that region, then chunks of
 * its own. Reserved at start, it does not depend on what address space is left later.
 */
#ifndef HAK_SPACE_METADATA_H
#define HAK_SPACE_METADATA_H

#include "space/layout.h"

/* The alignment that every piece of at least that size has. */
enum { HAK_METADATA_ALIGN_MAX = 4096 };

/* Zeroed memory of at least bytes, aligned to the largest power of two that divides what bytes is rounded
 * to (at most HAK_METADATA_ALIGN_MAX); NULL when memory is out. Thread-safe; a leaf in the lock order. */
void *hak_metadata_alloc(size_t bytes);

/* Takes back a piece. bytes is what was asked for. */
void hak_metadata_free(void *p, size_t bytes);

/* Gives an unused committed range to the allocator: the boot arena. */
void hak_metadata_adopt(void *p, size_t bytes);

/* Gives a reserved range, not committed, from which chunks are taken before any is reserved anew. */
void hak_metadata_reserve(void *p, size_t bytes);

/* Bytes taken from the system so far. */
size_t hak_metadata_bytes(void);

void hak_metadata_fork_prepare(void);
void hak_metadata_fork_release(void);
void hak_metadata_fork_child(void);

#endif
