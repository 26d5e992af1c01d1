#include "mid/mid.h"

#include "base/bits.h"
#include "config/options.h"
#include "harden/abort.h"
#include "tiny/magazine.h"

enum {
    LIMIT_MIN = 2, /* cached blocks of a class, at first */
    LIMIT_FIRST = 16,
    LIMIT_MAX = 32,
    EVENTS_TO_GROW = 4,          /* refills and flushes after which a limit doubles */
    GROWTH_BYTES_MAX = 2 << 20,  /* by which all limits of a heap may grow together */
    CLASS_BYTES_MAX = 256 << 10, /* for a limit to double */
};

struct hak_slab hak_mid_no_slab;

void hak_mid_init(struct hak_heap *heap, unsigned size_class)
{
    struct hak_mid *mid = &heap->mid[size_class - HAK_TINY_CLASSES];
    size_t limit = hak_options.magazine_bytes / hak_size_classes[size_class].size;
    mid->limit = (uint16_t)(limit < LIMIT_MIN ? LIMIT_MIN : limit > LIMIT_FIRST ? LIMIT_FIRST : limit);
    mid->current = &hak_mid_no_slab;
    mid->cached = 0;
}

static void note_event(struct hak_heap *heap, struct hak_mid *mid, unsigned c)
{
    size_t bytes = (size_t)mid->limit * hak_size_classes[c].size;
    if (++mid->events < EVENTS_TO_GROW || mid->limit >= LIMIT_MAX || bytes > CLASS_BYTES_MAX / 2 ||
        heap->mid_growth + bytes > GROWTH_BYTES_MAX)
        return;
    heap->mid_growth += bytes;
    mid->limit = (uint16_t)(mid->limit * 2);
    mid->events = 0;
}

/* The first slab of the class with cached blocks; marks of slabs without any free one go. */
static struct hak_slab *cached_slab(struct hak_heap *heap, unsigned c)
{
    struct hak_vector *v = &heap->slabs[c];
    uint32_t position;
    struct hak_slab *slab;
    while ((slab = hak_vector_first_avail(v, &position)) != NULL) {
        /* Bits before owner: if the slab is mine now it was when the bits were read, for only I can
         * make it mine again, and a cached block keeps it from being stolen. */
        uint64_t cached = hak_load_acquire(&slab->own_bits[2]);
        if (!hak_vector_holds(v, position))
            hak_vector_remove(v, position);
        else if (cached != 0)
            return slab;
        else if (hak_load_relaxed(&slab->own_bits[0]) != 0)
            return NULL; /* free blocks at a lower address than the cached ones */
        else
            hak_vector_unmark(v, position);
    }
    return NULL;
}

void *hak_mid_refill(struct hak_heap *heap, unsigned size_class)
{
    struct hak_mid *mid = &heap->mid[size_class - HAK_TINY_CLASSES];
    struct hak_slab *slab = mid->cached != 0 ? cached_slab(heap, size_class) : NULL;
    uint32_t want = (mid->limit + 1u) / 2;
    if (slab == NULL)
        note_event(heap, mid, size_class);
    while (slab == NULL) {
        slab = hak_magazine_claim(heap, size_class, want);
        if (slab == NULL)
            return NULL;
        uint64_t taken = hak_slab_take_mask(slab, want);
        uint32_t got = hak_popcount(taken);
        uint64_t cached = hak_load_relaxed(&slab->own_bits[2]) | taken;
        hak_store_relaxed(&slab->own_bits[2], cached);
        mid->cached += got;
        hak_magazine_unclaim(heap, slab, want, got);
        if (cached == 0)
            slab = NULL;
        else /* the end of the claim may have unmarked it; cached blocks keep it ours */
            hak_vector_mark(&heap->slabs[size_class], slab->position);
    }
    mid->current = slab;
    return hak_mid_alloc(heap, size_class);
}

static HAK_NOINLINE void overflow(struct hak_heap *heap, struct hak_slab *slab)
{
    struct hak_mid *mid = &heap->mid[slab->size_class - HAK_TINY_CLASSES];
    uint32_t mark = hak_heap_enter(heap);
    note_event(heap, mid, slab->size_class);
    if (mid->cached > mid->limit)
        hak_mid_flush_slab(heap, slab);
    hak_heap_leave(heap, mark);
}

void hak_mid_flush_slab(struct hak_heap *heap, struct hak_slab *slab)
{
    struct hak_mid *mid = &heap->mid[slab->size_class - HAK_TINY_CLASSES];
    uint64_t cached = hak_load_relaxed(&slab->own_bits[2]);
    if (cached == 0)
        return;
    uint32_t n = hak_popcount(cached);
    if (mid->current == slab)
        mid->current = &hak_mid_no_slab;
    hak_store_relaxed(&slab->own_bits[2], 0);
    hak_store_relaxed(&slab->own_bits[0], hak_load_relaxed(&slab->own_bits[0]) | cached);
    mid->cached -= n;
    hak_magazine_return_blocks(heap, slab, n);
}

void hak_mid_flush(struct hak_heap *heap, unsigned size_class)
{
    struct hak_mid *mid = &heap->mid[size_class - HAK_TINY_CLASSES];
    struct hak_vector *v = &heap->slabs[size_class];
    mid->current = &hak_mid_no_slab;
    for (uint32_t i = 0; i < v->length; i++) {
        struct hak_slab *slab = v->items[i]; /* bits before owner, as above */
        if (slab != NULL && hak_load_acquire(&slab->own_bits[2]) != 0 && hak_vector_holds(v, i))
            hak_mid_flush_slab(heap, slab);
    }
    mid->cached = 0; /* where a fork cut a free off it was one out of step */
}

static HAK_COLD _Noreturn void misuse(struct hak_slab *slab, uintptr_t p, const void *caller)
{
    hak_block_checked(slab, p, caller);
    hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, hak_size_classes[slab->size_class].size,
                     caller);
}

void hak_mid_free(struct hak_heap *heap, uintptr_t p, const void *caller)
{
    struct hak_slab *slab = hak_slab_of(p);
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    struct hak_mid *mid = &heap->mid[slab->size_class - HAK_TINY_CLASSES];
    size_t offset = p - slab->first;
    uint32_t index = hak_block_index(c, offset);
    uint64_t bit = (uint64_t)1 << (index & 63);
    uint64_t cached = hak_load_relaxed(&slab->own_bits[2]);
    uint64_t out = hak_load_relaxed(&slab->own_bits[0]) | hak_load_relaxed(&slab->own_bits[1]);
    if (HAK_UNLIKELY(index * c->size != offset || ((cached | out) & bit) != 0 ||
                     index >= c->capacity))
        misuse(slab, p, caller);
    hak_store_relaxed(&slab->own_bits[2], cached | bit);
    if (cached == 0) {
        mid->current = slab;
        hak_vector_mark(&heap->slabs[slab->size_class], slab->position);
    }
    if (HAK_UNLIKELY(++mid->cached > mid->limit))
        overflow(heap, slab);
}
