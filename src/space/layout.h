/* Sizes and masks of the address space that the allocator manages, and the structs that describe it.
 *
 *   region   a power of two of bytes, aligned to its size (64 GiB, or less under a limit)
 *   |-- header page: struct hak_region
 *   |-- boot arena: the first metadata (heaps, bitmaps), dense
 *   |-- one struct hak_slab a unit
 *   |-- one struct hak_superslab a SuperSlab
 *   `-- SuperSlabs of 2 MiB, each 32 units of 64 KiB; the first few are hidden under the metadata
 *
 * Because regions are aligned, the descriptor of any block is found by arithmetic on its address.
 * All metadata is type-stable: once a descriptor exists it stays one for the life of the process, so
 * reading a stale pointer to it is harmless.
 */
#ifndef HAK_SPACE_LAYOUT_H
#define HAK_SPACE_LAYOUT_H

#include "base/atomics.h"
#include "base/attr.h"

enum {
    HAK_UNIT_SHIFT = 16,
    HAK_SUPERSLAB_SHIFT = 21,
    HAK_UNITS = 1 << (HAK_SUPERSLAB_SHIFT - HAK_UNIT_SHIFT), /* units of a SuperSlab */
    HAK_REGION_SHIFT_MAX = 36,                               /* 64 GiB */
    HAK_REGION_SHIFT_MIN = 22,                               /* 4 MiB */
    HAK_ADDRESS_BITS = HAK_MACHINE_ADDRESS_BITS,
    HAK_CACHE_LINE = 64,
};

#define HAK_UNIT_BYTES ((size_t)1 << HAK_UNIT_SHIFT)
#define HAK_SUPERSLAB_BYTES ((size_t)1 << HAK_SUPERSLAB_SHIFT)

/* One a unit. A slab or a page run of several units uses the descriptor of its first one; the
 * others only say how far back that is.
 *
 * Invariants:
 *   blocks held by the program + in magazines, parcels, deferred maps <= used(state) <= capacity
 *   free_bits & remote_bits & cached_bits are disjoint
 *   used(state) == 0 && !busy  =>  every block's bit is in free_bits or remote_bits
 */
struct hak_slab {
    _Atomic uint64_t state; /* owner, kind, busy, used: see tiny/slab.h */
    union {
        _Atomic uint64_t *_Atomic bits; /* words of free_bits, then as many of remote_bits */
        _Atomic size_t run_bytes; /* page run: usable bytes, a multiple of the page size */
    };
    _Atomic uint64_t own_bits[3]; /* bits of slabs of up to 64 blocks: free, remote, cached */
    union {
        struct {
            struct hak_slab *next, *prev; /* orphan list of the shared pool; under its lock */
        };
        uintptr_t first; /* address of the first block, while the slab has an owner: for it alone */
    };
    _Atomic uint32_t position;    /* in the owner's vector; written by the owner under its claim */
    _Atomic uint8_t size_class;
    _Atomic uint8_t back; /* units back to the first one of this slab or run */
    union {
        uint8_t first_word; /* no bit is set in free_bits below this word; the owner's hint */
        uint8_t run_units;  /* page run: its length */
    };
} HAK_ALIGNED(64);

enum hak_tier { HAK_TIER_HOT, HAK_TIER_DRAINING, HAK_TIER_EMPTY };

/* What a SuperSlab is used for until it is EMPTY again. Slabs of Tiny blocks fill up densely and may
 * have huge pages; in mid slabs and page runs the rest of the last unit is never touched, and a huge
 * page would put memory behind it. */
enum hak_use { HAK_USE_DENSE, HAK_USE_SPARSE, HAK_USE_RUN /* in a SPARSE one, from its end */ };

/* One a SuperSlab; all fields under the lock of the shared pool.
 *   dirty is a subset of free: free units that may still have memory behind them
 *   lazy is a subset of free & ~dirty: given back by MADV_FREE, so they may not read as zeros
 */
struct hak_superslab {
    uint32_t free;
    uint32_t dirty;
    uint32_t reserved; /* units that hold metadata: never free */
    uint32_t lazy;
    uint32_t bucket;   /* index of the list it is in */
    uint8_t tier;
    uint8_t huge;      /* huge pages were asked for */
    uint8_t queued;    /* in the list of those that wait for a purge */
    uint8_t use;       /* enum hak_use; of an EMPTY one without meaning */
    struct hak_superslab *next, *prev;             /* of the bucket */
    struct hak_superslab *purge_next, *purge_prev; /* of the purge queue */
    struct hak_mark *marks; /* one a unit, or NULL; under the purge lock: core/scavenger.c */
} HAK_ALIGNED(64);

_Static_assert(sizeof(struct hak_slab) == HAK_CACHE_LINE, "a descriptor is a cache line");
_Static_assert(sizeof(struct hak_superslab) == HAK_CACHE_LINE, "so is a SuperSlab's");

#endif
