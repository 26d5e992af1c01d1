#include "core/scavenger.h"

#include "config/options.h"
#include "large/large.h"
#include "large/run.h"
#include "os/os.h"
#include "os/pressure.h"
#include "space/held.h"
#include "space/metadata.h"
#include "tiny/slab.h"

enum {
    PASSES = 5,      /* in HAKMEM_IDLE_RETURN_MS */
    IDLE_PASSES = 3, /* after so many without a change, what is dirty is not waited for */
    PRESSURE_PASSES = 10,       /* between two looks at the memory of the system */
    FREE_WORTH = 1 << 20,       /* bytes that are worth the calls when there is too much */
    START_UNITS = 512,          /* in use, for which slabs alone may have much to give back */
    BLOCK = 4096,               /* the smallest page */
    SPLIT_BYTES = 256 << 10,    /* in a SuperSlab, for which its huge page is given up */
};

enum phase { OFF, NONE, STARTING, AWAKE, ASLEEP, REFUSED };

static struct {
    _Atomic uint32_t phase;
    _Atomic uint32_t stop; /* also what it sleeps on while awake */
    /* What it saw at the last pass. */
    uint32_t changes, quiet, passes;
    uint64_t large;
} scavenger;

/* A slab in use goes through these stages, one at each pass that finds its state word as it was; any
 * change of it leads back to FRESH. So pages of free blocks go back that were free all that time, while a
 * slab in use by its owner is never claimed twice in a row. */
enum stage { FRESH, SAME, DONE };

struct hak_mark {
    uint32_t state; /* of the state word, a hash */
    uint16_t bits;  /* of the free bits, a hash; one that is the same by chance makes a purge early */
    uint8_t blocks; /* of 4 KiB, that could go back */
    uint8_t stage;
};

struct scan {
    bool now; /* do not wait for stages */
    bool changed;
    size_t bytes;
};

static uint32_t state_hash(uint64_t state)
{
    return (uint32_t)((state & ~HAK_SLAB_BUSY) * 0x9e3779b97f4a7c15ull >> 32);
}

/* The first look measures, the second one purges, if small pages are behind it or will be. */
static void look_inside(struct scan *scan, struct hak_slab *slab, struct hak_mark *mark, bool small)
{
    size_t bytes;
    if (!hak_slab_purge_begin(slab)) {
        mark->stage = FRESH;
        scan->changed = true;
        return;
    }
    uint16_t bits = (uint16_t)hak_slab_purgeable(slab, &bytes);
    bool same = mark->stage != FRESH && mark->bits == bits;
    if (scan->now || (same && small)) {
        bool again = mark->stage == DONE && same && mark->blocks == 0;
        size_t gone = hak_slab_purge_pages(slab);
        scan->bytes += again ? 0 : gone;
        bytes = 0;
    }
    hak_slab_purge_end(slab);
    mark->stage = same || scan->now ? DONE : SAME;
    mark->bits = bits;
    mark->blocks = (uint8_t)(bytes / BLOCK);
    scan->changed |= !same;
}

static void scan_slab(struct scan *scan, struct hak_slab *slab, struct hak_mark *mark, bool small)
{
    uint64_t state = hak_load_acquire(&slab->state);
    uint32_t hash = state_hash(state);
    if (mark->state != hash) {
        *mark = (struct hak_mark){.state = hash};
        scan->changed = true;
        if (!scan->now)
            return;
    }
    if (mark->stage == DONE && !scan->now && (mark->blocks == 0 || !small))
        return;
    if (hak_state_used(state) != 0)
        look_inside(scan, slab, mark, small);
    else if (mark->stage == SAME || scan->now)
        hak_slab_emptied(slab, state); /* a warm one, which its heap did not ask for */
    else
        mark->stage = SAME;
}

/* A page run in a heap's cache, by the same stages. */
static void scan_run(struct scan *scan, struct hak_slab *run, struct hak_mark *mark, bool small)
{
    uint64_t state = hak_load_relaxed(&run->state);
    uint32_t hash = state_hash(state);
    if (hak_run_phase(state) != HAK_RUN_CACHED) {
        *mark = (struct hak_mark){.state = hash, .stage = DONE};
        return;
    }
    if (mark->state != hash || mark->stage == DONE) {
        *mark = (struct hak_mark){.state = hash};
        scan->changed = true;
    }
    if (scan->now || (mark->stage == SAME && small)) {
        scan->bytes += hak_run_purge(run);
        mark->stage = DONE;
    } else {
        mark->stage = SAME;
    }
    mark->blocks = mark->stage == DONE ? 0 : UINT8_MAX;
}

static bool has_free(struct hak_slab *slab)
{
    const struct hak_size_class *c = &hak_size_classes[hak_load_relaxed(&slab->size_class)];
    return hak_state_used(hak_load_relaxed(&slab->state)) < c->capacity;
}

/* Under the purge lock. */
static void scan_superslab(struct scan *scan, struct hak_superslab *ss)
{
    uintptr_t base = hak_superslab_base(ss);
    struct hak_slab *units = hak_superslab_units(ss);
    size_t purgeable = 0;
    for (unsigned u = 0; ss->marks != NULL && u < HAK_UNITS; u++)
        purgeable += ss->marks[u].blocks * (size_t)BLOCK;
    bool small = scan->now || purgeable != 0;
    if (small) /* nobody may take the pool lock once a slab is claimed */
        small = hak_pool_unhuge(ss, scan->now || purgeable >= SPLIT_BYTES);
    for (unsigned u = 0; u < HAK_UNITS; u++) {
        uint32_t word = hak_unit_map_get(base + ((uintptr_t)u << HAK_UNIT_SHIFT));
        bool slab = word != 0 && (word & HAK_WORD_SPECIAL) != HAK_WORD_SPECIAL &&
                    hak_load_relaxed(&units[u].back) == 0;
        bool run = word == HAK_WORD_RUN;
        if (ss->marks == NULL &&
            ((slab && (scan->now || has_free(&units[u]))) ||
             (run && hak_run_phase(hak_load_relaxed(&units[u].state)) == HAK_RUN_CACHED)))
            ss->marks = hak_metadata_alloc(HAK_UNITS * sizeof *ss->marks);
        if (ss->marks == NULL)
            continue;
        if (slab)
            scan_slab(scan, &units[u], &ss->marks[u], small);
        else if (run)
            scan_run(scan, &units[u], &ss->marks[u], small);
        else if (ss->marks[u].state != 0)
            ss->marks[u] = (struct hak_mark){0};
    }
}

/* The lock is open between SuperSlabs: a fork waits for one of them at most. */
static void scan_all(struct scan *scan)
{
    for (struct hak_region *r = hak_load_acquire(&hak_space.region); r != NULL; r = r->older) {
        uint32_t n = hak_load_acquire(&r->next);
        for (uint32_t i = r->first; i < n; i++) {
            uintptr_t base = (uintptr_t)r + ((uintptr_t)i << HAK_SUPERSLAB_SHIFT);
            hak_purge_begin(true);
            scan_superslab(scan, hak_superslab_of(base));
            hak_purge_end();
        }
    }
}

size_t hak_scavenge_slabs_now(void)
{
    struct scan scan = {.now = true};
    scan_all(&scan);
    return scan.bytes;
}

void hak_scavenge_free_now(void)
{
    struct hak_pool_totals units;
    struct hak_large_totals large;
    hak_pool_totals_read(&units);
    hak_large_totals_read(&large);
    if ((units.units_dirty << HAK_UNIT_SHIFT) + large.cached_bytes < FREE_WORTH)
        return;
    hak_large_purge(0, true);
    hak_pool_purge(0, UINT32_MAX, true);
}

static void look_at_system(void)
{
    if (scavenger.passes++ % PRESSURE_PASSES != 0)
        return;
    unsigned level = hak_os_pressure("/proc", "/sys/fs/cgroup");
    hak_pool_set_pressure(level);
    if (level == HAK_PRESSURE_MAX)
        hak_scavenge_free_now();
}

bool hak_scavenger_pass(uint32_t now_ms)
{
    struct hak_large_totals large;
    struct scan scan = {0};
    uint32_t changes = hak_pool_changes(); /* before its own */
    scan_all(&scan);
    bool changed = changes != scavenger.changes || scan.changed;
    scavenger.quiet = changes == scavenger.changes ? scavenger.quiet + 1 : 0;
    bool idle = scavenger.quiet >= IDLE_PASSES;
    hak_pool_purge(now_ms, UINT32_MAX, idle);
    /* Mappings have a time each: that of the decay, or less. */
    int most = hak_options.idle_return_ms * IDLE_PASSES / PASSES;
    int early = hak_options.decay_ms > most ? hak_options.decay_ms - most : 0;
    hak_large_purge(now_ms + (uint32_t)early, false);
    hak_large_totals_read(&large);
    uint64_t sum = large.live_bytes + large.live_count + large.cached_bytes;
    changed |= sum != scavenger.large;
    scavenger.changes = hak_pool_changes();
    scavenger.large = sum;
    return changed;
}

/* --- the thread --- */

/* Sleeps until the alarm. A change just before it was armed is seen after one period more: threads store and
 * load without a fence. */
static void sleep_untimed(int period)
{
    atomic_store(&scavenger.phase, ASLEEP);
    atomic_store(&hak_pool_armed, 1);
    hak_os_wait(&scavenger.phase, ASLEEP, period);
    if (hak_pool_changes() != scavenger.changes || atomic_load(&scavenger.stop) != 0)
        hak_scavenger_call();
    while (atomic_load(&scavenger.phase) == ASLEEP)
        hak_os_wait(&scavenger.phase, ASLEEP, HAK_OS_FOREVER);
}

static void body(void)
{
    int period = hak_options.idle_return_ms / PASSES + 1;
    uint32_t unchanged = 0;
    while (hak_load_acquire(&scavenger.stop) == 0) {
        hak_os_wait(&scavenger.stop, 0, period);
        unchanged = hak_scavenger_pass(hak_os_now_ms()) ? 0 : unchanged + 1;
        look_at_system();
        if (hak_held_too_much())
            hak_scavenge_free_now();
        if (unchanged > PASSES && hak_load_acquire(&scavenger.stop) == 0) {
            sleep_untimed(period);
            unchanged = 0;
        }
    }
    hak_store_relaxed(&scavenger.stop, 0);
    hak_store_relaxed(&hak_pool_armed, 1);
    hak_store_release(&scavenger.phase, NONE);
}

static bool change_phase(enum phase from, enum phase to)
{
    uint32_t expected = from;
    return atomic_compare_exchange_strong(&scavenger.phase, &expected, to);
}

void hak_scavenger_call(void)
{
    hak_store_relaxed(&hak_pool_alarm, 0);
    hak_store_relaxed(&hak_pool_armed, 0);
    if (change_phase(ASLEEP, AWAKE)) {
        hak_os_wake(&scavenger.phase);
    } else if (change_phase(NONE, STARTING)) {
        bool started = hak_os_thread_start(body, "hakmem-scav");
        change_phase(STARTING, started ? AWAKE : REFUSED);
    }
}

void hak_scavenger_tick(void)
{
    enum phase phase = hak_load_relaxed(&scavenger.phase);
    if (phase == ASLEEP || (phase == NONE && hak_pool_units_used() >= START_UNITS))
        hak_pool_raise();
}

void hak_scavenger_refuse(void)
{
    change_phase(NONE, REFUSED);
}

void hak_scavenger_stop(void)
{
    enum phase phase = atomic_load(&scavenger.phase);
    if (phase != STARTING && phase != AWAKE && phase != ASLEEP)
        return;
    atomic_store(&scavenger.stop, 1);
    hak_os_wake(&scavenger.stop);
    if (change_phase(ASLEEP, AWAKE))
        hak_os_wake(&scavenger.phase);
}

void hak_scavenger_allow(void)
{
    if (hak_options.idle_return_ms <= 0 || hak_options.decay_ms < 0)
        return;
    hak_store_relaxed(&hak_pool_armed, 1);
    change_phase(OFF, NONE);
}

void hak_scavenger_fork_child(void)
{
    hak_store_relaxed(&scavenger.stop, 0);
    hak_store_relaxed(&hak_pool_alarm, 0);
    if (hak_load_relaxed(&scavenger.phase) == OFF)
        return;
    hak_store_relaxed(&hak_pool_armed, 1);
    hak_store_relaxed(&scavenger.phase, NONE);
}
