/* Invariant checks. HAK_ASSERT is on in the debug and sanitizer builds and compiles to nothing
 * elsewhere, but its expression is always parsed, so it cannot rot. */
#ifndef HAK_BASE_CHECK_H
#define HAK_BASE_CHECK_H

#include "base/attr.h"

#ifdef HAKMEM_DEBUG
enum { HAK_DEBUG = 1 };
#else
enum { HAK_DEBUG = 0 };
#endif

/* Prints "hakmem: internal check failed: EXPR (FILE:LINE)" and aborts. */
_Noreturn void hak_check_failed(const char *expr, const char *file, int line);

#define HAK_ASSERT(e) \
    do { \
        if (HAK_DEBUG && HAK_UNLIKELY(!(e))) \
            hak_check_failed(#e, __FILE__, __LINE__); \
    } while (0)

#endif
