/*
 * A ring for one writer and one reader: how workloads hand blocks from thread to thread without an
 * allocator or a lock of their own in the way.
 *
 * Synchronization: `written` is stored by the writer alone, `read` by the reader alone, both with
 * release; each loads the other's with acquire.
 */
#ifndef HAKMEM_BENCH_RING_H
#define HAKMEM_BENCH_RING_H

#include "common.h"

#include <sched.h>
#include <stdatomic.h>

enum { RING_PLACES = 1024 };

struct ring {
    _Alignas(64) _Atomic uint64_t written;
    _Alignas(64) _Atomic uint64_t read;
    _Alignas(64) void *places[RING_PLACES];
};

static inline bool
ring_put(struct ring *ring, void *block)
{
    uint64_t at = atomic_load_explicit(&ring->written, memory_order_relaxed);
    if (at - atomic_load_explicit(&ring->read, memory_order_acquire) == RING_PLACES) {
        return false;
    }
    ring->places[at % RING_PLACES] = block;
    atomic_store_explicit(&ring->written, at + 1, memory_order_release);
    return true;
}

/* NULL if the ring is empty. */
static inline void *
ring_take(struct ring *ring)
{
    uint64_t at = atomic_load_explicit(&ring->read, memory_order_relaxed);
    if (at == atomic_load_explicit(&ring->written, memory_order_acquire)) {
        return NULL;
    }
    void *block = ring->places[at % RING_PLACES];
    atomic_store_explicit(&ring->read, at + 1, memory_order_release);
    return block;
}

#endif
