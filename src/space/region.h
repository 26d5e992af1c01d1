/* Regions: where SuperSlabs come from, and the arithmetic between addresses and descriptors.
 * The first region is reserved at start, a further one whenever the last is used up. All regions
 * of a process have the same size. Called under the lock of the shared pool, except the inline
 * arithmetic, which any thread may use for any address inside a region.
 */
#ifndef HAK_SPACE_REGION_H
#define HAK_SPACE_REGION_H

#include "space/layout.h"

enum { HAK_REGION_UNITS_OFFSET = 1 << 16 }; /* of the units' descriptors in a region */

struct hak_region {
    struct hak_region *older;
    char *units_end;       /* the units' descriptors before this address are committed */
    uint32_t superslabs;   /* in the region */
    uint32_t first;        /* the lowest SuperSlab that is not all metadata */
    _Atomic uint32_t next; /* the lowest SuperSlab that was never used; readable without the lock */
};

struct hak_space {
    uintptr_t region_mask;    /* region size in bytes - 1 */
    size_t superslabs_offset; /* of the SuperSlabs' descriptors in a region */
    struct hak_region *_Atomic region; /* the newest; readable without the lock */
    size_t reserved_bytes; /* address space of all regions */
};
extern struct hak_space hak_space;

/* Reserves the first region; bytes 0 chooses the size from the limit on address space. False when
 * the system gives none. */
bool hak_region_init(size_t bytes, size_t address_limit);

/* A SuperSlab never used before, its descriptors zeroed, its memory committed, the units that hold
 * metadata marked reserved; NULL (ENOMEM) when memory is out. */
struct hak_superslab *hak_region_take_superslab(void);

HAK_INLINE struct hak_superslab *hak_superslab_of(uintptr_t p)
{
    uintptr_t region = p & ~hak_space.region_mask;
    return (struct hak_superslab *)(region + hak_space.superslabs_offset) +
           ((p - region) >> HAK_SUPERSLAB_SHIFT);
}

HAK_INLINE uintptr_t hak_superslab_base(const struct hak_superslab *ss)
{
    uintptr_t region = (uintptr_t)ss & ~hak_space.region_mask;
    size_t index = ((uintptr_t)ss - region - hak_space.superslabs_offset) / sizeof *ss;
    return region + (index << HAK_SUPERSLAB_SHIFT);
}

/* The descriptor of the unit that p lies in. */
HAK_INLINE struct hak_slab *hak_unit_of(uintptr_t p)
{
    uintptr_t offset = p & hak_space.region_mask;
    return (struct hak_slab *)(p - offset + HAK_REGION_UNITS_OFFSET) + (offset >> HAK_UNIT_SHIFT);
}

/* The descriptor of the slab or page run that p lies in. */
HAK_INLINE struct hak_slab *hak_slab_of(uintptr_t p)
{
    struct hak_slab *unit = hak_unit_of(p);
    return unit - hak_load_relaxed(&unit->back);
}

/* The address of the unit that the descriptor is of. */
HAK_INLINE uintptr_t hak_slab_base(const struct hak_slab *slab)
{
    uintptr_t region = (uintptr_t)slab & ~hak_space.region_mask;
    size_t index = ((uintptr_t)slab - region - HAK_REGION_UNITS_OFFSET) / sizeof *slab;
    return region + (index << HAK_UNIT_SHIFT);
}

HAK_INLINE struct hak_superslab *hak_slab_superslab(const struct hak_slab *slab)
{
    return hak_superslab_of(hak_slab_base(slab));
}

/* The descriptors of the SuperSlab's units. */
HAK_INLINE struct hak_slab *hak_superslab_units(const struct hak_superslab *ss)
{
    return hak_unit_of(hak_superslab_base(ss));
}

#endif
