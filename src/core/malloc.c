/* malloc and free. The other names of free are here because an alias needs its target's file. */
#include "base/names.h"
#include "core/core.h"
#include "core/fast_path.h"

void *hak_malloc(size_t size)
{
    return hak_malloc_inline(size, hak_malloc_slow);
}

void hak_free(void *p)
{
    hak_free_inline(p);
}

HAK_ALIAS(malloc, hak_malloc);
HAK_ALIAS(free, hak_free);
HAK_ALIAS(_ZdlPv, hak_free);
