#include "large/run.h"

#include "harden/abort.h"
#include "os/os.h"
#include "space/shared_pool.h"

enum {
    RUN_LIVE = 1, /* slab->state of a run: the block is the program's */
    RUN_CACHED = 2,
    CACHE_BYTES = 512 << 10, /* of runs in the cache of one heap */
};

static unsigned units_for(size_t bytes)
{
    return (unsigned)((bytes + HAK_UNIT_BYTES - 1) >> HAK_UNIT_SHIFT);
}

static struct hak_slab *cache_take(struct hak_heap *heap, unsigned units)
{
    if (units > HAK_RUN_UNITS_CACHED || !heap->real)
        return NULL;
    struct hak_run_cache *cache = &heap->run_cache[units - 1];
    if (cache->count == 0)
        return NULL;
    heap->run_cache_bytes -= (size_t)units << HAK_UNIT_SHIFT;
    return cache->runs[--cache->count];
}

static bool cache_put(struct hak_heap *heap, struct hak_slab *run, unsigned units)
{
    size_t bytes = (size_t)units << HAK_UNIT_SHIFT;
    if (units > HAK_RUN_UNITS_CACHED || !heap->real || heap->run_cache_bytes + bytes > CACHE_BYTES)
        return false;
    struct hak_run_cache *cache = &heap->run_cache[units - 1];
    if (cache->count == HAK_RUNS_CACHED)
        return false;
    cache->runs[cache->count++] = run;
    heap->run_cache_bytes += bytes;
    return true;
}

static void set_units(struct hak_slab *run, unsigned from, unsigned to)
{
    uintptr_t base = hak_slab_base(run);
    for (unsigned u = from; u < to; u++)
        hak_store_relaxed(&run[u].back, (uint8_t)u);
    if (from == 0)
        hak_unit_map_set(base, 1, HAK_WORD_RUN);
    from += from == 0;
    hak_unit_map_set(base + ((uintptr_t)from << HAK_UNIT_SHIFT), to - from, HAK_WORD_INSIDE);
}

void *hak_run_alloc(struct hak_heap *heap, size_t size, bool *zeroed)
{
    size_t bytes = hak_round_up(size, hak_os_page_size());
    unsigned units = units_for(bytes);
    struct hak_slab *run = cache_take(heap, units);
    *zeroed = false;
    if (run == NULL) {
        run = hak_pool_take_units(units, HAK_USE_RUN, zeroed);
        if (run == NULL)
            return NULL;
        hak_store_relaxed(&run->run_bytes, bytes); /* before the map says that it is one */
        set_units(run, 0, units);
    }
    hak_store_relaxed(&run->run_bytes, bytes);
    hak_store_relaxed(&run->state, RUN_LIVE);
    return (void *)hak_slab_base(run);
}

/* The run that p starts, after checking that it does and is in use. */
static struct hak_slab *checked(uintptr_t p, uint32_t word, const void *caller)
{
    if (HAK_UNLIKELY(word != HAK_WORD_RUN || (p & (HAK_UNIT_BYTES - 1)) != 0))
        hak_misuse_abort(p % 16 != 0 ? HAK_MISUSE_MISALIGNED : HAK_MISUSE_INTERIOR, (void *)p, 0,
                         caller);
    struct hak_slab *run = hak_unit_of(p);
    if (HAK_UNLIKELY(hak_load_relaxed(&run->state) != RUN_LIVE))
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
    unsigned units = units_for(hak_load_relaxed(&run->run_bytes));
    uint64_t live = RUN_LIVE;
    if (HAK_UNLIKELY(!hak_cas_acq_rel(&run->state, &live, RUN_CACHED)))
        hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, hak_load_relaxed(&run->run_bytes), caller);
    if (!cache_put(heap, run, units))
        give_back(run, units);
}

bool hak_run_resize(uintptr_t p, size_t size)
{
    struct hak_slab *run = hak_unit_of(p);
    size_t bytes = hak_round_up(size, hak_os_page_size());
    unsigned have = units_for(hak_load_relaxed(&run->run_bytes)), want = units_for(bytes);
    if (want > have) {
        if (!hak_pool_extend_units(run, have, want - have))
            return false;
        set_units(run, have, want);
    } else if (want < have) {
        uintptr_t tail = p + ((uintptr_t)want << HAK_UNIT_SHIFT);
        hak_unit_map_set(tail, have - want, 0);
        hak_pool_give_units(run + want, have - want, true);
    }
    hak_store_relaxed(&run->run_bytes, bytes);
    return true;
}

size_t hak_run_usable(uintptr_t p, uint32_t word, const void *caller)
{
    return hak_load_relaxed(&checked(p, word, caller)->run_bytes);
}

void hak_run_cache_flush(struct hak_heap *heap)
{
    for (unsigned units = 1; units <= HAK_RUN_UNITS_CACHED; units++) {
        struct hak_slab *run;
        while ((run = cache_take(heap, units)) != NULL)
            give_back(run, units);
    }
}
