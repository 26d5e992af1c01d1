#include "tiny/remote.h"

#include "base/bits.h"
#include "config/options.h"
#include "harden/abort.h"
#include "tiny/magazine.h"

static HAK_COLD _Noreturn void misuse(enum hak_misuse kind, struct hak_slab *slab, uint32_t word,
                                      uint64_t bits, const void *caller)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    uintptr_t first = hak_slab_base(slab);
    unsigned index = word * 64 + (unsigned)__builtin_ctzll(bits);
    hak_misuse_abort(kind, (void *)(first + (size_t)index * c->size), c->size, caller);
}

/* Bit before count: used == 0 must mean that every bit is set. */
static void give_back(struct hak_slab *slab, uint32_t word, uint64_t mask, const void *caller)
{
    const struct hak_size_class *c = &hak_size_classes[slab->size_class];
    uint64_t twice = hak_load_relaxed(&hak_slab_free_bits(slab)[word]) & mask;
    if (HAK_LIKELY(twice == 0))
        twice = atomic_fetch_or_explicit(&hak_slab_remote_bits(slab, c)[word], mask,
                                         memory_order_release) & mask;
    if (HAK_UNLIKELY(twice != 0))
        misuse(HAK_MISUSE_DOUBLE_FREE, slab, word, twice, caller);
    uint64_t state = hak_slab_return(slab, hak_popcount(mask));
    if (HAK_UNLIKELY(hak_state_used(state) == 0))
        hak_slab_emptied(slab, state);
}

/* The entry is cleared first: giving back may reach for the map no more. */
static void drain_entry(struct hak_deferred *map, uint32_t place, const void *caller)
{
    uint32_t unit = map->units[place];
    uint64_t mask = map->masks[place];
    map->masks[place] = 0;
    map->units[place] = 0;
    if (mask == 0)
        return;
    struct hak_slab *slab = hak_unit_of((uintptr_t)unit << HAK_UNIT_SHIFT);
    uint32_t word = (place - unit * 9) % HAK_DEFERRED;
    uint32_t left = hak_slab_capacity(slab) - word * 64;
    if (HAK_UNLIKELY(left < 64 && mask >> left != 0)) /* in the rest behind the last block */
        misuse(HAK_MISUSE_INTERIOR, slab, word, mask >> left << left, caller);
    give_back(slab, word, mask, caller);
}

static void drain(struct hak_heap *heap, const void *caller)
{
    struct hak_deferred *map = &heap->deferred;
    for (uint32_t i = 0; i < map->used_count; i++)
        drain_entry(map, map->used[i], caller);
    map->used_count = 0;
    map->bytes = 0;
}

void hak_remote_drain(struct hak_heap *heap)
{
    drain(heap, NULL);
}

void hak_remote_init(struct hak_heap *heap)
{
    for (unsigned c = 0; c < HAK_TINY_CLASSES; c++) {
        uint32_t size = hak_size_classes[c].size;
        heap->deferred.inverse[c] = ((1ull << 32) + size - 1) / size;
    }
}

/* Bytes of the blocks that an entry for a word of the class can hold. */
static size_t entry_bytes(unsigned size_class)
{
    return 64 * (size_t)hak_size_classes[size_class].size;
}

void hak_remote_miss(struct hak_heap *heap, uintptr_t p, unsigned size_class, const void *caller)
{
    struct hak_deferred *map = &heap->deferred;
    if (HAK_UNLIKELY(p >> HAK_ADDRESS_BITS != 0)) /* a block's address with a tag on it */
        hak_misuse_abort(HAK_MISUSE_FOREIGN, (void *)p, 0, caller);
    struct hak_slab *slab = hak_unit_of(p);
    uint32_t index = hak_block_checked(slab, p, caller);
    uint32_t unit = (uint32_t)(p >> HAK_UNIT_SHIFT);
    uint32_t place = hak_remote_place(unit, index / 64);
    uint64_t bit = (uint64_t)1 << (index % 64);
    size_t bytes = entry_bytes(size_class);
    if (map->units[place] == unit) /* the block is in the entry already */
        misuse(HAK_MISUSE_DOUBLE_FREE, slab, index / 64, bit, caller);
    bool listed = map->units[place] != 0;
    if (listed) {
        uintptr_t other = (uintptr_t)map->units[place] << HAK_UNIT_SHIFT;
        map->bytes -= entry_bytes(hak_load_relaxed(&hak_unit_of(other)->size_class));
        drain_entry(map, place, caller);
    }
    if (map->used_count != 0 && map->bytes + bytes > hak_options.remote_bytes) {
        drain(heap, caller);
        listed = false;
    }
    if (!listed)
        map->used[map->used_count++] = (uint8_t)place;
    map->bytes += bytes;
    map->masks[place] = bit;
    map->units[place] = unit;
}

void hak_remote_free_now(uintptr_t p, const void *caller)
{
    struct hak_slab *slab = hak_slab_of(p);
    uint32_t index = hak_block_checked(slab, p, caller);
    uint64_t bit = (uint64_t)1 << (index % 64);
    if (slab->size_class >= HAK_TINY_CLASSES &&
        HAK_UNLIKELY(hak_load_relaxed(&slab->own_bits[2]) & bit) != 0)
        misuse(HAK_MISUSE_DOUBLE_FREE, slab, 0, bit, caller);
    give_back(slab, index / 64, bit, caller);
}
