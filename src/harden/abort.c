#include "harden/abort.h"

#include "base/print.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) char hakmem_abort_message[512];

/*
 * What stands before the pointer, and before the size of the block where that is known. Arrays, so
 * that nothing needs a relocation.
 */
static const struct {
    char wrong[32];
    char sized[24];
} phrases[] = {
    [HAK_MISUSE_DOUBLE_FREE] = {"double free of", "block of"},
    [HAK_MISUSE_MISALIGNED] = {"misaligned pointer", "in blocks of"},
    [HAK_MISUSE_INTERIOR] = {"interior pointer", "inside a block of"},
    [HAK_MISUSE_FOREIGN] = {"foreign pointer", "block of"},
    [HAK_MISUSE_OTHER_HEAP] = {"pointer not of this heap", "block of"},
    [HAK_MISUSE_HEAP_GONE] = {"pointer into a destroyed heap", "block of"},
    [HAK_MISUSE_DEAD_HEAP] = {"use of the destroyed heap", "heap of"},
};

/* Weak: a static program need not carry the dynamic loader's tables for this. */
extern int dladdr(const void *address, Dl_info *info) __attribute__((weak));

/* Writes "module+0x12 (symbol+0x3)", or as much of it as is known, into out. */
static void describe_code(const void *code, char *out, size_t n)
{
    Dl_info info = {0};
    if (&dladdr == NULL || dladdr(code, &info) == 0 || info.dli_fname == NULL) {
        hak_format(out, n, "%p", code);
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    size_t used = hak_format(out, n, "%.128s+0x%zx", slash != NULL ? slash + 1 : info.dli_fname,
                             (size_t)((uintptr_t)code - (uintptr_t)info.dli_fbase));
    if (info.dli_sname != NULL)
        hak_format(out + used, n - used, " (%.128s+0x%zx)", info.dli_sname,
                   (size_t)((uintptr_t)code - (uintptr_t)info.dli_saddr));
}

/* The first to die keeps its message; others that die meanwhile still print theirs. */
static _Noreturn void die(const char *line)
{
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&taken))
        hak_format(hakmem_abort_message, sizeof hakmem_abort_message, "%s", line);
    hak_print(STDERR_FILENO, "%s\n", line);
    abort();
}

_Noreturn void hak_misuse_abort(enum hak_misuse kind, const void *p, size_t block_size,
                                const void *caller)
{
    char line[sizeof hakmem_abort_message];
    size_t used = hak_format(line, sizeof line, "hakmem: %s %p", phrases[kind].wrong, p);
    if (block_size != 0)
        used += hak_format(line + used, sizeof line - used, " (%s %zu B)", phrases[kind].sized,
                           block_size);
    if (caller != NULL) {
        used += hak_format(line + used, sizeof line - used, ", called from ");
        describe_code(caller, line + used, sizeof line - used);
    }
    die(line);
}

_Noreturn void hak_fatal(const char *fmt, ...)
{
    char text[sizeof hakmem_abort_message - 16];
    char line[sizeof hakmem_abort_message];
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof text, fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    hak_format(line, sizeof line, "hakmem: %s", text);
    die(line);
}
