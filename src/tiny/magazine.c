#include "tiny/magazine.h"

#include <string.h>

#include "config/gates.h"
#include "config/options.h"
#include "harden/abort.h"
#include "space/metadata.h"
#include "space/shared_pool.h"
#include "tiny/inbox.h"

enum {
    EVENTS_TO_GROW = 4,     /* refills and flushes after which a magazine doubles */
    FIRST_BYTES = 2 << 10,  /* of the blocks in a magazine at first, but at least three of them */
    GROWN_BYTES = 4 << 20,  /* by which the magazines of all heaps may grow together */
};

_Atomic uint32_t hak_heaps_live;

void hak_magazine_init(struct hak_heap *heap, unsigned c)
{
    size_t fit = hak_options.magazine_bytes / hak_size_classes[c].size + 1;
    uint32_t slots = HAK_SLOTS_MIN;
    while ((slots > 2 && slots > fit) || (slots > 4 && slots * hak_size_classes[c].size > FIRST_BYTES))
        slots /= 2;
    while (slots << heap->growths[c] < HAK_SLOTS_MAX && slots << (heap->growths[c] + 1) <= fit)
        heap->growths[c]++;
    heap->top[c] = heap->first_slots + c * HAK_SLOTS_MIN + 1;
    heap->mask[c] = slots * (uint32_t)sizeof(uintptr_t) - 1;
}

uint32_t hak_block_checked(const struct hak_slab *slab, uintptr_t p, const void *caller)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    uintptr_t first = hak_slab_first_block(p);
    uint32_t index = hak_block_index(c, p - first);
    if (HAK_LIKELY(p >= first && first + (size_t)index * c->size == p &&
                   index < hak_slab_capacity(slab)))
        return index;
    size_t natural = c->size & -c->size;
    hak_misuse_abort(p % (natural < 16 ? natural : 16) ? HAK_MISUSE_MISALIGNED
                                                       : HAK_MISUSE_INTERIOR,
                     (void *)p, c->size, caller);
}

/* --- emptied slabs: the warm pool --- */

/* The empty slab that the warm pool holds for the class, or NULL: others may have stolen it. */
static struct hak_slab *warm_slab(struct hak_heap *heap, unsigned c)
{
    struct hak_slab *warm = heap->warm[c];
    struct hak_vector *v = &heap->slabs[c];
    if (warm == NULL)
        return NULL;
    uint32_t position = hak_load_relaxed(&warm->position); /* once: it may be another heap's slab by now */
    bool held = position < v->length && v->items[position] == warm && hak_vector_holds(v, position) &&
                hak_state_used(hak_load_relaxed(&warm->state)) == 0;
    return held ? warm : NULL;
}

/* The slab may have been stolen since it was seen empty, and even be another heap's by now: then this
 * steal is one of that heap, and the item here stays behind as a stale one. */
static void hand_on(struct hak_heap *heap, struct hak_slab *slab, unsigned c)
{
    struct hak_vector *v = &heap->slabs[c];
    uint32_t position = hak_load_relaxed(&slab->position);
    if (!hak_slab_steal(slab))
        return;
    if (position < v->length && v->items[position] == slab)
        hak_vector_remove(v, position);
    hak_slab_retire(slab);
}

void hak_magazine_drop_warm(struct hak_heap *heap, unsigned c)
{
    struct hak_slab *warm = warm_slab(heap, c);
    if (warm != NULL)
        hand_on(heap, warm, c);
    heap->warm[c] = NULL;
}

static void slab_emptied(struct hak_heap *heap, struct hak_slab *slab, unsigned c)
{
    struct hak_slab *warm = warm_slab(heap, c);
    if (HAK_GATE(WARM_CAPACITY) > 0 && (warm == NULL || warm == slab))
        heap->warm[c] = slab;
    else
        hand_on(heap, slab, c);
}

void hak_magazine_return_blocks(struct hak_heap *heap, struct hak_slab *slab, uint32_t n)
{
    unsigned c = slab->size_class;
    hak_vector_mark(&heap->slabs[c], hak_load_relaxed(&slab->position));
    if (hak_state_used(hak_slab_return(slab, n)) == 0)
        slab_emptied(heap, slab, c);
}

static void set_free(struct hak_slab *slab, uintptr_t p, const void *caller)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    uint32_t index = hak_block_checked(slab, p, caller);
    uint32_t w = index / 64;
    uint64_t bit = (uint64_t)1 << (index % 64);
    _Atomic uint64_t *bits = hak_slab_free_bits(slab);
    uint64_t old = hak_load_relaxed(&bits[w]);
    uint64_t remote = hak_load_relaxed(&bits[w + c->words]);
    if (HAK_UNLIKELY((old | remote) & bit) != 0)
        hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, c->size, caller);
    hak_store_relaxed(&bits[w], old | bit);
    if (w < slab->first_word)
        slab->first_word = (uint8_t)w;
}

/* Returns blocks of the heap's own slabs, with one subtraction for each group of blocks of one slab. */
static void return_blocks(struct hak_heap *heap, const uintptr_t *blocks, uint32_t n,
                          const void *caller)
{
    struct hak_slab *slab = NULL;
    uint32_t pending = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (HAK_UNLIKELY(blocks[i] >> HAK_ADDRESS_BITS != 0)) /* a block's address with a tag on it */
            hak_misuse_abort(HAK_MISUSE_FOREIGN, (void *)blocks[i], 0, caller);
        struct hak_slab *next = hak_slab_of(blocks[i]);
        if (next != slab) {
            if (slab != NULL)
                hak_magazine_return_blocks(heap, slab, pending);
            slab = next;
            pending = 0;
        }
        set_free(slab, blocks[i], caller);
        pending++;
    }
    if (slab != NULL)
        hak_magazine_return_blocks(heap, slab, pending);
}

void hak_magazine_flush(struct hak_heap *heap, unsigned c, uint32_t n, const void *caller)
{
    uintptr_t *base = hak_magazine_base(heap, c);
    uint32_t count = hak_magazine_count(heap, c);
    HAK_ASSERT(n <= count);
    return_blocks(heap, base + 1, n, caller);
    memmove(base + 1, base + 1 + n, (count - n) * sizeof *base);
    heap->top[c] -= n;
}

void hak_magazine_return(struct hak_heap *heap, uintptr_t p, const void *caller)
{
    struct hak_slab *slab = hak_slab_of(p);
    set_free(slab, p, caller);
    hak_magazine_return_blocks(heap, slab, 1);
}

/* --- growth: a magazine that is refilled and flushed often doubles, up to its limit --- */

static bool grow(struct hak_heap *heap, unsigned c)
{
    uint32_t slots = (heap->mask[c] + 1) / (uint32_t)sizeof(uintptr_t);
    size_t more = (size_t)slots * hak_size_classes[c].size;
    if (heap->growths[c] == 0 || heap->grown + more > hak_heap_share(GROWN_BYTES))
        return false;
    size_t bytes = slots * 2 * sizeof(uintptr_t);
    uintptr_t *grown = hak_metadata_alloc(bytes);
    if (grown == NULL)
        return false;
    uintptr_t *base = hak_magazine_base(heap, c);
    uint32_t count = hak_magazine_count(heap, c);
    memcpy(grown, base, (count + 1) * sizeof *base);
    bool inside = (char *)base >= (char *)heap && (char *)base < (char *)(heap + 1);
    heap->top[c] = grown + count + 1;
    heap->mask[c] = (uint32_t)bytes - 1;
    heap->events[c] = 0;
    heap->growths[c]--;
    heap->grown += more;
    if (!inside)
        hak_metadata_free(base, slots * sizeof *base);
    return true;
}

void hak_magazine_make_room(struct hak_heap *heap, unsigned c, const void *caller)
{
    hak_inbox_receive(heap, caller);
    if (++heap->events[c] >= EVENTS_TO_GROW && grow(heap, c))
        return;
    hak_magazine_flush(heap, c, (hak_magazine_capacity(heap, c) + 1) / 2, caller);
}

/* A magazine that is too small for what comes in grows like one that is flushed. */
void hak_magazine_put(struct hak_heap *heap, unsigned c, const uintptr_t *blocks, uint32_t n,
                      const void *caller)
{
    uint32_t room = hak_magazine_capacity(heap, c) - hak_magazine_count(heap, c);
    if (n > room && ++heap->events[c] >= EVENTS_TO_GROW && grow(heap, c))
        room = hak_magazine_capacity(heap, c) - hak_magazine_count(heap, c);
    uint32_t taken = n < room ? n : room;
    memcpy(heap->top[c], blocks, taken * sizeof *blocks);
    heap->top[c] += taken;
    if (taken < n)
        return_blocks(heap, blocks + taken, n - taken, caller);
}

/* --- refill --- */

/* The first slab of the class that may have free blocks, claimed for want of them; or NULL. */
static struct hak_slab *claim_own(struct hak_heap *heap, unsigned c, uint32_t want)
{
    struct hak_vector *v = &heap->slabs[c];
    for (bool scanned = false;;) {
        uint32_t position;
        struct hak_slab *slab = hak_vector_first_avail(v, &position);
        if (slab == NULL) {
            if (scanned || !hak_vector_scan(v))
                return NULL;
            scanned = true;
            continue;
        }
        if (!hak_vector_holds(v, position)) {
            hak_vector_remove(v, position);
            continue;
        }
        enum hak_claim claim = hak_slab_claim(slab, heap->id, want);
        if (claim == HAK_CLAIM_WON)
            return slab;
        if (claim == HAK_CLAIM_BUSY) /* LOST shows as stale at the next look */
            hak_vector_unmark(v, position);
    }
}

struct hak_slab *hak_magazine_claim(struct hak_heap *heap, unsigned c, uint32_t want)
{
    struct hak_slab *slab = claim_own(heap, c, want);
    if (slab != NULL)
        return slab;
    if (!hak_vector_reserve(&heap->slabs[c]))
        return NULL;
    slab = hak_slab_acquire(c, heap->id, want);
    if (slab != NULL)
        hak_vector_append(&heap->slabs[c], slab);
    return slab;
}

void hak_magazine_unclaim(struct hak_heap *heap, struct hak_slab *slab, uint32_t want, uint32_t got)
{
    unsigned c = slab->size_class;
    uint32_t position = hak_load_relaxed(&slab->position);
    if (got < want)
        hak_vector_unmark(&heap->slabs[c], position);
    uint64_t state = hak_slab_unclaim(slab, want - got);
    if (got == 0 && hak_state_used(state) == 0) { /* emptied by others during the claim */
        hak_vector_mark(&heap->slabs[c], position);
        slab_emptied(heap, slab, c);
    }
}

void *hak_magazine_refill(struct hak_heap *heap, unsigned c, bool only_one)
{
    uint32_t got = 0;
    if (!only_one) {
        hak_inbox_receive(heap, NULL);
        uintptr_t block = heap->top[c][-1];
        if (block != 0) {
            heap->top[c]--;
            return (void *)block;
        }
    }
    if (++heap->events[c] >= EVENTS_TO_GROW)
        grow(heap, c);
    uint32_t want = hak_magazine_capacity(heap, c) / (uint32_t)HAK_GATE(REFILL_DIVISOR) + 1;
    if (want > hak_magazine_capacity(heap, c))
        want = hak_magazine_capacity(heap, c);
    if (only_one)
        want = 1;
    uintptr_t *first = hak_magazine_base(heap, c) + 1;
    while (got == 0) { /* an orphan may have no free block at this moment */
        struct hak_slab *slab = hak_magazine_claim(heap, c, want);
        if (slab == NULL)
            return NULL;
        got = hak_slab_take(slab, want, first + want);
        hak_magazine_unclaim(heap, slab, want, got);
    }
    if (got < want)
        memmove(first, first + want - got, got * sizeof *first);
    heap->top[c] = first + got - 1;
    return (void *)first[got - 1];
}
