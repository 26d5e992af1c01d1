#include "config/gates.h"
#include "space/metadata.h"
#include "tiny/heap.h"

#include <string.h>

enum { FIRST_CAPACITY = 2 };

/* A stolen slab may be this heap's again, in another place or class: position and class tell. They
 * may be another heap's at this moment, so they say something only after the owner has been read. */
bool hak_vector_holds(const struct hak_vector *v, uint32_t i)
{
    struct hak_slab *slab = v->items[i];
    return slab != NULL && hak_slab_owned_by(hak_load_acquire(&slab->state), v->owner) &&
           hak_load_relaxed(&slab->size_class) == v->size_class &&
           hak_load_relaxed(&slab->position) == i;
}

static size_t bit_bytes(uint32_t capacity)
{
    return (capacity + 63) / 64 * sizeof(uint64_t);
}

static bool grow(struct hak_vector *v)
{
    uint32_t capacity = v->capacity == 0 ? FIRST_CAPACITY : v->capacity * 2;
    struct hak_slab **items = hak_metadata_alloc(capacity * sizeof *items);
    uint64_t *avail = hak_metadata_alloc(bit_bytes(capacity));
    if (items == NULL || avail == NULL) {
        if (items != NULL)
            hak_metadata_free(items, capacity * sizeof *items);
        if (avail != NULL)
            hak_metadata_free(avail, bit_bytes(capacity));
        return false;
    }
    if (v->capacity != 0) {
        memcpy(items, v->items, v->length * sizeof *items);
        memcpy(avail, v->avail, bit_bytes(v->capacity));
        hak_metadata_free(v->items, v->capacity * sizeof *items);
        hak_metadata_free(v->avail, bit_bytes(v->capacity));
    }
    v->items = items;
    v->avail = avail;
    v->capacity = capacity;
    return true;
}

/* Items never move: a position is written only while its slab is claimed, because afterwards the slab
 * may be stolen, and another heap's, at any moment. What is stale becomes a hole. */
bool hak_vector_reserve(struct hak_vector *v)
{
    if (v->length < v->capacity || v->holes != 0)
        return true;
    for (uint32_t i = 0; i < v->length; i++) {
        if (!hak_vector_holds(v, i))
            hak_vector_remove(v, i);
    }
    return v->holes * 4 >= v->capacity && v->holes != 0 ? true : grow(v);
}

void hak_vector_append(struct hak_vector *v, struct hak_slab *slab)
{
    uint32_t i = v->length;
    if (v->holes == 0) {
        v->length++;
    } else {
        for (i = v->first_hole; v->items[i] != NULL; i++)
            continue;
        v->holes--;
        v->first_hole = i + 1;
    }
    v->items[i] = slab;
    hak_store_relaxed(&slab->position, i);
    hak_vector_mark(v, i);
}

void hak_vector_remove(struct hak_vector *v, uint32_t i)
{
    hak_vector_unmark(v, i);
    v->items[i] = NULL;
    if (v->holes++ == 0 || i < v->first_hole)
        v->first_hole = i;
}

void hak_vector_clear(struct hak_vector *v)
{
    if (v->capacity != 0)
        memset(v->avail, 0, bit_bytes(v->capacity));
    v->length = v->first = v->scan = v->holes = v->first_hole = 0;
}

void hak_vector_free(struct hak_vector *v)
{
    if (v->capacity == 0)
        return;
    hak_metadata_free(v->items, v->capacity * sizeof *v->items);
    hak_metadata_free(v->avail, bit_bytes(v->capacity));
}

struct hak_slab *hak_vector_first_avail(struct hak_vector *v, uint32_t *position)
{
    uint32_t words = (v->length + 63) / 64;
    for (; v->first < words; v->first++) {
        uint64_t word = v->avail[v->first];
        if (word != 0) {
            *position = v->first * 64 + (uint32_t)__builtin_ctzll(word);
            return v->items[*position];
        }
    }
    v->first = words == 0 ? 0 : words - 1;
    return NULL;
}

bool hak_vector_scan(struct hak_vector *v)
{
    uint32_t looks = (uint32_t)HAK_GATE(SLAB_SCAN);
    uint32_t steps = v->length; /* over holes too, but never around */
    while (looks > 0 && steps-- > 0) {
        if (v->scan >= v->length)
            v->scan = 0;
        uint32_t i = v->scan++;
        if (v->items[i] == NULL)
            continue;
        looks--;
        if (!hak_vector_holds(v, i)) {
            hak_vector_remove(v, i);
            continue;
        }
        /* By the vector's class: the slab may be stolen by now, and of another one. */
        struct hak_slab *slab = v->items[i];
        if (hak_state_used(hak_load_relaxed(&slab->state)) < hak_size_classes[v->size_class].capacity) {
            hak_vector_mark(v, i);
            return true;
        }
    }
    return false;
}
