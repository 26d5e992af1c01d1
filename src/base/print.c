#include "base/print.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static size_t format_into(char *out, size_t n, const char *fmt, va_list args)
{
    int length = vsnprintf(out, n, fmt, args);
    if (length < 0) {
        out[0] = '\0';
        return 0;
    }
    return (size_t)length < n ? (size_t)length : n - 1;
}

void hak_print_raw(int fd, const char *text, size_t n)
{
    int saved = errno;
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done > 0) {
            text += done;
            n -= (size_t)done;
        } else if (done == 0 || errno != EINTR) {
            break;
        }
    }
    errno = saved;
}

void hak_vprint(int fd, const char *fmt, va_list args)
{
    int saved = errno;
    char text[HAK_PRINT_MAX];
    size_t length = format_into(text, sizeof text, fmt, args);
    hak_print_raw(fd, text, length);
    errno = saved;
}

void hak_print(int fd, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    hak_vprint(fd, fmt, args);
    va_end(args);
}

size_t hak_format(char *out, size_t n, const char *fmt, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, fmt);
    size_t length = format_into(out, n, fmt, args);
    va_end(args);
    errno = saved;
    return length;
}
