/* Size classes: which block size serves a request, and the geometry of its slabs. Constant tables
 * from size_class.def; thread-safe by being read-only.
 */
#ifndef HAK_TINY_SIZE_CLASS_H
#define HAK_TINY_SIZE_CLASS_H

#include "space/layout.h"

enum {
#define HAK_SIZE_CLASS(size, units) HAK_CLASS_##size,
#include "tiny/size_class.def"
#undef HAK_SIZE_CLASS
    HAK_CLASSES,
};

enum {
    HAK_TINY_MAX = 1024,                 /* bytes; the tier that the fast path serves */
    HAK_MID_MAX = 32768,                 /* bytes; the last one with slabs */
    HAK_TINY_CLASSES = HAK_CLASS_1024 + 1,
    HAK_CLASS_STEP_SHIFT = 3,            /* the byte table has an entry every 8 B */
    HAK_CLASS_TABLE = (HAK_TINY_MAX >> HAK_CLASS_STEP_SHIFT) + 1,
    HAK_MID_STEP_SHIFT = 6,              /* that of the mid tier every 64 B */
};

struct hak_size_class {
    uint32_t size;     /* bytes */
    uint32_t inverse;  /* ceil(2^32 / (size / 8)), to divide by multiplying; 2^32 - 1 for 8 B */
    uint16_t capacity; /* blocks of a slab */
    uint8_t units;     /* of a slab */
    uint8_t words;     /* of one of its bitmaps */
};
extern const struct hak_size_class hak_size_classes[HAK_CLASSES];

/* The class of a request by (size - 1) >> HAK_MID_STEP_SHIFT, for the mid tier. Written once, by
 * hak_size_class_init, before there is a heap. */
extern uint8_t hak_mid_class_of[HAK_MID_MAX >> HAK_MID_STEP_SHIFT];
void hak_size_class_init(void);

/* The class of a request above HAK_TINY_MAX and of at most HAK_MID_MAX bytes. */
HAK_INLINE unsigned hak_mid_class(size_t size)
{
    return hak_mid_class_of[(size - 1) >> HAK_MID_STEP_SHIFT];
}

/* The class of a request of at most HAK_MID_MAX bytes. */
HAK_INLINE unsigned hak_size_class(size_t size)
{
    if (size <= 8)
        return HAK_CLASS_8;
    if (size <= 128)
        return HAK_CLASS_16 + (unsigned)((size - 1) >> 4);
    if (size > HAK_TINY_MAX)
        return hak_mid_class(size);
    unsigned doubling = hak_log2(size - 1);
    return HAK_CLASS_128 + 1 + ((doubling - 7) << 3) +
           (unsigned)(((size - 1) >> (doubling - 3)) & 7);
}

/* What size to ask for to get a block aligned to align, a power of two of at most a unit: a block starts
 * at a multiple of its size within a unit-aligned slab. Above HAK_MID_MAX every block will do. */
HAK_INLINE size_t hak_size_aligned(size_t size, size_t align)
{
    while (align > 1 && size <= HAK_MID_MAX) {
        size_t block = hak_size_classes[hak_size_class(size)].size;
        if (block % align == 0)
            break;
        size = block + 1;
    }
    return size;
}

/* The index of the block that starts at offset bytes into the blocks of a slab, rounded down.
 * Exact for offsets below 4 units: offset / 8 < 2^15 and the inverse errs by less than 1 in 2^32. */
HAK_INLINE unsigned hak_block_index(const struct hak_size_class *c, size_t offset)
{
    if (c->size == 8)
        return (unsigned)(offset >> 3);
    return (unsigned)((offset >> 3) * c->inverse >> 32);
}

#endif
