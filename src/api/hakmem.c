/*
 * The C API and libc's names for it: one function, two names. What malloc and free are is in
 * src/core/malloc.c; here are argument checks and errno, as the man pages have them.
 */
#include "hakmem/hakmem.h"

#include "base/attr.h"
#include "base/names.h"
#include "core/core.h"
#include "core/heap.h"
#include "core/totals.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* Smallest size of struct hakmem_stats that was ever published: that of version 0.1. */
enum { STATS_SIZE_MIN = 15 * 8 };

HAK_EXPORT void *hakmem_malloc(size_t size)
{
    return hak_malloc(size);
}

HAK_EXPORT void hakmem_free(void *p)
{
    hak_free(p);
}

HAK_EXPORT void *hakmem_calloc(size_t count, size_t size)
{
    return hak_calloc(count, size);
}
HAK_ALIAS(calloc, hakmem_calloc);

HAK_EXPORT void *hakmem_realloc(void *p, size_t size)
{
    return hak_realloc(p, size);
}
HAK_ALIAS(realloc, hakmem_realloc);

HAK_EXPORT void *hakmem_reallocarray(void *p, size_t count, size_t size)
{
    size_t bytes;
    if (HAK_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    return hak_realloc(p, bytes);
}
HAK_ALIAS(reallocarray, hakmem_reallocarray);

HAK_EXPORT void hakmem_free_sized(void *p, size_t size)
{
    (void)size;
    hak_free(p);
}
HAK_ALIAS(free_sized, hakmem_free_sized);

HAK_EXPORT void hakmem_free_aligned_sized(void *p, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    hak_free(p);
}
HAK_ALIAS(free_aligned_sized, hakmem_free_aligned_sized);

/* C17 and POSIX: another alignment than a power of two fails. */
HAK_EXPORT void *hakmem_aligned_alloc(size_t alignment, size_t size)
{
    if (HAK_UNLIKELY(!hak_is_pow2(alignment))) {
        errno = EINVAL;
        return NULL;
    }
    return hak_aligned(alignment, size);
}
HAK_ALIAS(aligned_alloc, hakmem_aligned_alloc);

HAK_EXPORT void *hakmem_memalign(size_t alignment, size_t size)
{
    if (HAK_UNLIKELY(!hak_is_pow2(alignment))) {
        if (alignment > SIZE_MAX / 2 + 1) {
            errno = EINVAL;
            return NULL;
        }
        alignment = alignment == 0 ? 1 : (size_t)2 << hak_log2(alignment);
    }
    return hak_aligned(alignment, size);
}
HAK_ALIAS(memalign, hakmem_memalign);

HAK_EXPORT int hakmem_posix_memalign(void **out, size_t alignment, size_t size)
{
    if (HAK_UNLIKELY(!hak_is_pow2(alignment) || alignment % sizeof(void *) != 0))
        return EINVAL;
    int saved = errno;
    void *p = hak_aligned(alignment, size);
    errno = saved;
    if (HAK_UNLIKELY(p == NULL))
        return ENOMEM;
    *out = p;
    return 0;
}
HAK_ALIAS(posix_memalign, hakmem_posix_memalign);

/* valloc may be the first call of all, before anybody has asked for the page size. */
static size_t page_size(void)
{
    hak_init();
    return hak_os_page_size();
}

HAK_EXPORT void *hakmem_valloc(size_t size)
{
    return hak_aligned(page_size(), size);
}
HAK_ALIAS(valloc, hakmem_valloc);

HAK_EXPORT void *hakmem_pvalloc(size_t size)
{
    size_t page = page_size();
    if (HAK_UNLIKELY(size > SIZE_MAX - (page - 1))) {
        errno = ENOMEM;
        return NULL;
    }
    return hak_aligned(page, hak_round_up(size, page));
}
HAK_ALIAS(pvalloc, hakmem_pvalloc);

HAK_EXPORT size_t hakmem_malloc_usable_size(const void *p)
{
    return p == NULL ? 0 : hak_usable_size(p);
}
/* libc's takes a pointer to what may be written; the caller's view of the call is the same. */
HAK_ALIAS(malloc_usable_size, hakmem_malloc_usable_size);

HAK_EXPORT int hakmem_malloc_trim(size_t keep)
{
    return hak_trim(keep);
}
HAK_ALIAS(malloc_trim, hakmem_malloc_trim);

HAK_EXPORT int hakmem_purge(void)
{
    return hak_trim(0);
}

HAK_EXPORT const char *hakmem_version(void)
{
    return TEXT(HAKMEM_VERSION_MAJOR) "." TEXT(HAKMEM_VERSION_MINOR) "." TEXT(HAKMEM_VERSION_PATCH);
}

HAK_EXPORT int hakmem_owns(const void *p)
{
    return hak_owns(p);
}

HAK_EXPORT int hakmem_stats_get(struct hakmem_stats *stats)
{
    if (stats == NULL || stats->size < STATS_SIZE_MIN)
        return EINVAL;
    struct hak_totals totals;
    hak_totals_read(&totals);
    struct hakmem_stats ours = {.size = sizeof ours};
#define HAK_STAT(field, unit, help) ours.field = totals.field;
#include "report/stats.def"
#undef HAK_STAT
    if (stats->size < ours.size)
        ours.size = stats->size;
    memcpy(stats, &ours, ours.size);
    return 0;
}
