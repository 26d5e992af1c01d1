#include "space/shared_pool.h"

#include "base/bits.h"
#include "base/check.h"
#include "config/options.h"
#include "os/os.h"
#include "space/decay.h"
#include "space/growth.h"
#include "space/held.h"
#include "space/unit_map.h"

enum {
    TIERS = 3,
    USES = 2,
    BUCKETS = HAK_UNITS + 1, /* by number of free units */
    LOOKS = 8,               /* SuperSlabs looked at in a bucket: bounds the time under the lock */
    ALARM_FROM = 32,         /* dirty units that raise the alarm */
    HUGE_FROM = 16,          /* dense SuperSlabs in use from which new ones get huge pages */
};

static struct {
    struct hak_lock lock;
    struct hak_superslab *buckets[USES * TIERS * BUCKETS];
    uint64_t filled[USES * TIERS]; /* bit set: the bucket is not empty */
    uint64_t in_use[USES];         /* SuperSlabs that are not EMPTY */
    struct hak_superslab *purge_head, *purge_tail; /* those with dirty units; longest untouched first */
    _Atomic uint32_t purge_waiting;
    struct hak_decay decay;
    uint32_t pressure; /* a power of two */
    _Atomic uint32_t look_ms; /* before that time nothing more is due */
    _Atomic uint32_t changes, used; /* for readers without the lock */
    struct hak_lock purge_lock;
    struct hak_superslab *released;                /* without a mapping; by next, in no bucket */
    struct hak_slab *orphans[HAK_POOL_CLASSES];
    struct hak_growth growth;
    struct hak_pool_totals totals;
} pool;

_Atomic uint32_t hak_pool_armed, hak_pool_alarm;
_Atomic size_t hak_held_bytes;

void hak_pool_acquire(void)
{
    hak_lock_acquire(&pool.lock);
}

void hak_pool_release(void)
{
    hak_lock_release(&pool.lock);
}

void hak_pool_fork_child(void)
{
    hak_lock_reset(&pool.lock);
    hak_lock_reset(&pool.purge_lock);
}

/* --- buckets: SuperSlabs by tier and number of free units --- */

static void bucket_remove(struct hak_superslab *ss)
{
    struct hak_superslab *h = ss;
    if (h->prev != NULL)
        h->prev->next = h->next;
    else
        pool.buckets[h->bucket] = h->next;
    if (h->next != NULL)
        h->next->prev = h->prev;
    if (pool.buckets[h->bucket] == NULL)
        pool.filled[h->bucket / BUCKETS] &= ~((uint64_t)1 << (h->bucket % BUCKETS));
}

/* Which group of buckets: EMPTY ones are of no use yet, so they share one. */
static unsigned group(enum hak_use use, enum hak_tier tier)
{
    unsigned dense_or_not = use != HAK_USE_DENSE;
    return tier == HAK_TIER_EMPTY ? HAK_TIER_EMPTY : dense_or_not * TIERS + (unsigned)tier;
}

static void bucket_insert(struct hak_superslab *ss)
{
    struct hak_superslab *h = ss;
    unsigned units = (unsigned)(HAK_UNITS - hak_popcount(h->reserved));
    unsigned free_units = hak_popcount(h->free);
    h->tier = (uint8_t)hak_decay_tier((enum hak_tier)h->tier, free_units, units);
    unsigned in_group = group((enum hak_use)h->use, (enum hak_tier)h->tier);
    h->bucket = in_group * BUCKETS + free_units;
    h->prev = NULL;
    h->next = pool.buckets[h->bucket];
    if (h->next != NULL)
        h->next->prev = ss;
    pool.buckets[h->bucket] = ss;
    pool.filled[in_group] |= (uint64_t)1 << free_units;
}

/* Changes the masks of a SuperSlab, keeping lists and totals in step with them. */
static void set_masks(struct hak_superslab *ss, uint32_t free_units, uint32_t dirty)
{
    struct hak_superslab *h = ss;
    HAK_ASSERT((dirty & ~free_units) == 0 && (free_units & h->reserved) == 0);
    pool.totals.units_free += hak_popcount(free_units);
    pool.totals.units_free -= hak_popcount(h->free);
    pool.totals.units_dirty += hak_popcount(dirty);
    pool.totals.units_dirty -= hak_popcount(h->dirty);
    /* What is free and clean has no memory behind it. */
    size_t held = (size_t)hak_popcount(h->free & ~h->dirty) - hak_popcount(free_units & ~dirty);
    hak_held_add(held << HAK_UNIT_SHIFT);
    bool was_empty = h->tier == HAK_TIER_EMPTY;
    pool.in_use[h->use] -= !was_empty;
    bucket_remove(ss);
    h->free = free_units;
    h->dirty = dirty;
    bucket_insert(ss);
    pool.in_use[h->use] += h->tier != HAK_TIER_EMPTY;
    pool.totals.superslabs_empty += (h->tier == HAK_TIER_EMPTY) - (uint64_t)was_empty;
}

/* --- the queue of those that wait for a purge --- */

static void queue_remove(struct hak_superslab *ss)
{
    struct hak_superslab *h = ss;
    if (!h->queued)
        return;
    *(h->purge_prev ? &h->purge_prev->purge_next : &pool.purge_head) = h->purge_next;
    *(h->purge_next ? &h->purge_next->purge_prev : &pool.purge_tail) = h->purge_prev;
    h->queued = 0;
    hak_store_relaxed(&pool.purge_waiting, hak_load_relaxed(&pool.purge_waiting) - 1);
}

static void queue_append(struct hak_superslab *ss)
{
    struct hak_superslab *h = ss;
    h->purge_next = NULL;
    h->purge_prev = pool.purge_tail;
    *(pool.purge_tail ? &pool.purge_tail->purge_next : &pool.purge_head) = ss;
    pool.purge_tail = ss;
    h->queued = 1;
    hak_store_relaxed(&pool.purge_waiting, hak_load_relaxed(&pool.purge_waiting) + 1);
}

/* --- the decay policy: what it is told --- */

static uint32_t units_used(void)
{
    return (uint32_t)(pool.totals.superslabs * HAK_UNITS - pool.totals.units_free);
}

static uint32_t step_ms(void)
{
    return hak_decay_step_ms(hak_options.decay_ms, (uint32_t)pool.totals.units_dirty, units_used(),
                             pool.pressure);
}

/* Around any change of the number of dirty units. */
static void before_change(uint32_t now_ms)
{
    if (hak_options.decay_ms >= 0)
        hak_decay_advance(&pool.decay, now_ms, step_ms(), (uint32_t)pool.totals.units_dirty);
}

static void after_change(void)
{
    hak_decay_note(&pool.decay, (uint32_t)pool.totals.units_dirty);
    hak_store_relaxed(&pool.changes, hak_load_relaxed(&pool.changes) + 1);
    hak_store_relaxed(&pool.used, units_used());
    if (pool.totals.units_dirty >= ALARM_FROM)
        hak_pool_raise();
}

void hak_pool_set_pressure(unsigned level)
{
    hak_lock_acquire(&pool.lock);
    pool.pressure = 1u << level;
    hak_lock_release(&pool.lock);
}

uint32_t hak_pool_units_used(void)
{
    return hak_load_relaxed(&pool.used);
}

uint32_t hak_pool_changes(void)
{
    return hak_load_relaxed(&pool.changes);
}

/* --- taking units --- */

static uint32_t run_mask(unsigned unit, unsigned n)
{
    return (uint32_t)((((uint64_t)1 << n) - 1) << unit);
}

/* The lowest unit from which n units are in the mask, or -1; for page runs the highest one. Slabs touch
 * the first pages of a unit, runs all of them: each finds again what its like has touched before. */
static int find_run(uint32_t mask, unsigned n, enum hak_use use)
{
    for (unsigned have = 1; have < n && mask != 0;) {
        unsigned step = have < n - have ? have : n - have;
        mask &= mask >> step;
        have += step;
    }
    return mask == 0 ? -1 : use == HAK_USE_RUN ? 31 - __builtin_clz(mask) : __builtin_ctz(mask);
}

static struct hak_superslab *find_superslab(unsigned in_group, unsigned n, enum hak_use use,
                                            bool dirty, int *unit)
{
    uint64_t filled = pool.filled[in_group] & ~(((uint64_t)1 << n) - 1);
    for (; filled != 0; filled &= filled - 1) {
        unsigned bucket = in_group * BUCKETS + (unsigned)__builtin_ctzll(filled);
        struct hak_superslab *ss = pool.buckets[bucket];
        for (int looks = LOOKS; ss != NULL && looks > 0; ss = ss->next, looks--) {
            *unit = find_run(dirty ? ss->dirty : ss->free, n, use);
            if (*unit >= 0)
                return ss;
        }
    }
    return NULL;
}

static struct hak_superslab *stage_2(unsigned n, enum hak_use use, int *unit)
{
    for (int dirty = pool.totals.units_dirty >= n; dirty >= 0; dirty--) {
        for (int tier = HAK_TIER_HOT; tier <= HAK_TIER_EMPTY; tier++) {
            unsigned in_group = group(use, (enum hak_tier)tier);
            struct hak_superslab *ss = find_superslab(in_group, n, use, dirty, unit);
            if (ss != NULL)
                return ss;
        }
    }
    return NULL;
}

static struct hak_superslab *map_released(void)
{
    while (pool.released != NULL) {
        struct hak_superslab *ss = pool.released;
        void *base = (void *)hak_superslab_base(ss);
        bool taken;
        bool mapped = hak_os_map_again(base, HAK_SUPERSLAB_BYTES, &taken);
        if (!mapped && !taken)
            return NULL;
        pool.released = ss->next; /* if taken, its addresses are somebody else's for good */
        if (mapped) {
            hak_os_huge_pages(base, HAK_SUPERSLAB_BYTES, false);
            return ss;
        }
    }
    return NULL;
}

static struct hak_superslab *stage_3(int *unit)
{
    struct hak_superslab *ss = map_released();
    if (ss == NULL)
        ss = hak_region_take_superslab();
    if (ss == NULL)
        return NULL;
    struct hak_superslab *h = ss;
    h->free = ~h->reserved;
    h->tier = HAK_TIER_EMPTY;
    bucket_insert(ss);
    pool.totals.units_free += hak_popcount(h->free);
    h->lazy = 0;
    pool.totals.superslabs_empty++;
    if (++pool.totals.superslabs > pool.totals.superslabs_peak)
        pool.totals.superslabs_peak = pool.totals.superslabs;
    *unit = __builtin_ctz(h->free);
    return ss;
}

static bool wants_huge(const struct hak_superslab *ss)
{
    if (hak_options.thp == HAK_THP_NEVER || ss->huge || ss->reserved != 0)
        return false;
    return hak_options.thp == HAK_THP_ALWAYS ||
           (ss->use == HAK_USE_DENSE && pool.in_use[HAK_USE_DENSE] >= HUGE_FROM);
}

static struct hak_slab *take_run(struct hak_superslab *ss, unsigned unit, unsigned n,
                                 enum hak_use use, bool *zeroed)
{
    struct hak_superslab *h = ss;
    uint32_t run = run_mask(unit, n);
    if (h->tier == HAK_TIER_EMPTY)
        h->use = use == HAK_USE_DENSE ? HAK_USE_DENSE : HAK_USE_SPARSE;
    *zeroed = ((h->dirty | h->lazy) & run) == 0;
    if (h->tier == HAK_TIER_EMPTY && h->dirty == 0 && wants_huge(ss)) {
        h->huge = 1;
        hak_os_huge_pages((void *)hak_superslab_base(ss), HAK_SUPERSLAB_BYTES, true);
    }
    h->lazy &= ~run;
    set_masks(ss, h->free & ~run, h->dirty & ~run);
    if (h->dirty == 0)
        queue_remove(ss);
    return hak_superslab_units(ss) + unit;
}

/* Whether the hard limit lets these units be taken; dirty ones are held already. */
static bool allowed(const struct hak_superslab *ss, unsigned unit, unsigned n)
{
    return hak_held_allows((size_t)hak_popcount(run_mask(unit, n) & ~ss->dirty) << HAK_UNIT_SHIFT);
}

struct hak_slab *hak_pool_take_units(unsigned n, enum hak_use use, bool *zeroed)
{
    int unit = 0;
    struct hak_slab *slab = NULL;
    bool populate = false;
    uint32_t now = hak_os_now_ms();
    hak_lock_acquire(&pool.lock);
    before_change(now);
    struct hak_superslab *ss = stage_2(n, use, &unit);
    /* The first SuperSlab of a region is short; a second new one always has room. */
    for (int tries = 0; ss == NULL && tries < 2; tries++) {
        ss = stage_3(&unit);
        if (ss == NULL)
            break;
        unit = find_run(ss->free, n, use);
        if (unit < 0)
            ss = NULL;
    }
    if (ss != NULL && allowed(ss, (unsigned)unit, n))
        slab = take_run(ss, (unsigned)unit, n, use, zeroed);
    if (slab != NULL && *zeroed && use == HAK_USE_DENSE && !ss->huge)
        populate = hak_growth_note(&pool.growth, now, n);
    after_change();
    hak_lock_release(&pool.lock);
    if (HAK_UNLIKELY(populate))
        hak_os_populate((void *)hak_slab_base(slab), (size_t)n << HAK_UNIT_SHIFT);
    return slab;
}

void hak_pool_give_units(struct hak_slab *first, unsigned n, bool touched)
{
    struct hak_superslab *ss = hak_slab_superslab(first);
    struct hak_superslab *h = ss;
    uint32_t run = run_mask((unsigned)(first - hak_superslab_units(ss)), n);
    uint32_t now = hak_os_now_ms();
    hak_lock_acquire(&pool.lock);
    HAK_ASSERT((h->free & run) == 0);
    before_change(now);
    set_masks(ss, h->free | run, touched ? h->dirty | run : h->dirty);
    after_change();
    if (touched) {
        queue_remove(ss);
        queue_append(ss);
    }
    hak_lock_release(&pool.lock);
}

bool hak_pool_extend_units(struct hak_slab *first, unsigned n, unsigned more)
{
    struct hak_superslab *ss = hak_slab_superslab(first);
    unsigned end = (unsigned)(first - hak_superslab_units(ss)) + n;
    if (end + more > HAK_UNITS)
        return false;
    uint32_t run = run_mask(end, more);
    uint32_t now = hak_os_now_ms();
    hak_lock_acquire(&pool.lock);
    before_change(now);
    bool fits = (ss->free & run) == run && allowed(ss, end, more);
    if (fits) {
        bool zeroed;
        take_run(ss, end, more, HAK_USE_SPARSE, &zeroed);
        after_change();
    }
    hak_lock_release(&pool.lock);
    return fits;
}

/* --- orphans --- */

void hak_pool_push_orphan(struct hak_slab *slab)
{
    struct hak_slab **head = &pool.orphans[slab->size_class];
    slab->prev = NULL;
    slab->next = *head;
    if (*head != NULL)
        (*head)->prev = slab;
    *head = slab;
}

void hak_pool_remove_orphan(struct hak_slab *slab)
{
    *(slab->prev ? &slab->prev->next : &pool.orphans[slab->size_class]) = slab->next;
    if (slab->next != NULL)
        slab->next->prev = slab->prev;
    slab->next = slab->prev = NULL;
}

struct hak_slab *hak_pool_first_orphan(unsigned size_class)
{
    return pool.orphans[size_class];
}

/* --- purge --- */

bool hak_purge_begin(bool wait)
{
    if (hak_lock_try(&pool.purge_lock))
        return true;
    if (wait)
        hak_lock_acquire(&pool.purge_lock);
    return wait;
}

void hak_purge_end(void)
{
    hak_lock_release(&pool.purge_lock);
}

bool hak_pool_unhuge(struct hak_superslab *ss, bool wanted)
{
    hak_lock_acquire(&pool.lock);
    bool huge = ss->huge;
    if (wanted)
        ss->huge = 0;
    hak_lock_release(&pool.lock);
    if (huge && wanted)
        hak_os_huge_pages((void *)hak_superslab_base(ss), HAK_SUPERSLAB_BYTES, false);
    return !huge || wanted;
}

bool hak_pool_purge_pending(void)
{
    return hak_load_relaxed(&pool.purge_waiting) != 0;
}

/* At most n of the dirty units, the highest: allocation goes for the lowest. All of a huge page goes at
 * once, or it would be split and stay. */
static uint32_t units_to_purge(const struct hak_superslab *ss, uint32_t n)
{
    uint32_t units = ss->dirty;
    uint32_t too_many = hak_popcount(units);
    if (ss->huge)
        return units;
    for (; too_many > n; too_many--)
        units &= units - 1;
    return units;
}

/* Gives back the page of unit descriptors that the SuperSlab's lie in, if all units of that page are free and
 * clean. What a stale pointer finds there then is zero, which is no slab. Under the lock, which is open
 * during the system call; nobody can be given the units meanwhile. */
static void purge_descriptors(struct hak_superslab *ss)
{
    const size_t page = hak_os_page_size(), each = HAK_UNITS * sizeof(struct hak_slab);
    const uintptr_t units = (uintptr_t)hak_superslab_units(ss), start = units & ~(page - 1);
    struct hak_superslab *first = ss - (units - start) / each;
    const size_t n = page / each;
    for (size_t i = 0; i < n; i++)
        if (first[i].free != UINT32_MAX || first[i].dirty != 0)
            return;
    for (size_t i = 0; i < n; i++)
        set_masks(&first[i], 0, 0);
    hak_lock_release(&pool.lock);
    hak_os_purge((void *)start, page, false);
    hak_lock_acquire(&pool.lock);
    for (size_t i = 0; i < n; i++)
        set_masks(&first[i], UINT32_MAX, 0);
}

/* Gives back up to n units; returns how many went. Units are out of the free mask while the lock is open,
 * so nobody can be given them. */
static uint32_t purge_superslab(struct hak_superslab *ss, uint32_t n)
{
    struct hak_superslab *h = ss;
    uint32_t units = units_to_purge(ss, n), failed = 0;
    char *base = (char *)hak_superslab_base(ss);
    bool lazy = hak_options.purge == HAK_PURGE_FREE;
    queue_remove(ss);
    set_masks(ss, h->free & ~units, h->dirty & ~units);
    bool unhuge = h->huge;
    h->huge = 0;
    hak_lock_release(&pool.lock);
    if (unhuge) /* or the kernel would fill the hole again */
        hak_os_huge_pages(base, HAK_SUPERSLAB_BYTES, false);
    for (uint32_t left = units; left != 0;) {
        unsigned unit = (unsigned)__builtin_ctz(left);
        unsigned run = (unsigned)__builtin_ctzll(~((uint64_t)left >> unit));
        char *start = base + ((size_t)unit << HAK_UNIT_SHIFT);
        if (!hak_os_purge(start, (size_t)run << HAK_UNIT_SHIFT, lazy))
            failed |= run_mask(unit, run);
        left &= ~run_mask(unit, run);
    }
    hak_lock_acquire(&pool.lock);
    uint32_t gone = hak_popcount(units & ~failed);
    if (h->dirty != 0) { /* what failed alone is not tried again before the next unit comes */
        queue_remove(ss);
        queue_append(ss);
    }
    h->lazy |= lazy ? units & ~failed : 0;
    set_masks(ss, h->free | units, h->dirty | failed);
    hak_decay_purged(&pool.decay, gone);
    pool.totals.purges++;
    pool.totals.purged_bytes += (uint64_t)gone << HAK_UNIT_SHIFT;
    purge_descriptors(ss);
    return gone;
}

/* How many units are due at now_ms. */
static uint32_t units_due(uint32_t now_ms)
{
    if (hak_options.decay_ms <= 0)
        return hak_options.decay_ms == 0 ? UINT32_MAX : 0;
    before_change(now_ms);
    return hak_decay_surplus(&pool.decay, units_used());
}

size_t hak_pool_purge(uint32_t now_ms, unsigned max_superslabs, bool everything)
{
    size_t units = 0;
    /* That time is never further away than the interval; any other difference is a stale one. */
    bool early = hak_load_relaxed(&pool.look_ms) - now_ms - 1 < (uint32_t)hak_options.decay_ms;
    if ((!everything && early && hak_options.decay_ms > 0) || !hak_purge_begin(everything))
        return 0;
    hak_lock_acquire(&pool.lock);
    uint32_t due = everything ? UINT32_MAX : units_due(now_ms);
    while (max_superslabs-- > 0 && units < due && pool.purge_head != NULL)
        units += purge_superslab(pool.purge_head, due - (uint32_t)units);
    if (units >= due || pool.purge_head == NULL)
        hak_store_relaxed(&pool.look_ms, pool.decay.started_ms + step_ms());
    hak_lock_release(&pool.lock);
    hak_purge_end();
    return units << HAK_UNIT_SHIFT;
}

size_t hak_pool_release_empty(void)
{
    size_t bytes = 0;
    hak_lock_acquire(&pool.lock);
    struct hak_superslab *next;
    for (struct hak_superslab *ss = pool.buckets[HAK_TIER_EMPTY * BUCKETS + HAK_UNITS]; ss != NULL;
         ss = next) {
        next = ss->next;
        if (!hak_os_unmap((void *)hak_superslab_base(ss), HAK_SUPERSLAB_BYTES))
            continue;
        queue_remove(ss);
        set_masks(ss, ss->free, 0);
        bucket_remove(ss);
        pool.totals.units_free -= HAK_UNITS;
        pool.totals.superslabs_empty--;
        pool.totals.superslabs--;
        ss->free = 0;
        ss->lazy = 0;
        ss->huge = 0;
        ss->next = pool.released;
        pool.released = ss;
        bytes += HAK_SUPERSLAB_BYTES;
    }
    hak_lock_release(&pool.lock);
    return bytes;
}

void hak_pool_totals_read(struct hak_pool_totals *out)
{
    hak_lock_acquire(&pool.lock);
    *out = pool.totals;
    hak_lock_release(&pool.lock);
}
