/*
 * The end of a program that misused the allocator: one line, then SIGABRT.
 *
 * Called by the slow exits of free and realloc and by the checks at flush, refill and drain. Any
 * thread may call these at any time, with allocator locks held; nothing here allocates or takes
 * one of them.
 */
#ifndef HAK_HARDEN_ABORT_H
#define HAK_HARDEN_ABORT_H

#include <stddef.h>

enum hak_misuse {
    HAK_MISUSE_DOUBLE_FREE,
    HAK_MISUSE_MISALIGNED,
    HAK_MISUSE_INTERIOR,
    HAK_MISUSE_FOREIGN,
    HAK_MISUSE_OTHER_HEAP, /* given to a heap that it does not belong to */
    HAK_MISUSE_HEAP_GONE,  /* in a heap that was destroyed */
    HAK_MISUSE_DEAD_HEAP,  /* p is the destroyed heap itself */
};

/* The last words of an aborted process, without a newline, for a debugger or a core file. */
extern char hakmem_abort_message[512];

/*
 * Prints what is wrong with p to stderr and into hakmem_abort_message and aborts. block_size is
 * that of the block in bytes, 0 when unknown; caller an address in the faulty code, NULL when
 * unknown.
 *
 *   hakmem: double free of 0x7f3a41c0 (block of 48 B), called from prog+0x1234 (main+0x20)
 */
_Noreturn void hak_misuse_abort(enum hak_misuse kind, const void *p, size_t block_size,
                                const void *caller) __attribute__((cold));

/* Prints "hakmem: " and the formatted text to the same places and aborts. */
_Noreturn void hak_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), cold));

#endif
