#include "large/large.h"

#include "base/check.h"
#include "config/options.h"
#include "harden/abort.h"
#include "os/os.h"
#include "space/decay.h"
#include "space/held.h"
#include "space/metadata.h"
#include "space/shared_pool.h"

enum {
    CHUNK_SHIFT = 8, /* descriptors are made by 256 */
    CHUNKS = 1 << 13,
    CACHED_MAX = 32, /* mappings in the cache */
    GONE_MAX = 16,   /* mappings of destroyed heaps that are kept from being used again */
};

/* GONE: in a user heap that was destroyed; address space without memory. */
enum large_state { LARGE_UNUSED, LARGE_LIVE, LARGE_CACHED, LARGE_GONE };

/* bytes >= usable; the memory between is never touched. */
struct large {
    uintptr_t address;
    size_t bytes;  /* of the mapping, a multiple of 64 KiB */
    size_t usable; /* of the block, a multiple of the page size */
    uint32_t next_unused;
    uint32_t freed_ms;
    uint32_t index;
    uint32_t owner; /* id of the user heap that it is in, or 0; while live */
    uint8_t state;
};

static struct {
    struct hak_lock lock;
    uint32_t count, unused; /* descriptors made; the first unused one, or 0 */
    struct large *chunks[CHUNKS];
    struct large *cached[CACHED_MAX]; /* oldest first */
    uint32_t cached_count;
    struct large *gone[GONE_MAX]; /* a ring; gone_next is the oldest once it is full */
    uint32_t gone_next;
    struct hak_large_totals totals;
} all;

void hak_large_acquire(void)
{
    hak_lock_acquire(&all.lock);
}

void hak_large_release(void)
{
    hak_lock_release(&all.lock);
}

void hak_large_fork_child(void)
{
    hak_lock_reset(&all.lock);
}

static struct large *by_index(uint32_t index)
{
    struct large *chunk = index >> CHUNK_SHIFT < CHUNKS ? all.chunks[index >> CHUNK_SHIFT] : NULL;
    return chunk == NULL ? NULL : &chunk[index & ((1u << CHUNK_SHIFT) - 1)];
}

/* Descriptors. Index 0 is never given out. Under the lock. */
static struct large *descriptor_new(void)
{
    if (all.unused != 0) {
        struct large *large = by_index(all.unused);
        all.unused = large->next_unused;
        return large;
    }
    uint32_t index = all.count == 0 ? 1 : all.count;
    if (index >> CHUNK_SHIFT >= CHUNKS)
        return NULL;
    struct large **chunk = &all.chunks[index >> CHUNK_SHIFT];
    if (*chunk == NULL)
        *chunk = hak_metadata_alloc(sizeof(struct large) << CHUNK_SHIFT);
    if (*chunk == NULL)
        return NULL;
    all.count = index + 1;
    struct large *large = by_index(index);
    large->index = index;
    return large;
}

static void descriptor_drop(struct large *large)
{
    large->state = LARGE_UNUSED;
    large->next_unused = all.unused;
    all.unused = large->index;
}

static void cached_remove(uint32_t i)
{
    all.totals.cached_bytes -= all.cached[i]->bytes;
    hak_held_add(-all.cached[i]->bytes);
    all.cached_count--;
    for (; i < all.cached_count; i++)
        all.cached[i] = all.cached[i + 1];
}

static void cached_append(struct large *large)
{
    HAK_ASSERT(all.cached_count < CACHED_MAX);
    large->state = LARGE_CACHED;
    all.cached[all.cached_count++] = large;
    all.totals.cached_bytes += large->bytes;
    hak_held_add(large->bytes);
}

/* change: wraps for what is less. */
static void live_add(size_t change)
{
    all.totals.live_bytes += change;
    hak_held_add(change);
}

static void set_live(struct large *large, size_t usable, uint32_t owner)
{
    large->usable = usable;
    large->owner = owner;
    large->state = LARGE_LIVE;
    live_add(usable);
    all.totals.live_count++;
}

/* The tightest cached mapping of at least bytes, or else the largest smaller one of at least half. */
static struct large *cached_find(size_t bytes, uint32_t *found)
{
    struct large *best = NULL;
    for (uint32_t i = 0; i < all.cached_count; i++) {
        struct large *large = all.cached[i];
        bool better = best == NULL ? large->bytes >= bytes / 2
                      : best->bytes < bytes ? large->bytes > best->bytes
                                            : large->bytes >= bytes && large->bytes < best->bytes;
        if (better) {
            best = large;
            *found = i;
        }
    }
    return best;
}

/* Cuts what is beyond bytes off a cached mapping and leaves it in the cache as one of its own. */
static void split(struct large *large, size_t bytes)
{
    size_t rest = large->bytes - bytes;
    if (rest < HAK_UNIT_BYTES || rest * 8 < bytes || all.cached_count == CACHED_MAX)
        return;
    struct large *tail = descriptor_new();
    if (tail == NULL)
        return;
    tail->address = large->address + bytes;
    tail->bytes = rest;
    tail->usable = rest;
    tail->freed_ms = large->freed_ms;
    large->bytes = bytes;
    cached_append(tail);
}

static uint32_t word_of(const struct large *large)
{
    uint32_t user = large->owner != 0 ? HAK_WORD_USER : 0;
    return HAK_WORD_SPECIAL | user | large->index << 8 | HAK_CLASS_LARGE;
}

/* Moves a mapping to a place where it can have new_bytes; address 0 in the result when it cannot. */
static uintptr_t move(uintptr_t from, size_t old_bytes, size_t new_bytes)
{
    void *to = hak_os_reserve(new_bytes, HAK_UNIT_BYTES, HAK_OS_NO_ACCESS);
    if (to == NULL)
        return 0;
    if (!hak_unit_map_prepare((uintptr_t)to, HAK_UNIT_BYTES) ||
        !hak_os_move((void *)from, old_bytes, to, new_bytes)) {
        hak_os_unmap(to, new_bytes);
        return 0;
    }
    return (uintptr_t)to;
}

/* Takes a mapping out of the cache, at least `bytes` long, or NULL. */
static struct large *cache_take(size_t bytes, size_t usable, uint32_t owner)
{
    uint32_t i = 0;
    hak_lock_acquire(&all.lock);
    struct large *large = cached_find(bytes, &i);
    if (large != NULL) {
        cached_remove(i);
        if (large->bytes > bytes)
            split(large, bytes);
        set_live(large, usable, owner);
    }
    hak_lock_release(&all.lock);
    if (large == NULL || large->bytes >= bytes)
        return large;
    uintptr_t at = large->address;
    if (!hak_os_resize((void *)at, large->bytes, bytes))
        at = move(at, large->bytes, bytes);
    hak_lock_acquire(&all.lock);
    struct large gone = *large;
    if (at == 0) {
        live_add(-usable);
        all.totals.live_count--;
        descriptor_drop(large);
    } else {
        large->address = at;
        large->bytes = bytes;
    }
    hak_lock_release(&all.lock);
    if (at == 0)
        hak_os_unmap((void *)gone.address, gone.bytes);
    return at == 0 ? NULL : large;
}

static struct large *map_new(size_t bytes, size_t usable, size_t align, uint32_t owner)
{
    void *p = hak_os_map(bytes, align);
    if (p == NULL)
        return NULL;
    struct large *large = NULL;
    if (hak_unit_map_prepare((uintptr_t)p, HAK_UNIT_BYTES)) {
        hak_lock_acquire(&all.lock);
        large = descriptor_new();
        if (large != NULL) {
            large->address = (uintptr_t)p;
            large->bytes = bytes;
            set_live(large, usable, owner);
        }
        hak_lock_release(&all.lock);
    }
    if (large == NULL)
        hak_os_unmap(p, bytes);
    return large;
}

void *hak_large_alloc_owned(size_t size, size_t align, uint32_t owner, bool *zeroed)
{
    if (size > PTRDIFF_MAX - HAK_UNIT_BYTES)
        return NULL;
    size_t usable = hak_round_up(size == 0 ? 1 : size, hak_os_page_size());
    size_t bytes = hak_round_up(usable, HAK_UNIT_BYTES);
    struct large *large = NULL;
    *zeroed = false;
    if (!hak_held_allows(usable))
        return NULL;
    if (align <= HAK_UNIT_BYTES)
        large = cache_take(bytes, usable, owner);
    if (large == NULL) {
        large = map_new(bytes, usable, align < HAK_UNIT_BYTES ? HAK_UNIT_BYTES : align, owner);
        *zeroed = true;
    }
    if (large == NULL)
        return NULL;
    hak_unit_map_set(large->address, 1, word_of(large));
    return (void *)large->address;
}

void *hak_large_alloc(size_t size, size_t align, bool *zeroed)
{
    return hak_large_alloc_owned(size, align, 0, zeroed);
}

/* The live block that p starts; under the lock. */
static struct large *checked(uintptr_t p, uint32_t word, const void *caller)
{
    struct large *large = by_index((word & ~(HAK_WORD_SPECIAL | HAK_WORD_USER)) >> 8);
    HAK_ASSERT(large != NULL);
    if (HAK_LIKELY(large->address == p && large->state == LARGE_LIVE))
        return large;
    bool start = large->address == p;
    size_t usable = large->usable;
    hak_lock_release(&all.lock); /* a handler of the abort may allocate */
    hak_misuse_abort(start         ? HAK_MISUSE_DOUBLE_FREE
                     : p % 16 != 0 ? HAK_MISUSE_MISALIGNED
                                   : HAK_MISUSE_INTERIOR,
                     (void *)p, usable, caller);
}

/* Takes the oldest mapping out of the cache while it holds too much; under the lock. */
static bool evict(struct large *out, bool everything, uint32_t now_ms)
{
    if (all.cached_count == 0)
        return false;
    struct large *oldest = all.cached[0];
    bool over = all.totals.cached_bytes > hak_options.large_cache || all.cached_count == CACHED_MAX;
    if (!everything && !over && !hak_decay_due(oldest->freed_ms, now_ms, hak_options.decay_ms))
        return false;
    cached_remove(0);
    *out = *oldest;
    descriptor_drop(oldest);
    return true;
}

/* --- mappings of destroyed heaps --- */

/* Takes the oldest one out; false when there is none. Under the lock. */
static bool gone_take(struct large *out)
{
    for (uint32_t i = 0; i < GONE_MAX; i++) {
        struct large **slot = &all.gone[(all.gone_next + i) % GONE_MAX];
        struct large *large = *slot;
        if (large == NULL)
            continue;
        *slot = NULL;
        *out = *large;
        hak_unit_map_set(large->address, 1, 0);
        descriptor_drop(large);
        return true;
    }
    return false;
}

/* The next live one of the owner, from descriptor *index on; address 0 when there is none. */
static struct large owned_next(uint32_t owner, uint32_t *index)
{
    struct large found = {0};
    hak_lock_acquire(&all.lock);
    for (; *index < all.count && found.address == 0; ++*index) {
        struct large *large = by_index(*index);
        if (large->state == LARGE_LIVE && large->owner == owner)
            found = *large;
    }
    hak_lock_release(&all.lock);
    return found;
}

void hak_large_destroy_owned(uint32_t owner)
{
    struct large next;
    for (uint32_t index = 1; (next = owned_next(owner, &index)).address != 0;) {
        struct large oldest = {0};
        hak_os_purge((void *)next.address, next.bytes, false);
        hak_lock_acquire(&all.lock);
        struct large *large = by_index(next.index);
        live_add(-large->usable);
        all.totals.live_count--;
        large->state = LARGE_GONE;
        hak_unit_map_set(large->address, 1, HAK_WORD_GONE);
        if (all.gone[all.gone_next] != NULL)
            gone_take(&oldest);
        all.gone[all.gone_next] = large;
        all.gone_next = (all.gone_next + 1) % GONE_MAX;
        hak_lock_release(&all.lock);
        if (oldest.address != 0)
            hak_os_unmap((void *)oldest.address, oldest.bytes);
    }
}

uint32_t hak_large_owner(uintptr_t p, uint32_t word, const void *caller)
{
    hak_lock_acquire(&all.lock);
    uint32_t owner = checked(p, word, caller)->owner;
    hak_lock_release(&all.lock);
    return owner;
}

size_t hak_large_purge(uint32_t now_ms, bool everything)
{
    size_t bytes = 0;
    for (;;) {
        struct large gone;
        hak_lock_acquire(&all.lock);
        bool found = evict(&gone, everything, now_ms) || (everything && gone_take(&gone));
        hak_lock_release(&all.lock);
        if (!found)
            return bytes;
        hak_os_unmap((void *)gone.address, gone.bytes);
        bytes += gone.bytes;
    }
}

void hak_large_free(uintptr_t p, uint32_t word, const void *caller)
{
    uint32_t now = hak_os_now_ms();
    struct large gone;
    hak_lock_acquire(&all.lock);
    struct large *large = checked(p, word, caller);
    bool full = all.cached_count == CACHED_MAX && evict(&gone, true, now);
    if (all.totals.cached_bytes + large->bytes >= HAK_SUPERSLAB_BYTES)
        hak_pool_raise();
    live_add(-large->usable);
    all.totals.live_count--;
    hak_unit_map_set(p, 1, 0);
    large->freed_ms = now;
    cached_append(large);
    hak_lock_release(&all.lock);
    if (full)
        hak_os_unmap((void *)gone.address, gone.bytes);
    hak_large_purge(now, false);
}

static void set_usable(struct large *large, size_t usable, size_t bytes)
{
    hak_lock_acquire(&all.lock);
    live_add(usable - large->usable);
    large->usable = usable;
    large->bytes = bytes;
    hak_lock_release(&all.lock);
}

void *hak_large_resize(uintptr_t p, uint32_t word, size_t size, const void *caller)
{
    hak_lock_acquire(&all.lock);
    struct large *large = checked(p, word, caller);
    hak_lock_release(&all.lock);
    if (size > PTRDIFF_MAX - HAK_UNIT_BYTES)
        return NULL;
    size_t usable = hak_round_up(size, hak_os_page_size());
    size_t bytes = hak_round_up(usable, HAK_UNIT_BYTES);
    if (usable > large->usable && !hak_held_allows(usable - large->usable))
        return NULL;
    if (bytes <= large->bytes) {
        size_t keep = large->bytes;
        if (usable < large->usable && (keep - bytes) * 8 > keep) {
            hak_os_unmap((char *)p + bytes, keep - bytes);
            keep = bytes;
        }
        set_usable(large, usable, keep);
        return (void *)p;
    }
    /* Growing blocks tend to grow again: address space for half as much more costs nothing. */
    size_t roomy = bytes + hak_round_up(bytes / 2, HAK_UNIT_BYTES);
    size_t got = hak_os_resize((void *)p, large->bytes, roomy)   ? roomy
                 : hak_os_resize((void *)p, large->bytes, bytes) ? bytes
                                                                 : 0;
    if (got != 0) {
        set_usable(large, usable, got);
        return (void *)p;
    }
    /* The old place may be another mapping's as soon as the pages have left it. */
    hak_unit_map_set(p, 1, 0);
    got = roomy;
    uintptr_t at = move(p, large->bytes, roomy);
    if (at == 0) {
        got = bytes;
        at = move(p, large->bytes, bytes);
    }
    hak_unit_map_set(at != 0 ? at : p, 1, word);
    if (at == 0)
        return NULL;
    hak_lock_acquire(&all.lock);
    large->address = at;
    hak_lock_release(&all.lock);
    set_usable(large, usable, got);
    return (void *)at;
}

size_t hak_large_usable(uintptr_t p, uint32_t word, const void *caller)
{
    hak_lock_acquire(&all.lock);
    size_t usable = checked(p, word, caller)->usable;
    hak_lock_release(&all.lock);
    return usable;
}

void hak_large_diagnose(uintptr_t p, bool *inside, bool *freed)
{
    *inside = *freed = false;
    hak_lock_acquire(&all.lock);
    for (uint32_t i = 1; i < all.count; i++) {
        struct large *large = by_index(i);
        if (large->state == LARGE_LIVE)
            *inside |= p - large->address < large->bytes;
        else
            *freed |= p == large->address;
    }
    hak_lock_release(&all.lock);
}

void hak_large_totals_read(struct hak_large_totals *out)
{
    hak_lock_acquire(&all.lock);
    *out = all.totals;
    hak_lock_release(&all.lock);
}
