#include "core/heap.h"

#include "base/check.h"
#include "config/options.h"
#include "core/scavenger.h"
#include "large/run.h"
#include "mid/mid.h"
#include "os/os.h"
#include "space/metadata.h"
#include "tiny/inbox.h"
#include "tiny/magazine.h"
#include "tiny/remote.h"

/* Bits 31 and 30 of a word are never 01, so its difference from this one never has them 00: it is
 * neither the heap's own nor a Tiny block of another. */
enum { ID_WORD_NEVER = 0x7fffff00 };

static uintptr_t no_slots[2];

#define EMPTY_HEAP \
    {.id_word = ID_WORD_NEVER, \
     .mid_word = ID_WORD_NEVER, \
     .map = &hak_unit_map_none, \
     .top = {[0 ... HAK_TINY_CLASSES - 1] = &no_slots[1]}}

struct hak_heap_front hak_heap_none = EMPTY_HEAP;
struct hak_heap_front hak_heap_gone = EMPTY_HEAP;

_Static_assert(offsetof(struct hak_heap, class_of) == offsetof(struct hak_heap_front, class_of),
               "a heap starts with what the fast path reads");
_Static_assert(sizeof(struct hak_heap) <= 16 << 10, "metadata comes in powers of two");

__thread struct hak_heap *hak_tls_heap __attribute__((tls_model("initial-exec"))) =
    (struct hak_heap *)&hak_heap_none;

/* Rank: before every lock of the layers below. */
static struct {
    struct hak_lock lock;
    struct hak_heap *all;    /* every heap ever made, by next */
    struct hak_heap *unused; /* without a thread, by next_unused */
    struct hak_heap *late;
    struct hak_lock late_lock;
    uint64_t made, live;
    uint32_t next_id;
} registry = {.next_id = HAK_ID_FIRST};

static void set_classes(struct hak_heap *heap)
{
    for (unsigned c = 0; c < HAK_CLASSES; c++) {
        heap->slabs[c].size_class = c;
        heap->slabs[c].owner = heap->id;
        if (c < HAK_TINY_CLASSES)
            hak_magazine_init(heap, c);
        else
            hak_mid_init(heap, c);
    }
    for (unsigned i = 0; i < HAK_CLASS_TABLE; i++)
        heap->class_of[i] = (uint8_t)hak_size_class((size_t)i << HAK_CLASS_STEP_SHIFT);
}

/* Under the registry lock. */
static struct hak_heap *heap_make(void)
{
    if (registry.next_id > HAK_ID_LAST)
        return NULL;
    struct hak_heap *heap = hak_metadata_alloc(sizeof *heap);
    if (heap == NULL)
        return NULL;
    heap->id = registry.next_id;
    if (!hak_inbox_init(heap)) {
        hak_metadata_free(heap, sizeof *heap);
        return NULL;
    }
    registry.next_id++;
    heap->id_word = hak_options.check ? ID_WORD_NEVER : heap->id << 8;
    heap->mid_word = heap->id << 8 | HAK_WORD_MID;
    heap->real = 1;
    heap->mid_span = HAK_MID_MAX - HAK_TINY_MAX;
    heap->map = hak_unit_map.words;
    heap->map_mask = hak_unit_map.mask;
    set_classes(heap);
    hak_remote_init(heap);
    hak_run_init(heap);
    heap->next = registry.all;
    registry.all = heap;
    registry.made++;
    return heap;
}

static struct hak_heap *heap_take(void)
{
    hak_lock_acquire(&registry.lock);
    struct hak_heap *heap = registry.unused;
    if (heap != NULL)
        registry.unused = heap->next_unused;
    else
        heap = heap_make();
    if (heap != NULL) {
        HAK_ASSERT(!heap->live);
        heap->live = true;
        hak_inbox_start_life(heap);
        registry.live++;
        hak_store_relaxed(&hak_heaps_live, (uint32_t)registry.live);
    }
    hak_lock_release(&registry.lock);
    return heap;
}

struct hak_heap *hak_heap_attach(void)
{
    HAK_ASSERT(hak_tls_heap == (struct hak_heap *)&hak_heap_none);
    if (!hak_init())
        return NULL;
    struct hak_heap *heap = heap_take();
    if (heap == NULL)
        return NULL;
    hak_tls_heap = heap;
    hak_os_thread_hook_arm(heap); /* may allocate: the heap is in place */
    return heap;
}

struct hak_heap *hak_heap_late_acquire(void)
{
    if (!hak_init())
        return NULL;
    hak_lock_acquire(&registry.late_lock);
    if (registry.late == NULL)
        registry.late = heap_take();
    if (registry.late == NULL)
        hak_lock_release(&registry.late_lock);
    return registry.late;
}

void hak_heap_late_release(void)
{
    hak_lock_release(&registry.late_lock);
}

void hak_heap_flush(struct hak_heap *heap)
{
    for (unsigned c = 0; c < HAK_TINY_CLASSES; c++)
        hak_magazine_flush(heap, c, hak_magazine_count(heap, c), NULL);
    for (unsigned c = HAK_TINY_CLASSES; c < HAK_CLASSES; c++)
        hak_mid_flush(heap, c);
    hak_inbox_close(heap, heap, NULL);
    hak_outbox_flush(heap);
    hak_remote_drain(heap);
    hak_run_cache_flush(heap);
}

/* Everything the heap holds goes back, slabs with live blocks as orphans. Only when the last unit-map
 * word with its id is rewritten may the id, with the heap, be used again. */
static void give_up(struct hak_heap *heap)
{
    hak_heap_flush(heap);
    for (unsigned c = 0; c < HAK_CLASSES; c++) {
        struct hak_vector *v = &heap->slabs[c];
        for (uint32_t i = 0; i < v->length; i++) {
            if (hak_vector_holds(v, i))
                hak_slab_abandon(v->items[i], heap->id);
        }
        hak_vector_clear(v);
        heap->warm[c] = NULL;
    }
}

static void retire(struct hak_heap *heap)
{
    hak_lock_acquire(&registry.lock);
    heap->live = false;
    heap->next_unused = registry.unused;
    registry.unused = heap;
    registry.live--;
    hak_store_relaxed(&hak_heaps_live, (uint32_t)registry.live);
    hak_lock_release(&registry.lock);
}

/* The scavenger alone must not keep a process whose threads have all ended. */
static bool nobody_lives(void)
{
    hak_lock_acquire(&registry.lock);
    bool nobody = registry.live == (registry.late != NULL);
    hak_lock_release(&registry.lock);
    return nobody;
}

void hak_heap_thread_exit(void *value)
{
    struct hak_heap *heap = value;
    HAK_ASSERT(heap->live && hak_tls_heap == heap);
    uint32_t mark = hak_heap_enter(heap);
    hak_tls_heap = (struct hak_heap *)&hak_heap_gone;
    give_up(heap);
    hak_heap_leave(heap, mark);
    retire(heap);
    if (nobody_lives())
        hak_scavenger_stop();
    else
        hak_scavenger_check();
}

void hak_heap_counts(uint64_t *live, uint64_t *made)
{
    hak_lock_acquire(&registry.lock);
    *live = registry.live;
    *made = registry.made;
    hak_lock_release(&registry.lock);
}

/* Read as it is, without the owner's knowledge: figures may be of different moments, and none is more than
 * the cache can hold. For the deferred map it is what its entries could hold. */
HAK_RACY static uint64_t cached_bytes(const struct hak_heap *heap)
{
    enum { MID_MOST = 100 };
    uint64_t bytes = heap->deferred.bytes + heap->out.bytes;
    for (unsigned c = 0; c < HAK_CLASSES; c++) {
        uint64_t most = c < HAK_TINY_CLASSES ? HAK_SLOTS_MAX : MID_MOST;
        uint64_t count;
        if (c < HAK_TINY_CLASSES)
            count = (((uintptr_t)heap->top[c] - 1) & heap->mask[c]) / sizeof(uintptr_t);
        else
            count = heap->mid[c - HAK_TINY_CLASSES].count;
        bytes += (count < most ? count : most) * hak_size_classes[c].size;
    }
    return bytes;
}

uint64_t hak_heap_cached_elsewhere(void)
{
    uint64_t bytes = 0;
    hak_lock_acquire(&registry.lock);
    for (struct hak_heap *heap = registry.all; heap != NULL; heap = heap->next)
        if (heap->live && heap != hak_tls_heap)
            bytes += cached_bytes(heap);
    hak_lock_release(&registry.lock);
    return bytes;
}

/* --- fork: called with every thread but this one running (prepare) or gone (child) --- */

void hak_heap_fork_prepare(void)
{
    hak_lock_acquire(&registry.late_lock);
    hak_lock_acquire(&registry.lock);
}

void hak_heap_fork_parent(void)
{
    hak_lock_release(&registry.lock);
    hak_lock_release(&registry.late_lock);
}

/* The other threads' heaps become orphans. One that was inside a slow path is left as it is, but
 * for its inbox: its blocks can still be freed, only what its caches held is lost. */
void hak_heap_fork_child(void)
{
    hak_lock_reset(&registry.lock);
    hak_lock_reset(&registry.late_lock);
    for (struct hak_heap *heap = registry.all; heap != NULL; heap = heap->next) {
        if (!heap->live || heap == hak_tls_heap || heap == registry.late)
            continue;
        if (hak_load_relaxed(&heap->in_slow) != 0) {
            hak_inbox_abandon(heap);
            continue;
        }
        give_up(heap);
        retire(heap);
    }
}
