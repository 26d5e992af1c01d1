/*
 * How a symbol leaves the library. Everything is hidden unless it is defined with one of these, and
 * src/api/exports.map lists what the linker lets through.
 */
#ifndef HAK_BASE_NAMES_H
#define HAK_BASE_NAMES_H

#define HAK_EXPORT __attribute__((visibility("default")))

/*
 * HAK_ALIAS(name, target); makes name, one of libc's or of the C++ runtime's, another name of
 * target, which must be defined in the same file. A build for sanitizers, which bring a malloc of
 * their own, leaves those names alone: the line is then nothing.
 */
#ifdef HAKMEM_NO_LIBC_NAMES
#define HAK_ALIAS(name, target) _Static_assert(1, #name)
#elif __has_attribute(copy)
#define HAK_ALIAS(name, target)                                                                    \
    extern __typeof__(target) name                                                                 \
        __attribute__((alias(#target), visibility("default"), copy(target)))
#else
#define HAK_ALIAS(name, target)                                                                    \
    extern __typeof__(target) name __attribute__((alias(#target), visibility("default")))
#endif

/*
 * Every form of operator delete but the plain one. What they take beyond the pointer (a size, an
 * alignment, std::nothrow) is not needed, so in the calling conventions of x86-64 and aarch64
 * each of them may be an alias of free: X(name) once for each.
 */
#define HAK_DELETE_NAMES(X)                                                                        \
    X(_ZdaPv)                                                                                      \
    X(_ZdlPvm)                                                                                     \
    X(_ZdaPvm)                                                                                     \
    X(_ZdlPvRKSt9nothrow_t)                                                                        \
    X(_ZdaPvRKSt9nothrow_t)                                                                        \
    X(_ZdlPvSt11align_val_t)                                                                       \
    X(_ZdaPvSt11align_val_t)                                                                       \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                         \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t)                                                         \
    X(_ZdlPvmSt11align_val_t)                                                                      \
    X(_ZdaPvmSt11align_val_t)

#endif
