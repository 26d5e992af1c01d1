/* The heap: one thread's state. Read and written by its thread alone, except where noted; a thread
 * finds its own through the initial-exec TLS pointer hak_tls_heap. A thread without one points at a
 * static heap whose magazines are all empty and whose id matches no unit-map word, so "no heap yet"
 * takes the same branches as "magazine empty" and "not mine".
 *
 * Invariants:
 *   magazine (Tiny): slot 0 holds 0, the slots below top hold blocks of this heap's slabs,
 *             top never points at slot 0, and (top & mask) == 0 means full
 *   magazine (Mid): the blocks in its slots are those whose cached bits are set in slabs of this heap
 *   vector:   items[i]->position == i for every item that the heap still owns; written while the
 *             slab is claimed
 *   a slab with free bits that this heap set is marked in its vector's avail bits
 */
#ifndef HAK_TINY_HEAP_H
#define HAK_TINY_HEAP_H

#include "tiny/slab.h"

enum {
    HAK_DEFERRED = 128,       /* entries of the deferred map, no fewer than words of a bitmap */
    HAK_OUTBOX_SHIFT = 6,
    HAK_OUTBOXES = 1 << HAK_OUTBOX_SHIFT, /* no fewer than classes */
    HAK_RUN_LENGTHS = 16,     /* of page runs, in units */
    HAK_RUNS_CACHED = 12,     /* of each length, by a heap */
    HAK_SLOTS_MIN = 16,       /* of a magazine, slot 0 included */
    HAK_SLOTS_MAX = 128,
    HAK_MID_CLASSES = HAK_CLASSES - HAK_TINY_CLASSES,
    HAK_MID_SLOTS = 5,        /* of a mid magazine at first: it fills a cache line */
};

/* Slabs of one class, in the order in which they were acquired, which is about that of their
 * addresses. An item whose slab was stolen is stale until it is looked at, then NULL until another
 * slab takes its place. */
struct hak_vector {
    struct hak_slab **items;
    uint64_t *avail; /* bit i: items[i] may have bits in free_bits */
    uint32_t length, capacity;
    uint32_t first;      /* no word of avail below this one is set */
    uint32_t scan;       /* where the next look for remote frees starts */
    uint32_t holes;      /* items that are NULL */
    uint32_t first_hole; /* no item below this one is NULL */
    uint32_t owner;      /* the heap's id */
    uint32_t size_class;
};

/* The deferred map: Tiny blocks of other heaps that this thread has freed, by bitmap word; see
 * tiny/remote.h. Word w of unit u has one possible place, a different one for each w, so the unit
 * alone tells whether an entry is the one looked for, and unit and place tell the word. */
struct hak_deferred {
    uint64_t inverse[HAK_TINY_CLASSES]; /* ceil(2^32 / block size) */
    uint64_t masks[HAK_DEFERRED];
    uint32_t units[HAK_DEFERRED];       /* unit numbers; 0: no entry */
    uint8_t used[HAK_DEFERRED];         /* places of the entries, in the order of their making */
    uint32_t used_count;
    size_t bytes;                       /* that the entries could hold */
};

/* Outboxes: parcels that this thread fills for other heaps; see tiny/inbox.h. */
struct hak_outbox {
    uint32_t key;       /* unit map word ^ this heap's id_word; 0: none here */
    uint32_t candidate; /* key of the last that there was none for; it gets one the next time */
    uintptr_t *top;     /* the slot above the last block */
};

struct hak_outboxes {
    struct hak_outbox at[HAK_OUTBOXES];
    struct hak_parcel *empty;
    size_t bytes;       /* that the outboxes could hold */
    uint32_t refusals, hand;
};

/* The half of a heap that other threads write. */
struct hak_inbox {
    _Atomic uintptr_t head;               /* last parcel | number of parcels, or HAK_INBOX_CLOSED */
    _Atomic uint64_t life;                /* which thread of this heap's the present one is */
    struct hak_parcel *_Atomic returned   /* this heap's own parcels, emptied by others */
        HAK_ALIGNED(HAK_CACHE_LINE);
} HAK_ALIGNED(128);

/* The magazine of a mid class. A slot holds the address of a slab's descriptor, which is a multiple of
 * 64, plus the number of a block in it; the block's bit in the slab's cached bits is set. */
struct hak_mid {
    uintptr_t *slots; /* own_slots, or a longer array once it has grown */
    uint8_t count;    /* slots in use, the block freed last at the end */
    uint8_t limit;    /* of count */
    uint8_t capacity; /* of slots */
    uint8_t events;   /* refills and flushes since events_ms */
    uint32_t events_ms;
    uint32_t size, inverse; /* of the size class: here they are in the cache */
    uintptr_t own_slots[HAK_MID_SLOTS];
} HAK_ALIGNED(64);

/* Freed page runs that the thread may take again. */
struct hak_run_cache {
    uint32_t units_at[HAK_RUN_LENGTHS][HAK_RUNS_CACHED]; /* unit numbers, by length - 1 */
    uint8_t counts[HAK_RUN_LENGTHS];
    uint32_t lengths;      /* bit i: a run of i + 1 units is there */
    uint32_t units, limit; /* of all, and how many there may be */
    uint32_t overflows;    /* since limit_ms */
    uint32_t limit_ms;     /* when the limit was looked at last */
};

/* What the fast path reads: all that the static heaps consist of.
 * id_word is the id << 8, or a value that matches no unit-map word; mid_word the same for words of
 * mid slabs; map and map_mask are copies of hak_unit_map; top[c] is the slot above the last block of
 * the class's magazine; mask[c] the bytes of the magazine - 1, a power of two to which it is aligned;
 * real is 0 in the static heaps, and mid_span is how many sizes above HAK_TINY_MAX the mid tier serves, 0
 * in them. */
#define HAK_HEAP_FRONT                     \
    uintptr_t *top[HAK_TINY_CLASSES];      \
    uint32_t id_word;                      \
    uint32_t mid_word;                     \
    const _Atomic uint32_t *map;           \
    uintptr_t map_mask;                    \
    uint32_t mask[HAK_TINY_CLASSES];       \
    uint32_t id;                           \
    uint32_t real;                         \
    uint32_t mid_span;                     \
    uint8_t class_of[HAK_CLASS_TABLE];

struct hak_heap_front {
    HAK_HEAP_FRONT
} HAK_ALIGNED(128);

struct hak_heap {
    HAK_HEAP_FRONT

    struct hak_mid mid[HAK_MID_CLASSES];
    size_t mid_growth;                  /* bytes by which the mid magazines have grown, together */
    size_t grown;                       /* the same of the Tiny magazines */
    uint8_t events[HAK_TINY_CLASSES];   /* refills and flushes since the magazine grew */
    uint8_t growths[HAK_TINY_CLASSES];  /* how often a magazine may still double */
    struct hak_slab *warm[HAK_CLASSES]; /* the warm pool: an empty slab kept for reuse */
    struct hak_vector slabs[HAK_CLASSES];
    struct hak_run_cache run_cache;

    struct hak_deferred deferred;
    struct hak_outboxes out;
    struct hak_inbox in;

    struct hak_heap *next;    /* all heaps ever made; the list is only ever added to */
    _Atomic uint32_t in_slow; /* a slow path is at work: after a fork its state is not to be used */
    struct hak_heap *next_unused;
    bool live;                /* has a thread; under the registry lock */
    uint32_t ticks;           /* slow exits, to pace the purge */

    uintptr_t first_slots[HAK_TINY_CLASSES * HAK_SLOTS_MIN] HAK_ALIGNED(128);
};

/* Never a heap of a thread: all magazines empty. none: no heap yet; gone: the thread's heap has
 * been given up by its exit hook. */
extern struct hak_heap_front hak_heap_none, hak_heap_gone;

extern __thread struct hak_heap *hak_tls_heap __attribute__((tls_model("initial-exec")));

/* Heaps that have a thread. */
extern _Atomic uint32_t hak_heaps_live;

/* What one heap may have of a stock of bytes for all of them. */
HAK_INLINE size_t hak_heap_share(size_t bytes)
{
    uint32_t live = hak_load_relaxed(&hak_heaps_live);
    return live > 1 ? bytes / live : bytes;
}

/* A slow path marks the heap while its state is in between, so that a fork in another thread leaves
 * it alone. Marks nest. */
HAK_INLINE uint32_t hak_heap_enter(struct hak_heap *heap)
{
    if (!heap->real)
        return 0;
    uint32_t before = hak_load_relaxed(&heap->in_slow);
    hak_store_relaxed(&heap->in_slow, before + 1);
    atomic_signal_fence(memory_order_seq_cst);
    return before;
}

HAK_INLINE void hak_heap_leave(struct hak_heap *heap, uint32_t before)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (heap->real)
        hak_store_relaxed(&heap->in_slow, before);
}

/* --- vectors (vector.c) --- */

/* Makes room for one more slab. False when memory is out. */
bool hak_vector_reserve(struct hak_vector *v);
void hak_vector_append(struct hak_vector *v, struct hak_slab *slab);
void hak_vector_clear(struct hak_vector *v);
/* Gives its memory back; the vector is not to be used again. */
void hak_vector_free(struct hak_vector *v);
/* Makes item i a hole. */
void hak_vector_remove(struct hak_vector *v, uint32_t i);
/* The first slab that may have free blocks of the owner's, or NULL. */
struct hak_slab *hak_vector_first_avail(struct hak_vector *v, uint32_t *position);
/* Looks at up to the gate's number of slabs for remote frees; marks what it finds. */
bool hak_vector_scan(struct hak_vector *v);
/* Whether item i is a slab that the heap still owns and holds here. */
bool hak_vector_holds(const struct hak_vector *v, uint32_t i);

HAK_INLINE void hak_vector_mark(struct hak_vector *v, uint32_t i)
{
    v->avail[i / 64] |= (uint64_t)1 << (i % 64);
    if (i / 64 < v->first)
        v->first = i / 64;
}

HAK_INLINE void hak_vector_unmark(struct hak_vector *v, uint32_t i)
{
    v->avail[i / 64] &= ~((uint64_t)1 << (i % 64));
}

#endif
