/*
 * What the kernel says about this process, read without allocating.
 */
#ifndef HAKMEM_TESTS_PROC_H
#define HAKMEM_TESTS_PROC_H

#include "check.h"

#include <fcntl.h>

/* Reads a small file into text (always terminated); the number of bytes read. */
static inline size_t proc_read(const char *path, char *text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_THAT(fd >= 0, "%s", path);
    size_t length = 0;
    ssize_t got;
    while (length + 1 < capacity && (got = read(fd, text + length, capacity - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(fd);
    return length;
}

/* Field of /proc/self/statm in KiB: 0 is the virtual size, 1 the resident set. */
static inline size_t proc_statm_kib(int field)
{
    char text[128];
    proc_read("/proc/self/statm", text, sizeof text);
    char *cursor = text;
    unsigned long pages = 0;
    for (int i = 0; i <= field; i++)
        pages = strtoul(cursor, &cursor, 10);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/*
 * The shadow memory of a sanitizer is resident as well, and grows with every page that is touched:
 * there the resident set says nothing about the library, and is given as 0.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PROC_RSS_TELLS = 0 };
#else
enum { PROC_RSS_TELLS = 1 };
#endif

static inline size_t proc_rss_kib(void)
{
    return PROC_RSS_TELLS ? proc_statm_kib(1) : 0;
}

/* Its address space; grows with a sanitizer as the resident set does. */
static inline size_t proc_virtual_kib(void)
{
    return PROC_RSS_TELLS ? proc_statm_kib(0) : 0;
}

#endif
