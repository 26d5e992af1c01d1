#include "api/sanitizer.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef HAKMEM_NO_LIBC_NAMES

/* Each runtime defines one of these; without it the reference stays null. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));

/*
 * A runtime intercepts most of libc and starts up, or fails to, in the first call that it
 * intercepts: vsnprintf, strlen, write and _exit are such, syscall and _Exit are not.
 */
static _Noreturn void refuse(const char *line, size_t length)
{
    syscall(SYS_write, STDERR_FILENO, line, length);
    _Exit(EXIT_FAILURE);
}

#define LINE(name)                                                                                 \
    "hakmem: " name " is in this process and needs its own malloc: run the program without "       \
    "libhakmem, or build it without the sanitizer\n"
#define REFUSE(init, name)                                                                         \
    do {                                                                                           \
        if (&init != NULL)                                                                         \
            refuse(LINE(name), sizeof LINE(name) - 1);                                             \
    } while (0)

void hak_sanitizer_refuse(void)
{
    REFUSE(__asan_init, "AddressSanitizer");
    REFUSE(__tsan_init, "ThreadSanitizer");
    REFUSE(__msan_init, "MemorySanitizer");
    REFUSE(__lsan_init, "LeakSanitizer");
    REFUSE(__hwasan_init, "HWAddressSanitizer");
}

#endif
