/*
 * Parcels: blocks with a stamp of their sender, and rings to hand them from thread to thread.
 *
 * A ring has one sender and one receiver and orders them by acquire and release alone, so that a
 * race inside the allocator is not hidden from ThreadSanitizer by a lock of the test.
 */
#ifndef HAKMEM_TESTS_PARCEL_H
#define HAKMEM_TESTS_PARCEL_H

#include "api.h"
#include "pattern.h"

#include <sched.h>
#include <stdatomic.h>

struct parcel {
    void *block;
    size_t size;
    uint64_t stamp;
};

static inline struct parcel parcel_make(size_t size, unsigned owner, uint64_t sequence)
{
    struct parcel parcel = {malloc(size), size, (uint64_t)owner << 48 | sequence};
    CHECK_THAT(parcel.block != NULL, "size %zu, thread %u", size, owner);
    CHECK(malloc_usable_size(parcel.block) >= size);
    pattern_fill(parcel.block, size, parcel.stamp);
    return parcel;
}

static inline void parcel_check(const struct parcel *parcel)
{
    size_t at = pattern_first_difference(parcel->block, parcel->size, parcel->stamp);
    CHECK_THAT(at == parcel->size, "%p of %zu bytes from thread %u, number %llu: byte %zu differs",
               parcel->block, parcel->size, (unsigned)(parcel->stamp >> 48),
               (unsigned long long)(parcel->stamp & 0xffffffffffffu), at);
}

static inline void parcel_free(struct parcel *parcel)
{
    parcel_check(parcel);
    free(parcel->block);
    parcel->block = NULL;
}

/* Grows or cuts the block, checks what must have been kept, and stamps the whole of it again. */
static inline void parcel_resize(struct parcel *parcel, size_t size)
{
    parcel_check(parcel);
    size_t kept = size < parcel->size ? size : parcel->size;
    parcel->block = realloc(parcel->block, size);
    CHECK_THAT(parcel->block != NULL, "size %zu", size);
    size_t at = pattern_prefix_difference(parcel->block, kept, parcel->size, parcel->stamp);
    CHECK_THAT(at == kept, "%zu to %zu: byte %zu lost", parcel->size, size, at);
    parcel->size = size;
    pattern_fill(parcel->block, size, parcel->stamp);
}

enum { RING_SLOTS = 256 };

/* Invariant: received <= sent <= received + RING_SLOTS. */
struct ring {
    _Alignas(64) _Atomic size_t sent;
    _Alignas(64) _Atomic size_t received;
    struct parcel slots[RING_SLOTS];
};

static inline bool ring_send(struct ring *ring, struct parcel parcel)
{
    size_t sent = atomic_load_explicit(&ring->sent, memory_order_relaxed);
    if (sent - atomic_load_explicit(&ring->received, memory_order_acquire) == RING_SLOTS)
        return false;
    ring->slots[sent % RING_SLOTS] = parcel;
    atomic_store_explicit(&ring->sent, sent + 1, memory_order_release);
    return true;
}

static inline bool ring_receive(struct ring *ring, struct parcel *parcel)
{
    size_t received = atomic_load_explicit(&ring->received, memory_order_relaxed);
    if (received == atomic_load_explicit(&ring->sent, memory_order_acquire))
        return false;
    *parcel = ring->slots[received % RING_SLOTS];
    atomic_store_explicit(&ring->received, received + 1, memory_order_release);
    return true;
}

#endif
