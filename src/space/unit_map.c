#include "space/unit_map.h"

#include "base/check.h"
#include "os/os.h"
#include "space/metadata.h"

enum {
    COMMIT_SHIFT = 21,                                     /* the table is made writable by 2 MiB */
    COMMIT_UNITS_SHIFT = COMMIT_SHIFT - 2,                 /* units that such a chunk describes */
    CHUNKS = 1 << (HAK_ADDRESS_BITS - HAK_UNIT_SHIFT - COMMIT_UNITS_SHIFT),
    PIECE_UNITS_SHIFT = 10,                                /* sparse: a piece describes 64 MiB */
    PIECE_SHIFT = HAK_UNIT_SHIFT + PIECE_UNITS_SHIFT,
};

const _Atomic uint32_t hak_unit_map_none = 0;
struct hak_unit_map hak_unit_map = {&hak_unit_map_none, 0};

/* Serializes commits and insertions; look-ups take no lock. A leaf in the lock order. */
static struct hak_lock map_lock;
static _Atomic uint64_t committed[CHUNKS / 64];

/* The sparse kind: open addressing by piece number, which is never 0 for a user address in use.
 * A table only grows, by being replaced; old ones stay readable. */
struct sparse_slot {
    _Atomic uintptr_t piece;
    _Atomic uint32_t *words;
};
struct sparse_table {
    size_t capacity, used;
    struct sparse_slot slots[];
};
static struct sparse_table *_Atomic sparse;

static struct sparse_table *sparse_new(size_t capacity)
{
    size_t bytes = sizeof(struct sparse_table) + capacity * sizeof(struct sparse_slot);
    struct sparse_table *table = hak_metadata_alloc(bytes);
    if (table != NULL)
        table->capacity = capacity;
    return table;
}

static struct sparse_slot *sparse_find(struct sparse_table *table, uintptr_t piece)
{
    size_t i = (piece * 0x9e3779b97f4a7c15ull >> 32) & (table->capacity - 1);
    for (;; i = (i + 1) & (table->capacity - 1)) {
        uintptr_t found = hak_load_acquire(&table->slots[i].piece);
        if (found == piece || found == 0)
            return &table->slots[i];
    }
}

static bool sparse_grow(void)
{
    struct sparse_table *old = hak_load_relaxed(&sparse);
    struct sparse_table *table = sparse_new(old == NULL ? 16 : old->capacity * 2);
    if (table == NULL)
        return false;
    for (size_t i = 0; old != NULL && i < old->capacity; i++) {
        uintptr_t piece = hak_load_relaxed(&old->slots[i].piece);
        if (piece == 0)
            continue;
        struct sparse_slot *slot = sparse_find(table, piece);
        slot->words = old->slots[i].words;
        hak_store_relaxed(&slot->piece, piece);
        table->used++;
    }
    hak_store_release(&sparse, table);
    return true;
}

static bool sparse_insert(uintptr_t piece)
{
    struct sparse_table *table = hak_load_relaxed(&sparse);
    if (table != NULL && hak_load_relaxed(&sparse_find(table, piece)->piece) == piece)
        return true;
    if ((table == NULL || table->used * 2 >= table->capacity) && !sparse_grow())
        return false;
    table = hak_load_relaxed(&sparse);
    _Atomic uint32_t *words = hak_metadata_alloc(sizeof(uint32_t) << PIECE_UNITS_SHIFT);
    if (words == NULL)
        return false;
    struct sparse_slot *slot = sparse_find(table, piece);
    slot->words = words;
    table->used++;
    hak_store_release(&slot->piece, piece);
    return true;
}

static _Atomic uint32_t *sparse_word(uintptr_t p)
{
    struct sparse_table *table = hak_load_acquire(&sparse);
    uintptr_t piece = p >> PIECE_SHIFT;
    if (table == NULL || piece == 0)
        return NULL;
    struct sparse_slot *slot = sparse_find(table, piece);
    if (hak_load_acquire(&slot->piece) != piece)
        return NULL;
    return &slot->words[(p >> HAK_UNIT_SHIFT) & ((1u << PIECE_UNITS_SHIFT) - 1)];
}

bool hak_unit_map_init(bool want_sparse)
{
    size_t bytes = sizeof(uint32_t) << (HAK_ADDRESS_BITS - HAK_UNIT_SHIFT);
    void *words = want_sparse ? NULL
                              : hak_os_reserve(bytes, hak_os_page_size(), HAK_OS_READ_ZERO);
    if (words == NULL)
        return sparse_grow();
    hak_os_huge_pages(words, bytes, false);
    hak_os_name(words, bytes, "hakmem map");
    hak_unit_map.words = words;
    hak_unit_map.mask = ((uintptr_t)1 << (HAK_ADDRESS_BITS - HAK_UNIT_SHIFT)) - 1;
    return true;
}

uint32_t hak_unit_map_get_sparse(uintptr_t p)
{
    _Atomic uint32_t *word = sparse_word(p);
    return word == NULL ? 0 : hak_load_relaxed(word);
}

static bool commit_chunk(size_t chunk)
{
    uint64_t bit = (uint64_t)1 << (chunk % 64);
    if (hak_load_acquire(&committed[chunk / 64]) & bit)
        return true;
    char *start = (char *)hak_unit_map.words + (chunk << COMMIT_SHIFT);
    if (!hak_os_commit(start, (size_t)1 << COMMIT_SHIFT))
        return false;
    atomic_fetch_or_explicit(&committed[chunk / 64], bit, memory_order_release);
    return true;
}

bool hak_unit_map_prepare(uintptr_t p, size_t bytes)
{
    bool absolute = hak_unit_map.mask != 0;
    unsigned shift = absolute ? HAK_UNIT_SHIFT + COMMIT_UNITS_SHIFT : PIECE_SHIFT;
    uintptr_t last = (p + bytes - 1) >> shift;
    bool done = (p + bytes - 1) >> HAK_ADDRESS_BITS == 0;
    hak_lock_acquire(&map_lock);
    for (uintptr_t i = p >> shift; i <= last && done; i++)
        done = absolute ? commit_chunk(i) : sparse_insert(i);
    hak_lock_release(&map_lock);
    return done;
}

void hak_unit_map_set(uintptr_t p, size_t n, uint32_t value)
{
    if (HAK_LIKELY(hak_unit_map.mask != 0)) {
        _Atomic uint32_t *words = (_Atomic uint32_t *)hak_unit_map.words + (p >> HAK_UNIT_SHIFT);
        for (size_t i = 0; i < n; i++)
            hak_store_relaxed(&words[i], value);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        _Atomic uint32_t *word = sparse_word(p + (i << HAK_UNIT_SHIFT));
        HAK_ASSERT(word != NULL);
        hak_store_relaxed(word, value);
    }
}

void hak_unit_map_fork_prepare(void)
{
    hak_lock_acquire(&map_lock);
}

void hak_unit_map_fork_release(void)
{
    hak_lock_release(&map_lock);
}

void hak_unit_map_fork_child(void)
{
    hak_lock_reset(&map_lock);
}
