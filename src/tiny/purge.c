/* Giving back pages of slabs that are in use. Blocks in magazines, deferred maps and among cached bits are
 * not free here: each keeps its pages, and only these.
 *
 * Between begin and end nobody clears a bit of the slab: a refill needs the claim that the purge has. Bits
 * may be set meanwhile; a block whose bit is not seen yet just keeps its pages once more.
 */
#include "config/options.h"
#include "os/os.h"
#include "space/shared_pool.h"
#include "tiny/slab.h"

static unsigned kind_of(uint64_t state)
{
    return state >> HAK_SLAB_KIND_SHIFT & 3;
}

bool hak_slab_purge_begin(struct hak_slab *slab)
{
    uint64_t state = hak_load_relaxed(&slab->state);
    bool orphan = kind_of(state) == HAK_SLAB_ORPHAN, won = false;
    if (orphan) { /* the lock keeps it from being adopted between the look at it and the claim */
        hak_pool_acquire();
        state = hak_load_relaxed(&slab->state);
    }
    while (!won && kind_of(state) == (orphan ? HAK_SLAB_ORPHAN : HAK_SLAB_OWNED) &&
           !(state & HAK_SLAB_BUSY))
        won = hak_cas_acq_rel(&slab->state, &state, state | HAK_SLAB_BUSY);
    if (orphan)
        hak_pool_release();
    return won;
}

void hak_slab_purge_end(struct hak_slab *slab)
{
    uint64_t state = hak_slab_unclaim(slab, 0);
    if (hak_state_used(state) == 0)
        hak_slab_emptied(slab, state);
}

/* The first block from i on that is free, or that is not; the capacity when there is none. */
static uint32_t next_block(const _Atomic uint64_t *bits, unsigned words, uint32_t i, uint32_t capacity,
                           bool is_free)
{
    for (; i < capacity; i = (i | 63) + 1) {
        uint64_t word = hak_load_acquire(&bits[i / 64]) | hak_load_acquire(&bits[words + i / 64]);
        word = (is_free ? word : ~word) >> (i % 64);
        if (word != 0) {
            i += (uint32_t)__builtin_ctzll(word);
            break;
        }
    }
    return i < capacity ? i : capacity;
}

/* The pages that runs of free blocks cover, one call for every range of them; returns the bytes. */
static size_t each_range(const struct hak_slab *slab, void (*visit)(void *p, size_t bytes))
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    const uintptr_t page = hak_os_page_size(), base = hak_slab_base(slab);
    const uint32_t capacity = hak_slab_capacity(slab);
    const _Atomic uint64_t *bits = hak_load_relaxed(&slab->bits);
    size_t bytes = 0;
    for (uint32_t start, end = 0; end < capacity;) {
        start = next_block(bits, c->words, end, capacity, true);
        if (start == capacity)
            break;
        end = next_block(bits, c->words, start, capacity, false);
        uintptr_t from = start == 0 ? base : hak_round_up(base + (size_t)start * c->size, page);
        uintptr_t to = end == capacity ? base + c->units * HAK_UNIT_BYTES
                                       : (base + (size_t)end * c->size) & ~(page - 1);
        if (from < to) {
            visit((void *)from, to - from);
            bytes += to - from;
        }
    }
    return bytes;
}

static void nothing(void *p, size_t bytes)
{
    (void)p, (void)bytes;
}

static void purge(void *p, size_t bytes)
{
    hak_os_purge(p, bytes, hak_options.purge == HAK_PURGE_FREE);
}

uint32_t hak_slab_purgeable(const struct hak_slab *slab, size_t *bytes)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    const _Atomic uint64_t *bits = hak_load_relaxed(&slab->bits);
    uint64_t hash = slab->size_class;
    for (unsigned w = 0; w < c->words; w++)
        hash = (hash ^ (hak_load_relaxed(&bits[w]) | hak_load_relaxed(&bits[c->words + w]))) *
               0x9e3779b97f4a7c15ull;
    *bytes = each_range(slab, nothing);
    return (uint32_t)(hash >> 32);
}

size_t hak_slab_purge_pages(const struct hak_slab *slab)
{
    return each_range(slab, purge);
}
