/*
 * One test source, four ways to reach the library:
 *
 *   preload   libc's names, the library comes by LD_PRELOAD
 *   dynamic   libc's names, linked with -lhakmem
 *   static    libc's names, linked with libhakmem.a and -static
 *   names     the hakmem_ names (TEST_HAKMEM_NAMES), as the sanitizer builds need them
 *
 * Include this after every system header: with TEST_HAKMEM_NAMES it renames the calls. The macros
 * are function-like, so that `struct mallinfo` and the like keep their names.
 *
 * reach_hakmem() proves at the start of a program that the way works: a block from malloc is
 * accepted by the library's own free, which aborts on a block of another allocator.
 */
#ifndef HAKMEM_TESTS_API_H
#define HAKMEM_TESTS_API_H

#include "check.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>

/* Set to 1 to run the libc-name tests on another allocator, which checks the tests themselves. */
#define ANY_ALLOCATOR "HAKMEM_TEST_ANY_ALLOCATOR"

static inline bool any_allocator(void)
{
    const char *value = getenv(ANY_ALLOCATOR);
    return value != NULL && value[0] == '1';
}

#ifdef TEST_WAY_PRELOAD
static inline void reach_hakmem(void)
{
    if (any_allocator())
        return;
    void (*library_free)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "hakmem_free");
    CHECK_THAT(library_free != NULL, "libhakmem.so is not preloaded");
    void *block = opaque(malloc(100));
    CHECK(block != NULL);
    library_free(block);
}
#else
#include <hakmem/hakmem.h>
static inline void reach_hakmem(void)
{
#ifndef TEST_HAKMEM_NAMES
    void *block = opaque(malloc(100));
    CHECK(block != NULL);
    hakmem_free(block);
#endif
}
#endif

#ifndef TEST_HAKMEM_NAMES
#ifdef __cplusplus
extern "C" {
#endif
/* glibc 2.36 has none of these. Weak: with LD_PRELOAD they come with the library, late. */
__attribute__((weak)) void free_sized(void *block, size_t size);
__attribute__((weak)) void free_aligned_sized(void *block, size_t alignment, size_t size);
__attribute__((weak)) void cfree(void *block);
#ifdef __cplusplus
}
#endif
static inline bool has_sized_free(void)
{
    return &free_sized != NULL && &free_aligned_sized != NULL && &cfree != NULL;
}
#else
static inline bool has_sized_free(void)
{
    return true;
}
#define malloc(n) hakmem_malloc(n)
#define calloc(n, s) hakmem_calloc(n, s)
#define realloc(p, n) hakmem_realloc(p, n)
#define reallocarray(p, n, s) hakmem_reallocarray(p, n, s)
#define free(p) hakmem_free(p)
#define memalign(a, n) hakmem_memalign(a, n)
#define aligned_alloc(a, n) hakmem_aligned_alloc(a, n)
#define posix_memalign(p, a, n) hakmem_posix_memalign(p, a, n)
#define valloc(n) hakmem_valloc(n)
#define pvalloc(n) hakmem_pvalloc(n)
#define malloc_usable_size(p) hakmem_malloc_usable_size(p)
#define malloc_trim(n) hakmem_malloc_trim(n)
#define mallinfo() hakmem_mallinfo()
#define mallinfo2() hakmem_mallinfo2()
#define malloc_info(o, f) hakmem_malloc_info(o, f)
#define malloc_stats() hakmem_malloc_stats()
#define mallopt(k, v) hakmem_mallopt(k, v)
#define free_sized(p, n) hakmem_free_sized(p, n)
#define free_aligned_sized(p, a, n) hakmem_free_aligned_sized(p, a, n)
#define cfree(p) hakmem_cfree(p)
#endif

#endif
