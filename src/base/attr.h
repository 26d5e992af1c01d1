/* Compiler attributes and small helpers that every layer uses. No state, no calls. */
#ifndef HAK_BASE_ATTR_H
#define HAK_BASE_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAK_LIKELY(x) __builtin_expect(!!(x), 1)
#define HAK_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HAK_NOINLINE __attribute__((noinline))
#define HAK_INLINE static inline __attribute__((always_inline))
#define HAK_COLD __attribute__((cold, noinline))
/* Reads what other threads write, on purpose. */
#define HAK_RACY __attribute__((noinline, no_sanitize_thread))
#define HAK_ALIGNED(n) __attribute__((aligned(n)))

/* Smallest multiple of the power of two a that is not below n; wraps on overflow, so callers bound n. */
HAK_INLINE size_t hak_round_up(size_t n, size_t a)
{
    return (n + a - 1) & ~(a - 1);
}

HAK_INLINE bool hak_is_pow2(size_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* Index of the highest set bit of n > 0. */
HAK_INLINE unsigned hak_log2(size_t n)
{
    return 63u - (unsigned)__builtin_clzl(n);
}

/* Bits of an address in user space, unless a program asks for more of them. */
#if defined(__aarch64__)
enum { HAK_MACHINE_ADDRESS_BITS = 48 };
#else
enum { HAK_MACHINE_ADDRESS_BITS = 47 };
#endif

/* *p += slots, as one instruction where the machine has one: compilers, having loaded *p before,
 * spend two. */
HAK_INLINE void hak_bump(uintptr_t **p, int slots)
{
#if defined(__x86_64__)
    __asm__("addq %1, %0" : "+m"(*p) : "i"(slots * 8) : "cc");
#else
    *p += slots;
#endif
}

#endif
