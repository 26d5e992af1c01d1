#include "mid/mid.h"

#include <string.h>

#include "base/bits.h"
#include "config/options.h"
#include "harden/abort.h"
#include "os/os.h"
#include "space/metadata.h"
#include "tiny/magazine.h"

enum {
    LIMIT_MIN = 2, /* blocks in a magazine, at first */
    LIMIT_MAX = 100,
    EVENTS = 8,                  /* refills and flushes of a class */
    GROW_MS = 8,                 /* so many in that time, and its limit doubles */
    GROWTH_BYTES_MAX = 2 << 20,  /* by which all magazines of a heap may grow together, */
    GROWN_BYTES = 8 << 20,       /* and those of all heaps */
    CLASS_BYTES_MAX = 512 << 10, /* of one magazine that has grown */
};

_Static_assert(sizeof(struct hak_mid) == HAK_CACHE_LINE, "a small magazine is one cache line");

void hak_mid_init(struct hak_heap *heap, unsigned size_class)
{
    struct hak_mid *mid = hak_mid_of(heap, size_class);
    size_t fit = hak_options.magazine_bytes / hak_size_classes[size_class].size;
    mid->size = hak_size_classes[size_class].size;
    mid->inverse = hak_size_classes[size_class].inverse;
    mid->slots = mid->own_slots;
    mid->capacity = HAK_MID_SLOTS;
    mid->limit = (uint8_t)(fit < LIMIT_MIN ? LIMIT_MIN : fit > HAK_MID_SLOTS ? HAK_MID_SLOTS : fit);
    mid->count = 0;
}

/* Room for twice the limit. */
static bool reserve(struct hak_mid *mid)
{
    uint32_t want = mid->limit * 2u;
    if (want <= mid->capacity)
        return true;
    uintptr_t *slots = hak_metadata_alloc(want * sizeof *slots);
    if (slots == NULL)
        return false;
    memcpy(slots, mid->slots, mid->count * sizeof *slots);
    uintptr_t *old = mid->slots;
    uint32_t capacity = mid->capacity;
    mid->slots = slots;
    mid->capacity = (uint8_t)want;
    if (old != mid->own_slots)
        hak_metadata_free(old, capacity * sizeof *old);
    return true;
}

/* Refills and flushes in quick succession make the magazine larger; it stays small where memory counts
 * more than what a few of them cost. */
static void note_event(struct hak_heap *heap, struct hak_mid *mid)
{
    if (++mid->events < EVENTS)
        return;
    uint32_t now = hak_os_now_ms();
    bool quick = now - mid->events_ms <= GROW_MS;
    size_t bytes = (size_t)mid->limit * mid->size;
    mid->events = 0;
    mid->events_ms = now;
    if (!quick || mid->limit * 2 > LIMIT_MAX || bytes * 2 > CLASS_BYTES_MAX ||
        heap->mid_growth + bytes > GROWTH_BYTES_MAX ||
        heap->mid_growth + bytes > hak_heap_share(GROWN_BYTES) || !reserve(mid))
        return;
    heap->mid_growth += bytes;
    mid->limit = (uint8_t)(mid->limit * 2);
}

/* False when memory is out. */
static bool refill(struct hak_heap *heap, struct hak_mid *mid, unsigned size_class)
{
    note_event(heap, mid);
    uint32_t want = (mid->limit + 1u) / 2;
    while (mid->count == 0) { /* an orphan may have no free block at this moment */
        struct hak_slab *slab = hak_magazine_claim(heap, size_class, want);
        if (slab == NULL)
            return false;
        uint64_t taken = hak_slab_take_mask(slab, want);
        uint32_t got = hak_popcount(taken);
        hak_store_relaxed(&slab->own_bits[2], hak_load_relaxed(&slab->own_bits[2]) | taken);
        for (uint32_t i = got; taken != 0; taken &= taken - 1) /* the lowest last, to go first */
            mid->slots[--i] = (uintptr_t)slab + (unsigned)__builtin_ctzll(taken);
        mid->count = (uint8_t)got;
        hak_magazine_unclaim(heap, slab, want, got);
    }
    return true;
}

void *hak_mid_alloc(struct hak_heap *heap, unsigned size_class)
{
    struct hak_mid *mid = hak_mid_of(heap, size_class);
    return mid->count != 0 || refill(heap, mid, size_class) ? hak_mid_pop(mid) : NULL;
}

/* Gives the n blocks freed first back. */
static void flush(struct hak_heap *heap, struct hak_mid *mid, uint32_t n)
{
    uint32_t pending = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hak_slab *slab = hak_mid_slot_slab(mid->slots[i]);
        uint64_t bit = (uint64_t)1 << hak_mid_slot_index(mid->slots[i]);
        hak_store_relaxed(&slab->own_bits[2], hak_load_relaxed(&slab->own_bits[2]) & ~bit);
        hak_store_relaxed(&slab->own_bits[0], hak_load_relaxed(&slab->own_bits[0]) | bit);
        pending++;
        if (i + 1 == n || hak_mid_slot_slab(mid->slots[i + 1]) != slab) {
            hak_magazine_return_blocks(heap, slab, pending);
            pending = 0;
        }
    }
    mid->count = (uint8_t)(mid->count - n);
    memmove(mid->slots, mid->slots + n, mid->count * sizeof *mid->slots);
}

void hak_mid_flush(struct hak_heap *heap, unsigned size_class)
{
    struct hak_mid *mid = hak_mid_of(heap, size_class);
    flush(heap, mid, mid->count);
}

HAK_NOINLINE void hak_mid_free_slow(struct hak_heap *heap, uintptr_t p, unsigned size_class,
                                    const void *caller)
{
    struct hak_slab *slab = hak_slab_of(p);
    struct hak_mid *mid = hak_mid_of(heap, size_class);
    uint32_t index = hak_block_checked(slab, p, caller);
    if (HAK_UNLIKELY(hak_block_is_free(slab, index)))
        hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, mid->size, caller);
    uint32_t mark = hak_heap_enter(heap);
    if (mid->count >= mid->limit)
        note_event(heap, mid);
    if (mid->count >= mid->limit)
        flush(heap, mid, (mid->limit + 1u) / 2);
    hak_mid_push(mid, slab, index, hak_load_relaxed(&slab->own_bits[2]));
    hak_heap_leave(heap, mark);
}
