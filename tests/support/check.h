/*
 * The whole test framework of the programs outside tests/unit: a failed CHECK prints one line and
 * ends the process. It allocates nothing and links statically, so the same source can be run on
 * any allocator, in any link mode and under any sanitizer, which cmocka cannot.
 *
 * Thread-safe: a failure in any thread ends the process with status 1.
 */
#ifndef HAKMEM_TESTS_CHECK_H
#define HAKMEM_TESTS_CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Status that ctest reports as "Skipped"; used only where the machine cannot run a test at all. */
enum { CHECK_SKIPPED = 77 };

/* Few things that a program may do are too much for ThreadSanitizer itself. */
#ifdef __SANITIZE_THREAD__
enum { CHECK_UNDER_TSAN = 1 };
#else
enum { CHECK_UNDER_TSAN = 0 };
#endif

__attribute__((noreturn, format(printf, 4, 5))) static inline void
check_fail(const char *file, int line, const char *condition, const char *format, ...)
{
    char detail[256];
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    int length = snprintf(text, sizeof text, "%s:%d: failed: %s%s%s\n", file, line, condition,
                          detail[0] ? ": " : "", detail);
    if (length > (int)sizeof text - 1)
        length = (int)sizeof text - 1;
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(2);
    _exit(1);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail(__FILE__, __LINE__, #condition, "%s", "");                                  \
    } while (0)

#define CHECK_THAT(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail(__FILE__, __LINE__, #condition, __VA_ARGS__);                               \
    } while (0)

/* Runs one case and names it, so that a failure further on is found at once. */
#define RUN(function)                                                                              \
    do {                                                                                           \
        function();                                                                                \
        check_passed(#function);                                                                   \
    } while (0)

static inline void check_passed(const char *name)
{
    char text[160];
    int length = snprintf(text, sizeof text, "ok %s\n", name);
    if (write(STDOUT_FILENO, text, (size_t)length) < 0)
        _exit(2);
}

/* Keeps the compiler from reasoning about a pointer or a size (and from warning about it). */
static inline void *opaque(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

static inline size_t opaque_size(size_t n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}

#endif
