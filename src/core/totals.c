#include "core/totals.h"

#include "core/heap.h"
#include "large/large.h"
#include "large/run.h"
#include "space/metadata.h"
#include "space/shared_pool.h"
#include "tiny/slab.h"

static void add_unit(struct hak_totals *out, uintptr_t base, struct hak_slab *unit)
{
    uint32_t word = hak_unit_map_get(base);
    if (word == 0 || word == HAK_WORD_GONE)
        return;
    out->slab_bytes += HAK_UNIT_BYTES;
    if ((word & HAK_WORD_RUN) == HAK_WORD_RUN) {
        /* A cached run is not in use. The unit may change hands while it is read: what cannot be is
         * not counted. */
        if (!hak_word_is_user(word) && hak_run_phase(hak_load_relaxed(&unit->state)) != HAK_RUN_LIVE)
            return;
        size_t bytes = hak_load_relaxed(&unit->run_bytes);
        out->used_bytes += bytes <= HAK_RUN_MAX ? bytes : 0;
    } else if ((word & HAK_WORD_SPECIAL) != HAK_WORD_SPECIAL && hak_load_relaxed(&unit->back) == 0) {
        uint8_t size_class = hak_load_relaxed(&unit->size_class);
        if (size_class >= HAK_CLASSES) /* a user heap's run a moment ago */
            return;
        const struct hak_size_class *c = &hak_size_classes[size_class];
        uint32_t used = hak_state_used(hak_load_relaxed(&unit->state));
        uint32_t cached = hak_slab_cached(unit, c);
        used = used < c->capacity ? used : c->capacity;
        out->used_bytes += (uint64_t)(used > cached ? used - cached : 0) * c->size;
    }
}

static void add_region(struct hak_totals *out, struct hak_region *region)
{
    uint32_t n = hak_load_acquire(&region->next);
    for (uint32_t i = region->first; i < n; i++) {
        uintptr_t base = (uintptr_t)region + ((uintptr_t)i << HAK_SUPERSLAB_SHIFT);
        struct hak_slab *units = hak_unit_of(base);
        for (unsigned u = 0; u < HAK_UNITS; u++)
            add_unit(out, base + ((uintptr_t)u << HAK_UNIT_SHIFT), &units[u]);
    }
}

void hak_totals_read(struct hak_totals *out)
{
    struct hak_pool_totals pool;
    struct hak_large_totals large;
    *out = (struct hak_totals){0};
    if (!hak_init())
        return;
    hak_pool_totals_read(&pool);
    hak_large_totals_read(&large);
    hak_heap_counts(&out->heaps_live, &out->heaps_made);
    for (struct hak_region *r = hak_space.region; r != NULL; r = r->older)
        add_region(out, r);
    out->superslab_bytes = (pool.superslabs - pool.superslabs_empty) << HAK_SUPERSLAB_SHIFT;
    out->large_bytes = large.live_bytes;
    out->large_count = large.live_count;
    out->metadata_bytes = hak_metadata_bytes();
    out->superslabs = pool.superslabs;
    out->superslabs_peak = pool.superslabs_peak;
    out->units_free = pool.units_free;
    out->purges = pool.purges;
    out->purged_bytes = pool.purged_bytes;
    out->slabs_made = hak_slabs_made();
    out->unreached_bytes = hak_heap_cached_elsewhere();
}
