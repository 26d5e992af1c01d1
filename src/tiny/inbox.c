#include "tiny/inbox.h"

#include "config/options.h"
#include "space/metadata.h"
#include "tiny/magazine.h"
#include "tiny/remote.h"

enum {
    DIRECTORY_SHIFT = 10,   /* heaps of one page of the directory */
    PATIENCE = 4,           /* times the parcels of a full inbox after which its owner is asleep */
    ALL_BYTES = 2 << 20,    /* of the outboxes of all heaps, and as many of the inboxes, */
    LEAST_BYTES = 32 << 10, /* but for each so much */
    REFUSALS_TO_EVICT = 16, /* new outboxes refused for want of room, until another has to go */
};

/* What outboxes and an inbox may hold: with many threads, each less. */
static size_t remote_bytes(void)
{
    size_t share = hak_heap_share(ALL_BYTES);
    share = share < LEAST_BYTES ? LEAST_BYTES : share;
    return hak_options.remote_bytes < share ? hak_options.remote_bytes : share;
}

/* Heaps by id; pages are added under the registry's lock and stay. */
static struct hak_heap *_Atomic *_Atomic directory[(HAK_ID_LAST + 1) >> DIRECTORY_SHIFT];

static struct hak_heap *heap_of(uint32_t id)
{
    struct hak_heap *_Atomic *page = hak_load_acquire(&directory[id >> DIRECTORY_SHIFT]);
    return page == NULL ? NULL : hak_load_acquire(&page[id & ((1 << DIRECTORY_SHIFT) - 1)]);
}

bool hak_inbox_init(struct hak_heap *heap)
{
    struct hak_heap *_Atomic *_Atomic *place = &directory[heap->id >> DIRECTORY_SHIFT];
    struct hak_heap *_Atomic *page = hak_load_relaxed(place);
    if (page == NULL) {
        page = hak_metadata_alloc(sizeof *page << DIRECTORY_SHIFT);
        if (page == NULL)
            return false;
        hak_store_release(place, page);
    }
    hak_store_relaxed(&heap->in.head, HAK_INBOX_CLOSED);
    hak_store_release(&page[heap->id & ((1 << DIRECTORY_SHIFT) - 1)], heap);
    return true;
}

/* The release makes the words of the slabs that an earlier life gave up visible to a sender that reads
 * this number. */
void hak_inbox_start_life(struct hak_heap *heap)
{
    hak_store_release(&heap->in.life, hak_load_relaxed(&heap->in.life) + 1);
}

/* --- parcels --- */

static struct hak_parcel *parcel_at(uintptr_t word)
{
    return (struct hak_parcel *)(word & ~(uintptr_t)(HAK_PARCEL_BYTES - 1));
}

static struct hak_parcel *parcel_get(struct hak_heap *heap)
{
    struct hak_parcel *parcel = heap->out.empty;
    if (parcel == NULL && hak_load_relaxed(&heap->in.returned) != NULL)
        parcel = atomic_exchange_explicit(&heap->in.returned, NULL, memory_order_acquire);
    if (parcel != NULL) {
        heap->out.empty = parcel->next;
        return parcel;
    }
    parcel = hak_metadata_alloc(sizeof *parcel);
    if (parcel != NULL)
        parcel->home = heap;
    return parcel;
}

static void parcel_keep(struct hak_heap *heap, struct hak_parcel *parcel)
{
    parcel->next = heap->out.empty;
    heap->out.empty = parcel;
}

static void parcel_return(struct hak_parcel *parcel)
{
    struct hak_parcel *_Atomic *stack = &parcel->home->in.returned;
    struct hak_parcel *top = hak_load_relaxed(stack);
    do {
        parcel->next = top;
    } while (!atomic_compare_exchange_weak_explicit(stack, &top, parcel, memory_order_release,
                                                    memory_order_relaxed));
}

/* Blocks of slabs that may be anyone's by now, the heap's own included. */
static void defer_all(struct hak_heap *heap, const struct hak_parcel *parcel, const void *caller)
{
    for (uint32_t i = 0; i < parcel->count; i++) {
        uintptr_t p = parcel->blocks[parcel->first + i];
        if (!hak_remote_defer(heap, p, parcel->size_class))
            hak_remote_miss(heap, p, parcel->size_class, caller);
    }
}

/* --- the owner --- */

/* What the life promises of the parcel's blocks. A sparse map is not looked at. */
static bool all_mine(const struct hak_heap *heap, const struct hak_parcel *parcel)
{
    for (uint32_t i = 0; heap->map_mask != 0 && i < parcel->count; i++) {
        uintptr_t unit = parcel->blocks[parcel->first + i] >> HAK_UNIT_SHIFT & heap->map_mask;
        if ((hak_load_relaxed(&heap->map[unit]) ^ heap->id_word) != parcel->size_class)
            return false;
    }
    return true;
}

/* The exchange finds the inbox closed if a sender was quicker, and opens it as well. */
void hak_inbox_receive(struct hak_heap *heap, const void *caller)
{
    if (HAK_LIKELY(hak_load_relaxed(&heap->in.head) == 0))
        return;
    uintptr_t head = atomic_exchange_explicit(&heap->in.head, 0, memory_order_acquire);
    for (struct hak_parcel *next, *parcel = parcel_at(head); parcel != NULL; parcel = next) {
        next = parcel->next;
        if (HAK_LIKELY(parcel->life == hak_load_relaxed(&heap->in.life))) {
            HAK_ASSERT(all_mine(heap, parcel));
            hak_magazine_put(heap, parcel->size_class, parcel->blocks + parcel->first, parcel->count,
                             caller);
        } else {
            defer_all(heap, parcel, caller);
        }
        parcel_return(parcel);
    }
}

static struct hak_parcel *close_inbox(struct hak_heap *owner)
{
    return parcel_at(
        atomic_exchange_explicit(&owner->in.head, HAK_INBOX_CLOSED, memory_order_acquire));
}

void hak_inbox_close(struct hak_heap *owner, struct hak_heap *heap, const void *caller)
{
    for (struct hak_parcel *next, *parcel = close_inbox(owner); parcel != NULL; parcel = next) {
        next = parcel->next;
        defer_all(heap, parcel, caller);
        parcel_return(parcel);
    }
}

void hak_inbox_abandon(struct hak_heap *owner)
{
    for (struct hak_parcel *next, *parcel = close_inbox(owner); parcel != NULL; parcel = next) {
        next = parcel->next;
        for (uint32_t i = 0; i < parcel->count; i++)
            hak_remote_free_now(parcel->blocks[parcel->first + i], NULL);
        parcel_return(parcel);
    }
}

/* --- the sender --- */

/* False: the parcel stays with the sender. A full inbox goes on counting what would have come, until the
 * owner receives; one that lets it come to PATIENCE times as much is taken to sleep. */
static bool push(struct hak_heap *heap, struct hak_heap *owner, struct hak_parcel *parcel,
                 const void *caller)
{
    size_t limit = remote_bytes() / HAK_PARCEL_BLOCK_BYTES;
    if (limit > HAK_INBOX_CLOSED / PATIENCE)
        limit = HAK_INBOX_CLOSED / PATIENCE;
    uintptr_t head = hak_load_relaxed(&owner->in.head), next;
    do {
        uintptr_t count = head & HAK_INBOX_COUNT;
        if (HAK_UNLIKELY(count == HAK_INBOX_CLOSED))
            return false;
        if (HAK_UNLIKELY(count >= PATIENCE * limit)) {
            hak_inbox_close(owner, heap, caller);
            return false;
        }
        next = head + 1;
        if (HAK_LIKELY(count < limit)) {
            parcel->next = parcel_at(head);
            next = (uintptr_t)parcel | (count + 1);
        }
    } while (!atomic_compare_exchange_weak_explicit(&owner->in.head, &head, next,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return parcel_at(next) == parcel;
}

static struct hak_heap *owner_of(const struct hak_heap *heap, uint32_t x)
{
    return heap_of((x ^ heap->id_word) >> 8);
}

static uint32_t parcel_capacity(unsigned c)
{
    uint32_t fit = HAK_PARCEL_BLOCK_BYTES / hak_size_classes[c].size;
    return fit < HAK_PARCEL_BLOCKS ? fit : HAK_PARCEL_BLOCKS;
}

static size_t parcel_bytes(unsigned c)
{
    return (size_t)parcel_capacity(c) * hak_size_classes[c].size;
}

static void start(struct hak_outbox *box, struct hak_parcel *parcel, unsigned c, uint64_t life)
{
    parcel->life = life;
    parcel->size_class = (uint8_t)c;
    parcel->first = (uint8_t)(HAK_PARCEL_BLOCKS - parcel_capacity(c));
    box->top = parcel->blocks + parcel->first;
}

/* Takes the outbox's parcel away; its place is free. */
static struct hak_parcel *close_outbox(struct hak_heap *heap, struct hak_outbox *box)
{
    struct hak_parcel *parcel = parcel_at((uintptr_t)(box->top - 1));
    parcel->count = (uint8_t)(box->top - (parcel->blocks + parcel->first));
    box->key = 0;
    heap->out.bytes -= parcel_bytes(parcel->size_class);
    return parcel;
}

static void hand_over(struct hak_heap *heap, struct hak_outbox *box, const void *caller)
{
    struct hak_heap *owner = owner_of(heap, box->key);
    struct hak_parcel *parcel = close_outbox(heap, box);
    if (parcel->count != 0 && parcel->life == hak_load_relaxed(&owner->in.life) &&
        push(heap, owner, parcel, caller))
        return;
    defer_all(heap, parcel, caller);
    parcel_keep(heap, parcel);
}

/* Room for another outbox at the place. Outboxes that are in the way may be in use, or left over for
 * good: so they are let be for some time. */
static bool make_room(struct hak_heap *heap, struct hak_outbox *box, size_t bytes, const void *caller)
{
    struct hak_outboxes *out = &heap->out;
    if (HAK_LIKELY(box->key == 0 && out->bytes + bytes <= remote_bytes()))
        return true;
    if (++out->refusals % REFUSALS_TO_EVICT != 0)
        return false;
    if (box->key != 0)
        hand_over(heap, box, caller);
    for (uint32_t i = 0; i < HAK_OUTBOXES && out->bytes + bytes > remote_bytes(); i++) {
        struct hak_outbox *victim = &out->at[out->hand++ % HAK_OUTBOXES];
        if (victim->key != 0)
            hand_over(heap, victim, caller);
    }
    return out->bytes + bytes <= remote_bytes();
}

bool hak_outbox_open(struct hak_heap *heap, uintptr_t p, uint32_t x, const void *caller)
{
    unsigned c = x & 0xff;
    struct hak_outbox *box = hak_outbox_at(heap, x);
    struct hak_heap *owner = owner_of(heap, x);
    if (owner == NULL)
        return false;
    bool again = box->candidate == x;
    box->candidate = again ? 0 : x;
    if (!again || !make_room(heap, box, parcel_bytes(c), caller))
        return false;
    struct hak_parcel *parcel = parcel_get(heap);
    if (parcel == NULL)
        return false;
    uint64_t life = hak_load_acquire(&owner->in.life);
    if (HAK_UNLIKELY(hak_unit_map_get(p) != (x ^ heap->id_word))) { /* that life is over */
        parcel_keep(heap, parcel);
        return false;
    }
    start(box, parcel, c, life);
    box->key = x;
    heap->out.bytes += parcel_bytes(c);
    *box->top++ = p;
    return true;
}

/* The next parcel is started at once: words that match are read after the life is. What the inbox does
 * not take is deferred by the parcel, which costs less than block by block. */
void hak_outbox_full(struct hak_heap *heap, uint32_t x, const void *caller)
{
    struct hak_outbox *box = hak_outbox_at(heap, x);
    struct hak_heap *owner = owner_of(heap, x);
    struct hak_parcel *parcel = parcel_at((uintptr_t)(box->top - 1));
    uint64_t life = hak_load_acquire(&owner->in.life);
    unsigned c = parcel->size_class;
    parcel->count = (uint8_t)(HAK_PARCEL_BLOCKS - parcel->first);
    if (HAK_LIKELY(parcel->life == life && push(heap, owner, parcel, caller)))
        parcel = parcel_get(heap);
    else
        defer_all(heap, parcel, caller);
    if (HAK_LIKELY(parcel != NULL)) {
        start(box, parcel, c, life);
    } else {
        box->key = 0;
        heap->out.bytes -= parcel_bytes(c);
    }
}

void hak_outbox_flush(struct hak_heap *heap)
{
    for (uint32_t i = 0; i < HAK_OUTBOXES; i++) {
        struct hak_outbox *box = &heap->out.at[i];
        if (box->key == 0)
            continue;
        struct hak_parcel *parcel = close_outbox(heap, box);
        defer_all(heap, parcel, NULL);
        parcel_keep(heap, parcel);
    }
}
