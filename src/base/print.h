/*
 * Printing without malloc: what the allocator itself has to say goes through here.
 *
 * Called by configuration, misuse reports and statistics, never by a fast path. Needs no lock and
 * no state, so any thread may call it at any time, before libc's constructors and after its
 * destructors included. Nothing here changes errno.
 */
#ifndef HAK_BASE_PRINT_H
#define HAK_BASE_PRINT_H

#include <stdarg.h>
#include <stddef.h>

/* Longest text that one call prints; what is longer is cut. */
enum { HAK_PRINT_MAX = 1024 };

/*
 * Formats like printf and writes the text to fd in as few write(2) calls as the kernel allows
 * (one, on files, pipes and terminals). An fd that is closed or full is no error: the text is
 * lost. Formats that make vsnprintf allocate (floating point, wide strings, widths beyond
 * HAK_PRINT_MAX) must not be used.
 */
void hak_print(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));

/* The same with a va_list. */
void hak_vprint(int fd, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0), cold));

/* Writes the n bytes at text to fd, going on after EINTR and after short writes. */
void hak_print_raw(int fd, const char *text, size_t n) __attribute__((cold));

/*
 * Formats into the n bytes at out, which end up terminated (n > 0). Returns the length of the text
 * in out, which is at most n - 1.
 */
size_t hak_format(char *out, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

#endif
