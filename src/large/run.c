#include "large/run.h"

#include "config/options.h"
#include "harden/abort.h"
#include "space/shared_pool.h"

enum {
    LIMIT_MIN = 8,   /* units in the cache of one heap: 512 KiB, */
    LIMIT_MAX = 1024,/* and 64 MiB at most */
    OVERFLOWS = 16,  /* runs that found no place, between two looks at the limit */
    GROW_MS = 8,     /* so many in that time, and the limit doubles; */
    SHRINK_MS = 500, /* in more than this, and it halves */
};

void hak_run_init(struct hak_heap *heap)
{
    heap->run_cache.limit = LIMIT_MIN;
}

/* --- the cache: how much it may hold follows the rate at which it overflows --- */

static HAK_NOINLINE void note_overflow(struct hak_run_cache *cache)
{
    if (++cache->overflows < OVERFLOWS)
        return;
    uint32_t now = hak_os_now_ms(), passed = now - cache->limit_ms;
    if (passed <= GROW_MS && cache->limit < LIMIT_MAX)
        cache->limit *= 2;
    else if (passed > SHRINK_MS && cache->limit > LIMIT_MIN)
        cache->limit /= 2;
    cache->overflows = 0;
    cache->limit_ms = now;
}

static bool cache_put(struct hak_heap *heap, uintptr_t base, uint32_t units)
{
    if (HAK_UNLIKELY(!heap->real))
        return false;
    struct hak_run_cache *cache = &heap->run_cache;
    uint32_t count = cache->counts[units - 1];
    if (HAK_UNLIKELY(count == HAK_RUNS_CACHED || cache->units + units > cache->limit)) {
        note_overflow(cache);
        return false;
    }
    cache->units_at[units - 1][count] = (uint32_t)(base >> HAK_UNIT_SHIFT);
    cache->counts[units - 1] = (uint8_t)(count + 1);
    cache->lengths |= 1u << (units - 1);
    cache->units += units;
    return true;
}

/* --- runs --- */

static void set_units(struct hak_slab *run, unsigned from, unsigned to)
{
    uintptr_t base = hak_slab_base(run);
    for (unsigned u = from; u < to; u++)
        hak_store_relaxed(&run[u].back, (uint8_t)u);
    run->run_units = (uint8_t)to;
    if (from == 0)
        hak_unit_map_set(base, 1, HAK_WORD_RUN);
    from += from == 0;
    hak_unit_map_set(base + ((uintptr_t)from << HAK_UNIT_SHIFT), to - from, HAK_WORD_INSIDE);
}

void *hak_run_alloc(struct hak_heap *heap, size_t size, bool *zeroed)
{
    *zeroed = false;
    if (heap->real) {
        void *p = hak_run_alloc_cached(heap, size);
        if (p != NULL)
            return p;
    }
    unsigned units = (unsigned)((size + HAK_UNIT_BYTES - 1) >> HAK_UNIT_SHIFT);
    struct hak_slab *run = hak_pool_take_units(units, HAK_USE_RUN, zeroed);
    if (run == NULL)
        return NULL;
    hak_store_relaxed(&run->run_bytes, hak_round_up(size, hak_os_page_size()));
    hak_store_relaxed(&run->state, HAK_RUN_LIVE);
    set_units(run, 0, units); /* the map says last that it is one */
    return (void *)hak_slab_base(run);
}

/* The state of a run in use that belongs to the user heap; its word. */
static uint64_t owned_state(uint32_t owner)
{
    return hak_slab_state(owner, HAK_SLAB_OWNED, 1);
}

static uint32_t owned_word(uint32_t owner)
{
    return HAK_WORD_RUN | owner << 8;
}

static HAK_COLD _Noreturn void no_run(uintptr_t p, uint32_t word, const void *caller)
{
    hak_misuse_abort(word == HAK_WORD_GONE ? HAK_MISUSE_HEAP_GONE
                     : p % 16 != 0         ? HAK_MISUSE_MISALIGNED
                                           : HAK_MISUSE_INTERIOR,
                     (void *)p, 0, caller);
}

/* The run whose block p is, after checking that it is one and in use. */
static struct hak_slab *checked(uintptr_t p, uint32_t word, const void *caller)
{
    struct hak_slab *run = hak_unit_of(p);
    if (HAK_UNLIKELY(word != HAK_WORD_RUN || (p & (HAK_UNIT_BYTES - 1)) != 0))
        no_run(p, word, caller);
    if (HAK_UNLIKELY(hak_run_phase(hak_load_relaxed(&run->state)) != HAK_RUN_LIVE))
        hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, hak_load_relaxed(&run->run_bytes), caller);
    return run;
}

static void give_back(struct hak_slab *run, unsigned units)
{
    hak_unit_map_set(hak_slab_base(run), units, 0);
    hak_store_relaxed(&run->state, 0);
    hak_pool_give_units(run, units, true);
    if (hak_pool_purge_pending())
        hak_pool_purge(hak_os_now_ms(), 2, false);
}

void hak_run_free(struct hak_heap *heap, uintptr_t p, uint32_t word, const void *caller)
{
    struct hak_slab *run = checked(p, word, caller);
    unsigned units = run->run_units;
    uint64_t state = hak_load_relaxed(&run->state);
    if (HAK_UNLIKELY(hak_run_phase(state) != HAK_RUN_LIVE ||
                     !hak_cas_acq_rel(&run->state, &state,
                                      (state & ~(uint64_t)HAK_RUN_PHASE) | HAK_RUN_CACHED)))
        hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, hak_load_relaxed(&run->run_bytes), caller);
    if (!cache_put(heap, p, units)) {
        hak_run_revive(run); /* out of a purge's reach */
        give_back(run, units);
    }
}

size_t hak_run_purge(struct hak_slab *run)
{
    uint64_t state = hak_load_relaxed(&run->state);
    if (hak_run_phase(state) != HAK_RUN_CACHED)
        return 0;
    uint64_t use = state & ~(uint64_t)HAK_RUN_PHASE;
    if (!hak_cas_acq_rel(&run->state, &state, use | HAK_RUN_PURGING))
        return 0;
    size_t bytes = (size_t)run->run_units << HAK_UNIT_SHIFT;
    bool gone = hak_os_purge((void *)hak_slab_base(run), bytes, hak_options.purge == HAK_PURGE_FREE);
    hak_store_release(&run->state, use | HAK_RUN_PURGED);
    return gone ? bytes : 0;
}

struct hak_slab *hak_run_own(uintptr_t p, uint32_t owner)
{
    struct hak_slab *run = hak_unit_of(p);
    hak_store_relaxed(&run->size_class, HAK_CLASS_RUN);
    hak_store_release(&run->state, owned_state(owner));
    hak_unit_map_set(p, 1, owned_word(owner));
    return run;
}

static struct hak_slab *checked_owned(uintptr_t p, uint32_t word, const void *caller)
{
    struct hak_slab *run = hak_unit_of(p);
    uint32_t owner = hak_word_id(word);
    if (HAK_UNLIKELY(word != owned_word(owner) || (p & (HAK_UNIT_BYTES - 1)) != 0))
        no_run(p, word, caller);
    if (HAK_UNLIKELY(hak_load_relaxed(&run->state) != owned_state(owner)))
        hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, hak_load_relaxed(&run->run_bytes), caller);
    return run;
}

void hak_run_free_owned(uintptr_t p, uint32_t word, const void *caller)
{
    struct hak_slab *run = checked_owned(p, word, caller);
    uint64_t live = owned_state(hak_word_id(word));
    if (HAK_UNLIKELY(!hak_cas_acq_rel(&run->state, &live, 0)))
        hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, hak_load_relaxed(&run->run_bytes), caller);
    give_back(run, run->run_units);
}

bool hak_run_resize(uintptr_t p, size_t size)
{
    struct hak_slab *run = hak_unit_of(p);
    size_t bytes = hak_round_up(size, hak_os_page_size());
    unsigned have = run->run_units;
    unsigned want = (unsigned)((bytes + HAK_UNIT_BYTES - 1) >> HAK_UNIT_SHIFT);
    if (want > have) {
        if (want > HAK_RUN_LENGTHS || !hak_pool_extend_units(run, have, want - have))
            return false;
        set_units(run, have, want);
    } else if (want < have) {
        hak_unit_map_set(p + ((uintptr_t)want << HAK_UNIT_SHIFT), have - want, 0);
        run->run_units = (uint8_t)want;
        hak_pool_give_units(run + want, have - want, true);
    }
    hak_store_relaxed(&run->run_bytes, bytes);
    return true;
}

size_t hak_run_usable(uintptr_t p, uint32_t word, const void *caller)
{
    struct hak_slab *run = hak_word_is_user(word) ? checked_owned(p, word, caller)
                                                  : checked(p, word, caller);
    return hak_load_relaxed(&run->run_bytes);
}

void hak_run_cache_flush(struct hak_heap *heap)
{
    struct hak_run_cache *cache = &heap->run_cache;
    for (unsigned units = 1; units <= HAK_RUN_LENGTHS; units++) {
        for (uint32_t i = cache->counts[units - 1]; i-- > 0;) {
            uintptr_t base = (uintptr_t)cache->units_at[units - 1][i] << HAK_UNIT_SHIFT;
            cache->counts[units - 1] = (uint8_t)i;
            hak_run_revive(hak_unit_of(base));
            give_back(hak_unit_of(base), units);
        }
    }
    cache->lengths = cache->units = cache->overflows = 0;
    cache->limit = LIMIT_MIN;
}
