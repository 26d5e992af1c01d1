#include "core/pointer.h"

#include "core/core.h"
#include "config/options.h"
#include "harden/abort.h"
#include "large/large.h"
#include "large/run.h"
#include "tiny/magazine.h"

static bool in_region(uintptr_t p)
{
    for (struct hak_region *r = hak_space.region; r != NULL; r = r->older) {
        if ((p & ~hak_space.region_mask) == (uintptr_t)r)
            return (p - (uintptr_t)r) >> HAK_SUPERSLAB_SHIFT < r->next;
    }
    return false;
}

HAK_COLD _Noreturn void hak_pointer_abort(uintptr_t p, const void *caller)
{
    bool inside = false, freed = false;
    hak_large_diagnose(p, &inside, &freed);
    /* A unit of ours that is in use has a word: this one held blocks that are free. */
    if (!inside && in_region(p) && (p & 15) == 0)
        freed = true;
    hak_misuse_abort(inside && (p & 15) != 0 ? HAK_MISUSE_MISALIGNED
                     : inside               ? HAK_MISUSE_INTERIOR
                     : freed                ? HAK_MISUSE_DOUBLE_FREE
                                            : HAK_MISUSE_FOREIGN,
                     (void *)p, 0, caller);
}

size_t hak_pointer_usable(uintptr_t p, uint32_t word, const void *caller)
{
    if (HAK_UNLIKELY(word == 0))
        hak_pointer_abort(p, caller);
    if ((word & HAK_WORD_SPECIAL) != HAK_WORD_SPECIAL) {
        struct hak_slab *slab = hak_slab_of(p);
        uint32_t index = hak_block_checked(slab, p, caller);
        size_t size = hak_size_classes[slab->size_class].size;
        bool exact = hak_options.check || slab->size_class >= HAK_TINY_CLASSES ||
                     hak_word_is_user(word);
        if (exact && HAK_UNLIKELY(hak_block_is_free(slab, index)))
            hak_misuse_abort(HAK_MISUSE_DOUBLE_FREE, (void *)p, size, caller);
        return size;
    }
    if ((word & 0xff) == HAK_CLASS_LARGE)
        return hak_large_usable(p, word, caller);
    return hak_run_usable(p, word, caller);
}

size_t hak_usable_size(const void *p)
{
    return hak_pointer_usable((uintptr_t)p, hak_unit_map_get((uintptr_t)p),
                              __builtin_return_address(0));
}

bool hak_owns(const void *p)
{
    bool inside = false, freed;
    if (hak_unit_map_get((uintptr_t)p) != 0)
        return true;
    hak_large_diagnose((uintptr_t)p, &inside, &freed);
    return inside;
}
