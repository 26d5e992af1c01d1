#include "core/user_heap.h"

#include <errno.h>
#include <string.h>

#include "core/heap.h"
#include "core/pointer.h"
#include "harden/abort.h"
#include "large/large.h"
#include "large/run.h"
#include "os/os.h"
#include "space/metadata.h"
#include "space/quarantine.h"
#include "tiny/remote.h"

enum {
    BIN_RUNS = HAK_CLASSES, /* the bin of page runs */
    BINS,
    CHUNK_SHIFT = 10, /* heaps are found by id through chunks of the table */
    CHUNKS = ((HAK_ID_USER_LAST - HAK_ID_USER_FIRST) >> CHUNK_SHIFT) + 1,
};

/* Slabs of one class, or runs. current is the slab that served last. It counts one more block as used
 * than there are, so that nobody takes it away when its blocks have all come back. */
struct bin {
    struct hak_vector items;
    struct hak_slab *current;
};

struct hak_user_heap {
    struct hak_lock lock; /* guards the bins */
    _Atomic bool live;
    uint32_t id;
    size_t limit;         /* SIZE_MAX: none */
    _Atomic size_t used;  /* never above limit */
    _Atomic size_t peak;
    _Atomic size_t large_bytes, large_count;
    _Atomic uint64_t refused;
    struct bin *bins[BINS]; /* made when first needed */
    struct hak_user_heap *next, *next_unused;
    char name[HAK_USER_HEAP_NAME];
};

typedef struct hak_user_heap *_Atomic table_entry;

/* Rank: before the locks of the heaps, which come before those of the layers below. */
static struct {
    struct hak_lock lock;
    struct hak_user_heap *all;    /* every one ever made, by next */
    struct hak_user_heap *unused; /* destroyed, by next_unused */
    uint32_t made;
    table_entry *_Atomic chunks[CHUNKS]; /* by id; readable without the lock */
} registry;

/* --- the limit --- */

static bool charge(struct hak_user_heap *heap, size_t bytes)
{
    size_t used = hak_load_relaxed(&heap->used);
    do {
        if (HAK_UNLIKELY(bytes > heap->limit - used)) {
            atomic_fetch_add_explicit(&heap->refused, 1, memory_order_relaxed);
            return false;
        }
    } while (!hak_cas_acq_rel(&heap->used, &used, used + bytes));
    size_t peak = hak_load_relaxed(&heap->peak);
    while (used + bytes > peak && !hak_cas_acq_rel(&heap->peak, &peak, used + bytes))
        continue;
    return true;
}

static void uncharge(struct hak_user_heap *heap, size_t bytes)
{
    atomic_fetch_sub_explicit(&heap->used, bytes, memory_order_relaxed);
}

/* --- taking blocks --- */

static struct bin *bin_of(struct hak_user_heap *heap, unsigned i)
{
    struct bin *bin = heap->bins[i];
    if (HAK_LIKELY(bin != NULL))
        return bin;
    bin = hak_metadata_alloc(sizeof *bin);
    if (bin == NULL)
        return NULL;
    bin->items.owner = heap->id;
    bin->items.size_class = i == BIN_RUNS ? HAK_CLASS_RUN : i;
    heap->bins[i] = bin;
    return bin;
}

/* A slab that may have free blocks, claimed for want of them; NULL when there is none. */
static struct hak_slab *claim_marked(struct bin *bin, uint32_t want)
{
    struct hak_vector *v = &bin->items;
    uint32_t i;
    for (bool scanned = false;;) {
        struct hak_slab *slab = hak_vector_first_avail(v, &i);
        if (slab == NULL) {
            if (scanned || !hak_vector_scan(v))
                return NULL;
            scanned = true;
        } else if (!hak_vector_holds(v, i)) {
            hak_vector_remove(v, i);
        } else {
            enum hak_claim claim = hak_slab_claim(slab, v->owner, want);
            if (claim == HAK_CLAIM_WON)
                return slab;
            if (claim == HAK_CLAIM_BUSY)
                hak_vector_unmark(v, i);
        }
    }
}

static struct hak_slab *claim(struct bin *bin, uint32_t want)
{
    struct hak_vector *v = &bin->items;
    if (HAK_LIKELY(bin->current != NULL) &&
        HAK_LIKELY(hak_slab_claim(bin->current, v->owner, want) == HAK_CLAIM_WON))
        return bin->current;
    struct hak_slab *slab = claim_marked(bin, want);
    if (slab != NULL || !hak_vector_reserve(v))
        return slab;
    slab = hak_slab_acquire(v->size_class, v->owner, want);
    if (slab != NULL)
        hak_vector_append(v, slab);
    return slab;
}

static void after_return(struct hak_slab *slab, uint64_t state)
{
    if (hak_state_used(state) == 0)
        hak_slab_emptied(slab, state);
}

static void set_current(struct bin *bin, struct hak_slab *slab)
{
    struct hak_slab *old = bin->current;
    bin->current = slab;
    if (old != NULL)
        after_return(old, hak_slab_return(old, 1));
}

/* Each claim is for two: the block, and what keeps the slab the current one. */
static void *alloc_block(struct hak_user_heap *heap, unsigned size_class)
{
    struct bin *bin = bin_of(heap, size_class);
    if (bin == NULL)
        return NULL;
    for (;;) {
        struct hak_slab *slab = claim(bin, 2);
        if (slab == NULL)
            return NULL;
        uintptr_t block = hak_slab_take_one(slab);
        if (HAK_LIKELY(block != 0)) {
            bool same = slab == bin->current;
            hak_slab_unclaim(slab, same);
            if (!same)
                set_current(bin, slab);
            return (void *)block;
        }
        hak_vector_unmark(&bin->items, hak_load_relaxed(&slab->position));
        uint32_t unused = 2;
        if (slab == bin->current) {
            bin->current = NULL;
            unused = 3;
        }
        after_return(slab, hak_slab_unclaim(slab, unused));
    }
}

static void *alloc_run(struct hak_user_heap *heap, size_t size, bool *zeroed)
{
    struct bin *bin = bin_of(heap, BIN_RUNS);
    if (bin == NULL || !hak_vector_reserve(&bin->items))
        return NULL;
    void *p = hak_run_alloc((struct hak_heap *)&hak_heap_gone, size, zeroed);
    if (p != NULL)
        hak_vector_append(&bin->items, hak_run_own((uintptr_t)p, heap->id));
    return p;
}

static void *alloc_large(struct hak_user_heap *heap, size_t size, size_t align, bool *zeroed)
{
    void *p = hak_large_alloc_owned(size, align, heap->id, zeroed);
    if (p != NULL) {
        size_t usable = hak_round_up(size == 0 ? 1 : size, hak_os_page_size());
        atomic_fetch_add_explicit(&heap->large_bytes, usable, memory_order_relaxed);
        atomic_fetch_add_explicit(&heap->large_count, 1, memory_order_relaxed);
    }
    return p;
}

/* Whether a request goes to a mapping of its own, without the heap's lock. */
static bool is_large(size_t size, size_t align)
{
    return align > HAK_UNIT_BYTES || size > HAK_RUN_MAX;
}

static void *alloc_once(struct hak_user_heap *heap, size_t size, size_t align, bool *zeroed)
{
    *zeroed = false;
    if (is_large(size, align))
        return alloc_large(heap, size, align, zeroed);
    hak_lock_acquire(&heap->lock);
    void *p = size > HAK_MID_MAX ? alloc_run(heap, size, zeroed)
                                 : alloc_block(heap, hak_size_class(size));
    hak_lock_release(&heap->lock);
    return p;
}

static void check_live(const struct hak_user_heap *heap, const void *caller)
{
    if (HAK_UNLIKELY(!hak_load_relaxed(&heap->live)))
        hak_misuse_abort(HAK_MISUSE_DEAD_HEAP, heap, 0, caller);
}

void *hak_user_heap_alloc(struct hak_user_heap *heap, size_t size, size_t align, bool *zeroed,
                          const void *caller)
{
    void *p = NULL;
    check_live(heap, caller);
    if (HAK_LIKELY(size <= PTRDIFF_MAX && align <= PTRDIFF_MAX)) {
        if (!is_large(size, align))
            size = hak_size_aligned(size, align);
        size_t usable = size <= HAK_MID_MAX && !is_large(size, align)
                            ? hak_size_classes[hak_size_class(size)].size
                            : hak_round_up(size == 0 ? 1 : size, hak_os_page_size());
        if (HAK_LIKELY(charge(heap, usable))) {
            p = alloc_once(heap, size, align, zeroed);
            if (HAK_UNLIKELY(p == NULL && (size | align) >> HAK_ADDRESS_BITS == 0)) {
                hak_heap_reclaim();
                p = alloc_once(heap, size, align, zeroed);
            }
            if (HAK_UNLIKELY(p == NULL))
                uncharge(heap, usable);
        }
    }
    if (HAK_UNLIKELY(p == NULL))
        errno = ENOMEM;
    return p;
}

/* --- blocks --- */

struct hak_user_heap *hak_user_heap_of(uintptr_t p, uint32_t word, const void *caller)
{
    bool large = (word & HAK_WORD_SPECIAL) == HAK_WORD_SPECIAL && (word & 0xff) == HAK_CLASS_LARGE;
    uint32_t id = large ? hak_large_owner(p, word, caller) : hak_word_id(word);
    uint32_t i = id - HAK_ID_USER_FIRST;
    return hak_load_relaxed(&hak_load_acquire(&registry.chunks[i >> CHUNK_SHIFT])
                                [i & ((1u << CHUNK_SHIFT) - 1)]);
}

void hak_user_heap_release(struct hak_user_heap *heap, uintptr_t p, uint32_t word,
                           const void *caller)
{
    if (HAK_LIKELY((word & HAK_WORD_SPECIAL) != HAK_WORD_SPECIAL)) {
        uncharge(heap, hak_size_classes[word & 0xff].size);
        hak_remote_free_now(p, caller);
        return;
    }
    size_t usable = hak_pointer_usable(p, word, caller);
    uncharge(heap, usable);
    if ((word & 0xff) == HAK_CLASS_LARGE) {
        atomic_fetch_sub_explicit(&heap->large_bytes, usable, memory_order_relaxed);
        atomic_fetch_sub_explicit(&heap->large_count, 1, memory_order_relaxed);
        hak_large_free(p, word, caller);
    } else {
        hak_run_free_owned(p, word, caller);
    }
}

uint32_t hak_user_heap_check(struct hak_user_heap *heap, uintptr_t p, const void *caller)
{
    uint32_t word = hak_unit_map_get(p);
    check_live(heap, caller);
    if (HAK_UNLIKELY(word == 0))
        hak_pointer_abort(p, caller);
    if (HAK_UNLIKELY(!hak_word_is_user(word) || hak_user_heap_of(p, word, caller) != heap))
        hak_misuse_abort(word == HAK_WORD_GONE ? HAK_MISUSE_HEAP_GONE : HAK_MISUSE_OTHER_HEAP,
                         (void *)p, 0, caller);
    return word;
}

/* Runs and large blocks change their length; grown bytes of it are charged before. */
static void *resize_in_place(struct hak_user_heap *heap, uintptr_t p, uint32_t word, size_t usable,
                             size_t size, const void *caller)
{
    void *moved = hak_realloc_in_place(p, word, usable, size, caller);
    if (moved == NULL)
        return NULL;
    size_t now = hak_pointer_usable((uintptr_t)moved, word, caller);
    if (now < usable)
        uncharge(heap, usable - now);
    if ((word & HAK_WORD_SPECIAL) == HAK_WORD_SPECIAL && (word & 0xff) == HAK_CLASS_LARGE)
        atomic_fetch_add_explicit(&heap->large_bytes, now - usable, memory_order_relaxed);
    return moved;
}

void *hak_user_heap_resize(struct hak_user_heap *heap, uintptr_t p, uint32_t word, size_t size,
                           const void *caller)
{
    bool zeroed;
    size_t usable = hak_pointer_usable(p, word, caller);
    if (size == 0) {
        hak_user_heap_release(heap, p, word, caller);
        return NULL;
    }
    size_t grown = 0;
    if (size <= PTRDIFF_MAX && (word & HAK_WORD_SPECIAL) == HAK_WORD_SPECIAL && size > usable)
        grown = hak_round_up(size, hak_os_page_size()) - usable;
    if (size > PTRDIFF_MAX || !charge(heap, grown)) {
        errno = ENOMEM;
        return NULL;
    }
    void *moved = resize_in_place(heap, p, word, usable, size, caller);
    if (moved != NULL)
        return moved;
    uncharge(heap, grown);
    moved = hak_user_heap_alloc(heap, size, 1, &zeroed, caller);
    if (moved == NULL)
        return NULL;
    memcpy(moved, (void *)p, size < usable ? size : usable);
    hak_user_heap_release(heap, p, word, caller);
    return moved;
}

/* --- birth and death --- */

/* Under the registry lock. */
static struct hak_user_heap *make(void)
{
    if (registry.made > HAK_ID_USER_LAST - HAK_ID_USER_FIRST)
        return NULL;
    uint32_t i = registry.made;
    table_entry *chunk = hak_load_relaxed(&registry.chunks[i >> CHUNK_SHIFT]);
    if (chunk == NULL) {
        chunk = hak_metadata_alloc(sizeof *chunk << CHUNK_SHIFT);
        if (chunk == NULL)
            return NULL;
        hak_store_release(&registry.chunks[i >> CHUNK_SHIFT], chunk);
    }
    struct hak_user_heap *heap = hak_metadata_alloc(sizeof *heap);
    if (heap == NULL)
        return NULL;
    registry.made++;
    heap->id = HAK_ID_USER_FIRST + i;
    hak_store_release(&chunk[i & ((1u << CHUNK_SHIFT) - 1)], heap);
    heap->next = registry.all;
    registry.all = heap;
    return heap;
}

struct hak_user_heap *hak_user_heap_new(const char *name, size_t limit)
{
    if (!hak_init())
        return NULL;
    hak_lock_acquire(&registry.lock);
    struct hak_user_heap *heap = registry.unused;
    if (heap != NULL)
        registry.unused = heap->next_unused;
    else
        heap = make();
    if (heap != NULL) {
        size_t length = name == NULL ? 0 : strnlen(name, HAK_USER_HEAP_NAME - 1);
        if (length != 0)
            memcpy(heap->name, name, length);
        heap->name[length] = '\0';
        heap->limit = limit == 0 ? SIZE_MAX : limit;
        hak_store_relaxed(&heap->used, 0);
        hak_store_relaxed(&heap->peak, 0);
        hak_store_relaxed(&heap->large_bytes, 0);
        hak_store_relaxed(&heap->large_count, 0);
        hak_store_relaxed(&heap->refused, 0);
        hak_store_release(&heap->live, true);
    }
    hak_lock_release(&registry.lock);
    return heap;
}

/* Takes a slab or a run out of use, with its blocks. A purge of a slab is bounded by one system call for
 * each range of free pages; it waits for no lock that is held here. */
static void destroy_item(struct hak_slab *item, unsigned size_class)
{
    unsigned units;
    uint64_t state = hak_load_relaxed(&item->state);
    do {
        while (HAK_UNLIKELY((state & HAK_SLAB_BUSY) != 0)) {
            hak_os_relax();
            state = hak_load_relaxed(&item->state);
        }
    } while (!hak_cas_acq_rel(&item->state, &state, 0));
    if (size_class == HAK_CLASS_RUN) {
        units = item->run_units;
    } else {
        const struct hak_size_class *c = &hak_size_classes[size_class];
        units = c->units;
        if (c->words > 1)
            hak_metadata_free((void *)hak_slab_free_bits(item), 2 * c->words * sizeof(uint64_t));
    }
    hak_quarantine_put(item, units);
}

static void destroy_bin(struct bin *bin)
{
    struct hak_vector *v = &bin->items;
    for (uint32_t i = 0; i < v->length; i++) {
        if (hak_vector_holds(v, i))
            destroy_item(v->items[i], v->size_class);
    }
    hak_vector_free(v);
    hak_metadata_free(bin, sizeof *bin);
}

void hak_user_heap_destroy(struct hak_user_heap *heap, const void *caller)
{
    hak_lock_acquire(&heap->lock);
    bool live = atomic_exchange_explicit(&heap->live, false, memory_order_acq_rel);
    for (unsigned i = 0; i < BINS && live; i++) {
        if (heap->bins[i] != NULL)
            destroy_bin(heap->bins[i]);
        heap->bins[i] = NULL;
    }
    if (live && hak_load_relaxed(&heap->large_count) != 0)
        hak_large_destroy_owned(heap->id);
    hak_lock_release(&heap->lock);
    if (!live)
        hak_misuse_abort(HAK_MISUSE_DEAD_HEAP, heap, 0, caller);
    hak_quarantine_purge();
    /* No word carries the id any more. */
    hak_lock_acquire(&registry.lock);
    heap->next_unused = registry.unused;
    registry.unused = heap;
    hak_lock_release(&registry.lock);
}

/* --- figures --- */

const char *hak_user_heap_name(struct hak_user_heap *heap, const void *caller)
{
    check_live(heap, caller);
    return heap->name;
}

static void add_bin(const struct bin *bin, struct hak_user_heap_totals *out)
{
    const struct hak_vector *v = &bin->items;
    for (uint32_t i = 0; i < v->length; i++) {
        if (!hak_vector_holds(v, i))
            continue;
        struct hak_slab *item = v->items[i];
        unsigned units = v->size_class == HAK_CLASS_RUN ? item->run_units
                                                        : hak_size_classes[v->size_class].units;
        out->held_bytes += (uint64_t)units << HAK_UNIT_SHIFT;
        out->blocks += hak_state_used(hak_load_relaxed(&item->state)) - (item == bin->current);
    }
}

void hak_user_heap_totals(struct hak_user_heap *heap, struct hak_user_heap_totals *out,
                          const void *caller)
{
    check_live(heap, caller);
    *out = (struct hak_user_heap_totals){
        .limit = heap->limit == SIZE_MAX ? 0 : heap->limit,
        .used_bytes = hak_load_relaxed(&heap->used),
        .peak_bytes = hak_load_relaxed(&heap->peak),
        .held_bytes = hak_load_relaxed(&heap->large_bytes),
        .blocks = hak_load_relaxed(&heap->large_count),
        .refused = hak_load_relaxed(&heap->refused),
    };
    hak_lock_acquire(&heap->lock);
    for (unsigned i = 0; i < BINS; i++) {
        if (heap->bins[i] != NULL)
            add_bin(heap->bins[i], out);
    }
    hak_lock_release(&heap->lock);
}

/* --- fork: the child has all heaps as they are, so a fork waits until nobody is inside one --- */

void hak_user_heap_fork_prepare(void)
{
    hak_lock_acquire(&registry.lock);
    for (struct hak_user_heap *heap = registry.all; heap != NULL; heap = heap->next)
        hak_lock_acquire(&heap->lock);
}

void hak_user_heap_fork_parent(void)
{
    for (struct hak_user_heap *heap = registry.all; heap != NULL; heap = heap->next)
        hak_lock_release(&heap->lock);
    hak_lock_release(&registry.lock);
}

void hak_user_heap_fork_child(void)
{
    for (struct hak_user_heap *heap = registry.all; heap != NULL; heap = heap->next)
        hak_lock_reset(&heap->lock);
    hak_lock_reset(&registry.lock);
}
