/* Birth, death and registry of heaps, and the start of the process's allocator. */
#ifndef HAK_CORE_HEAP_H
#define HAK_CORE_HEAP_H

#include "tiny/heap.h"

/* Makes the allocator ready; true when it is. Idempotent and thread-safe. */
bool hak_init(void);

/* Gives the calling thread, which has none, a heap: one of a thread that exited, or a new one. NULL
 * when memory is out. A heap is armed to be given up when the thread exits. */
struct hak_heap *hak_heap_attach(void);

/* The heap for threads whose own is gone. Returns with its lock held, or NULL. */
struct hak_heap *hak_heap_late_acquire(void);
void hak_heap_late_release(void);

/* Gives back what a heap caches in blocks: magazines, inbox, outboxes, deferred map, run cache. Closes the
 * inbox. */
void hak_heap_flush(struct hak_heap *heap);

/* Gives the system what no block needs, for when memory or address space is short. */
void hak_heap_reclaim(void);

/* The exit hook of a thread; value is its heap. */
void hak_heap_thread_exit(void *value);

/* Bytes of blocks and runs in the caches of all heaps but the caller's. Their owners go on meanwhile. */
uint64_t hak_heap_cached_elsewhere(void);

void hak_heap_counts(uint64_t *live, uint64_t *made);

void hak_heap_fork_prepare(void);
void hak_heap_fork_parent(void);
void hak_heap_fork_child(void);

#endif
