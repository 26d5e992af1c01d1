/* realloc: in place where it can be, by moving pages for large blocks, by copying otherwise. */
#include <errno.h>
#include <string.h>

#include "core/core.h"
#include "core/fast_path.h"
#include "core/heap.h"
#include "core/pointer.h"
#include "core/user_heap.h"
#include "large/large.h"
#include "large/run.h"

/* Whether a block of so many bytes may stay where it is for the new size: it fits, and not half of it
 * would be waste. */
static bool keeps(size_t usable, size_t size)
{
    return size <= usable && (size > usable / 2 || usable <= 64);
}

void *hak_realloc_in_place(uintptr_t p, uint32_t word, size_t usable, size_t size, const void *caller)
{
    if ((word & HAK_WORD_SPECIAL) != HAK_WORD_SPECIAL)
        return keeps(usable, size) ? (void *)p : NULL;
    if ((word & 0xff) == HAK_CLASS_LARGE)
        return size > HAK_RUN_MAX || keeps(usable, size)
                   ? hak_large_resize(p, word, size, caller)
                   : NULL;
    if (size > HAK_MID_MAX && size <= HAK_RUN_MAX && hak_run_resize(p, size))
        return (void *)p;
    return NULL;
}

void *hak_realloc(void *ptr, size_t size)
{
    const void *caller = __builtin_return_address(0);
    uintptr_t p = (uintptr_t)ptr;
    if (p == 0)
        return hak_malloc(size);
    uint32_t word = hak_unit_map_get(p);
    size_t usable = hak_pointer_usable(p, word, caller);
    if (HAK_UNLIKELY(hak_word_is_user(word)))
        return hak_user_heap_resize(hak_user_heap_of(p, word, caller), p, word, size, caller);
    if (size == 0) {
        hak_free(ptr);
        return NULL;
    }
    if (size > PTRDIFF_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    void *moved = hak_realloc_in_place(p, word, usable, size, caller);
    if (moved != NULL)
        return moved;
    moved = hak_malloc(size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, ptr, size < usable ? size : usable);
    hak_free(ptr);
    return moved;
}
