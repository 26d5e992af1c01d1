/*
 * C++'s operator new and delete, by their mangled names, without the C++ runtime.
 *
 *   _Znw new, _Zna new[], _Zdl delete, _Zda delete[]; then the parameters: m size_t, Pv void *,
 *   St11align_val_t an alignment, RKSt9nothrow_t std::nothrow
 *
 * Failing needs the runtime: the new handler and the exception are its. It is looked up only
 * then, so that C programs carry none of it. Built with -fexceptions, because an exception that
 * the handler throws passes through these functions.
 */
#include "base/attr.h"
#include "base/names.h"
#include "core/core.h"
#include "core/fast_path.h"
#include "harden/abort.h"

#include <dlfcn.h>
#include <stddef.h>

#ifndef HAKMEM_NO_LIBC_NAMES

/* std::get_new_handler and std::__throw_bad_alloc, null without a C++ runtime. */
extern void (*_ZSt15get_new_handlerv(void))(void) __attribute__((weak));
extern _Noreturn void _ZSt17__throw_bad_allocv(void) __attribute__((weak));

/* Weak as well: a static program without dlsym must not get it from us. */
extern void *dlsym(void *restrict handle, const char *restrict name) __attribute__((weak));

/*
 * A function of the C++ runtime: the one that the linker found or, in a program that loaded the
 * runtime later (a plugin of a C program), the one in the library that is there by now. dlopen
 * itself is looked up, since naming it makes the linker warn whoever links statically.
 */
static void *runtime_function(void *linked, const char *name)
{
    static const char runtimes[][16] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
    if (linked != NULL || &dlsym == NULL)
        return linked;
    void *(*open)(const char *, int) =
        (void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");
    for (size_t i = 0; open != NULL && i < sizeof runtimes / sizeof runtimes[0]; i++) {
        void *runtime = open(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        void *function = runtime != NULL ? dlsym(runtime, name) : NULL;
        if (function != NULL)
            return function;
    }
    return NULL;
}

typedef void handler_function(void);

static handler_function *new_handler(void)
{
    handler_function *(*get)(void) = (handler_function * (*)(void))
        runtime_function((void *)&_ZSt15get_new_handlerv, "_ZSt15get_new_handlerv");
    return get != NULL ? get() : NULL;
}

/* Allocates; an alignment of 0 is malloc's own. */
static void *try_new(size_t size, size_t alignment)
{
    return alignment == 0 ? hak_malloc(size) : hak_aligned(alignment, size);
}

/* The throwing forms after a first failure: as long as there is a handler, it may find memory. */
static HAK_COLD void *new_failed(size_t size, size_t alignment)
{
    for (;;) {
        handler_function *handler = new_handler();
        if (handler == NULL)
            break;
        handler();
        void *p = try_new(size, alignment);
        if (p != NULL)
            return p;
    }
    handler_function *throw_bad_alloc = (handler_function *)runtime_function(
        (void *)&_ZSt17__throw_bad_allocv, "_ZSt17__throw_bad_allocv");
    if (throw_bad_alloc == NULL)
        hak_fatal("operator new(%zu) failed, and there is no C++ runtime to throw bad_alloc", size);
    throw_bad_alloc();
    __builtin_unreachable();
}

/*
 * The nothrow forms after a first failure. Without a handler the answer is NULL. A handler may
 * throw, which C cannot catch; the runtime's own function of that name can, and calls the throwing
 * form here.
 */
static HAK_COLD void *nothrow_failed(size_t size, size_t alignment, const void *nothrow)
{
    if (new_handler() == NULL)
        return NULL;
    if (alignment == 0) {
        void *(*own)(size_t, const void *) =
            (void *(*)(size_t, const void *))runtime_function(NULL, "_ZnwmRKSt9nothrow_t");
        if (own != NULL)
            return own(size, nothrow);
    } else {
        void *(*own)(size_t, size_t, const void *) = (void *(*)(size_t, size_t, const void *))
            runtime_function(NULL, "_ZnwmSt11align_val_tRKSt9nothrow_t");
        if (own != NULL)
            return own(size, alignment, nothrow);
    }
    for (handler_function *handler; (handler = new_handler()) != NULL;) {
        handler();
        void *p = try_new(size, alignment);
        if (p != NULL)
            return p;
    }
    return NULL;
}

static HAK_NOINLINE void *new_slow(size_t size, struct hak_heap *heap)
{
    void *p = hak_malloc_slow(size, heap);
    return HAK_LIKELY(p != NULL) ? p : new_failed(size, 0);
}

/* The two that programs live on are malloc's and free's fast paths with exits of their own. */
static void *new_plain(size_t size)
{
    return hak_malloc_inline(size, new_slow);
}
HAK_ALIAS(_Znwm, new_plain);
HAK_ALIAS(_Znam, new_plain);

static void *new_nothrow(size_t size, const void *nothrow)
{
    void *p = hak_malloc(size);
    return HAK_LIKELY(p != NULL) ? p : nothrow_failed(size, 0, nothrow);
}
HAK_ALIAS(_ZnwmRKSt9nothrow_t, new_nothrow);
HAK_ALIAS(_ZnamRKSt9nothrow_t, new_nothrow);

static void *new_aligned(size_t size, size_t alignment)
{
    void *p = hak_aligned(alignment, size);
    return HAK_LIKELY(p != NULL) ? p : new_failed(size, alignment);
}
HAK_ALIAS(_ZnwmSt11align_val_t, new_aligned);
HAK_ALIAS(_ZnamSt11align_val_t, new_aligned);

static void *new_aligned_nothrow(size_t size, size_t alignment, const void *nothrow)
{
    void *p = hak_aligned(alignment, size);
    return HAK_LIKELY(p != NULL) ? p : nothrow_failed(size, alignment, nothrow);
}
HAK_ALIAS(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned_nothrow);
HAK_ALIAS(_ZnamSt11align_val_tRKSt9nothrow_t, new_aligned_nothrow);

static void delete_any(void *p)
{
    hak_free_inline(p);
}
#define DELETE_ANY(name) HAK_ALIAS(name, delete_any);
HAK_DELETE_NAMES(DELETE_ANY)
#undef DELETE_ANY

#endif
