#include "tiny/slab.h"

#include <string.h>

#include "harden/abort.h"
#include "os/os.h"
#include "space/metadata.h"
#include "space/shared_pool.h"

static _Atomic uint64_t slabs_made;

uint64_t hak_slabs_made(void)
{
    return hak_load_relaxed(&slabs_made);
}

enum hak_claim hak_slab_claim(struct hak_slab *slab, uint32_t owner, uint32_t k)
{
    uint64_t state = hak_load_relaxed(&slab->state);
    do {
        if (!hak_slab_owned_by(state, owner))
            return HAK_CLAIM_LOST;
        if (state & HAK_SLAB_BUSY)
            return HAK_CLAIM_BUSY;
    } while (!hak_cas_acq_rel(&slab->state, &state, (state | HAK_SLAB_BUSY) + k));
    return HAK_CLAIM_WON;
}

uint64_t hak_slab_unclaim(struct hak_slab *slab, uint32_t unused)
{
    uint64_t less = HAK_SLAB_BUSY + unused;
    return atomic_fetch_sub_explicit(&slab->state, less, memory_order_acq_rel) - less;
}

static void merge_remote(struct hak_slab *slab, const struct hak_size_class *c, uintptr_t first)
{
    _Atomic uint64_t *mine = hak_slab_free_bits(slab), *remote = hak_slab_remote_bits(slab, c);
    for (unsigned w = 0; w < c->words; w++) {
        if (hak_load_relaxed(&remote[w]) == 0)
            continue;
        uint64_t back = atomic_exchange_explicit(&remote[w], 0, memory_order_acquire);
        uint64_t old = hak_load_relaxed(&mine[w]);
        if (HAK_UNLIKELY(old & back) != 0) {
            unsigned bit = (unsigned)__builtin_ctzll(old & back);
            hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE,
                             (void *)(first + (size_t)(w * 64 + bit) * c->size), c->size, NULL);
        }
        hak_store_relaxed(&mine[w], old | back);
        if (w < slab->first_word)
            slab->first_word = (uint8_t)w;
    }
}

/* Works by runs of set bits, which are long in fresh slabs and after whole batches of frees. */
static uint32_t take_own(struct hak_slab *slab, const struct hak_size_class *c, uint32_t want,
                         uintptr_t *end)
{
    _Atomic uint64_t *bits = hak_slab_free_bits(slab);
    const size_t size = c->size;
    uint32_t left = want;
    unsigned w = slab->first_word;
    for (; w < c->words; w++) {
        uint64_t word = hak_load_relaxed(&bits[w]);
        if (word == 0)
            continue;
        while (word != 0 && left != 0) {
            unsigned start = (unsigned)__builtin_ctzll(word);
            uint64_t gaps = ~(word >> start);
            uint32_t n = gaps == 0 ? 64 : (uint32_t)__builtin_ctzll(gaps);
            if (n > left)
                n = left;
            left -= n;
            word &= ~((n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1) << start);
            uintptr_t block = slab->first + (size_t)(w * 64 + start) * size;
            for (; n != 0; n--, block += size)
                *--end = block;
        }
        hak_store_relaxed(&bits[w], word);
        if (left == 0)
            break;
    }
    slab->first_word = (uint8_t)(w < c->words ? w : c->words - 1u);
    return want - left;
}

uint32_t hak_slab_take(struct hak_slab *slab, uint32_t want, uintptr_t *end)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    uint32_t got = take_own(slab, c, want, end);
    if (got < want) {
        merge_remote(slab, c, slab->first);
        got += take_own(slab, c, want - got, end - got);
    }
    return got;
}

uint64_t hak_slab_take_mask(struct hak_slab *slab, uint32_t want)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    if (hak_load_relaxed(&slab->own_bits[0]) == 0)
        merge_remote(slab, c, slab->first);
    uint64_t left = hak_load_relaxed(&slab->own_bits[0]), taken = left;
    for (uint32_t i = 0; i < want && left != 0; i++)
        left &= left - 1;
    hak_store_relaxed(&slab->own_bits[0], left);
    return taken ^ left;
}

bool hak_slab_steal(struct hak_slab *slab)
{
    uint64_t state = hak_load_relaxed(&slab->state);
    uint64_t kind = state >> HAK_SLAB_KIND_SHIFT & 3;
    if (kind != HAK_SLAB_OWNED || hak_state_used(state) != 0 || (state & HAK_SLAB_BUSY))
        return false;
    return hak_cas_acq_rel(&slab->state, &state, 0);
}

void hak_slab_retire(struct hak_slab *slab)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    HAK_ASSERT(hak_load_relaxed(&slab->state) == 0);
    hak_unit_map_set(hak_slab_base(slab), c->units, 0);
    if (c->words > 1)
        hak_metadata_free((void *)hak_slab_free_bits(slab), 2 * c->words * sizeof(uint64_t));
    hak_pool_give_units(slab, c->units, true);
}

void hak_slab_emptied(struct hak_slab *slab, uint64_t state)
{
    if ((state >> HAK_SLAB_KIND_SHIFT & 3) == HAK_SLAB_OWNED) {
        if (hak_slab_steal(slab))
            hak_slab_retire(slab);
        return;
    }
    /* An orphan changes hands under the lock only, so this look at it is the truth. */
    bool won = false;
    hak_pool_acquire();
    uint64_t orphan = hak_slab_state(0, HAK_SLAB_ORPHAN, 0);
    if (hak_load_acquire(&slab->state) == orphan && hak_cas_acq_rel(&slab->state, &orphan, 0)) {
        hak_pool_remove_orphan(slab);
        won = true;
    }
    hak_pool_release();
    if (won)
        hak_slab_retire(slab);
}

/* Of a mid slab: no block is cached, and what would be blocks behind the last one is not for use. */
static void clear_cached_bits(struct hak_slab *slab)
{
    uint32_t capacity = hak_slab_capacity(slab);
    hak_store_relaxed(&slab->own_bits[2], capacity >= 64 ? 0 : UINT64_MAX << capacity);
}

static struct hak_slab *adopt(unsigned size_class, uint32_t owner, uint32_t k)
{
    hak_pool_acquire();
    struct hak_slab *slab = hak_pool_first_orphan(size_class);
    while (slab != NULL && (hak_load_relaxed(&slab->state) & HAK_SLAB_BUSY))
        slab = slab->next; /* somebody purges it */
    if (slab != NULL) {
        hak_pool_remove_orphan(slab);
        uint64_t state = hak_load_relaxed(&slab->state), owned;
        do {
            owned = (hak_slab_state(owner, HAK_SLAB_OWNED, hak_state_used(state)) |
                     HAK_SLAB_BUSY) + k;
        } while (!hak_cas_acq_rel(&slab->state, &state, owned));
        hak_unit_map_set(hak_slab_base(slab), hak_size_classes[size_class].units,
                         hak_slab_word(size_class, owner));
        /* Blocks that a heap cached when a fork cut it off count as used, and nobody knows them. */
        if (size_class >= HAK_TINY_CLASSES)
            clear_cached_bits(slab);
        slab->first_word = 0;
        slab->first = hak_slab_base(slab);
    }
    hak_pool_release();
    return slab;
}

/* Sets the bits of all blocks; the descriptor is nobody else's yet. */
static void fill_bits(struct hak_slab *slab, const struct hak_size_class *c)
{
    uint32_t capacity = hak_slab_capacity(slab);
    _Atomic uint64_t *bits = hak_slab_free_bits(slab);
    for (unsigned w = 0; w < c->words; w++) {
        uint32_t left = capacity - w * 64;
        hak_store_relaxed(&bits[w], left >= 64 ? UINT64_MAX : ((uint64_t)1 << left) - 1);
        hak_store_relaxed(&bits[c->words + w], 0);
    }
    if (slab->size_class >= HAK_TINY_CLASSES)
        clear_cached_bits(slab);
}

static struct hak_slab *make(unsigned size_class, uint32_t owner, uint32_t k)
{
    const struct hak_size_class *c = &hak_size_classes[size_class];
    _Atomic uint64_t *bits = NULL;
    bool zeroed;
    if (c->words > 1) {
        bits = hak_metadata_alloc(2 * c->words * sizeof(uint64_t));
        if (bits == NULL)
            return NULL;
    }
    struct hak_slab *slab = hak_pool_take_units(
        c->units, size_class < HAK_TINY_CLASSES ? HAK_USE_DENSE : HAK_USE_SPARSE, &zeroed);
    if (slab == NULL) {
        if (bits != NULL)
            hak_metadata_free((void *)bits, 2 * c->words * sizeof(uint64_t));
        return NULL;
    }
    hak_store_relaxed(&slab->bits, bits != NULL ? bits : slab->own_bits);
    hak_store_relaxed(&slab->size_class, (uint8_t)size_class);
    slab->first_word = 0;
    for (unsigned u = 0; u < c->units; u++)
        hak_store_relaxed(&slab[u].back, (uint8_t)u);
    slab->first = hak_slab_base(slab);
    fill_bits(slab, c);
    hak_unit_map_set(hak_slab_base(slab), c->units, hak_slab_word(size_class, owner));
    hak_store_release(&slab->state, (hak_slab_state(owner, HAK_SLAB_OWNED, 0) | HAK_SLAB_BUSY) + k);
    atomic_fetch_add_explicit(&slabs_made, 1, memory_order_relaxed);
    return slab;
}

struct hak_slab *hak_slab_acquire(unsigned size_class, uint32_t owner, uint32_t k)
{
    struct hak_slab *slab = NULL;
    if (owner < HAK_ID_USER_FIRST) /* blocks of an orphan may outlive a user heap */
        slab = adopt(size_class, owner, k);
    if (slab == NULL)
        slab = make(size_class, owner, k);
    if (hak_pool_purge_pending())
        hak_pool_purge(hak_os_now_ms(), 2, false);
    return slab;
}

void hak_slab_abandon(struct hak_slab *slab, uint32_t owner)
{
    unsigned size_class = slab->size_class;
    bool won = false;
    hak_pool_acquire();
    uint64_t state = hak_load_acquire(&slab->state);
    while (hak_slab_owned_by(state, owner)) {
        if (state & HAK_SLAB_BUSY) { /* a purge, which needs the processor more than this thread */
            hak_os_yield();
            state = hak_load_acquire(&slab->state);
            continue;
        }
        uint32_t used = hak_state_used(state);
        uint64_t next = used == 0 ? 0 : hak_slab_state(0, HAK_SLAB_ORPHAN, used);
        if (!hak_cas_acq_rel(&slab->state, &state, next))
            continue;
        won = used == 0;
        if (!won) {
            hak_unit_map_set(hak_slab_base(slab), hak_size_classes[size_class].units,
                             hak_slab_word(size_class, HAK_ID_ORPHAN));
            hak_pool_push_orphan(slab);
        }
        break;
    }
    hak_pool_release();
    if (won)
        hak_slab_retire(slab);
}
