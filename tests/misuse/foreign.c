/*
 * foreign CALL KIND: CALL is given a pointer that no allocation returned. KIND is stack, static,
 * code, mapped, unmapped or a number.
 */
#include "misuse.h"

#include <sys/mman.h>

static _Alignas(64) char static_bytes[4096];

static void *pointer_of(const char *kind, void *on_stack)
{
    if (strcmp(kind, "stack") == 0)
        return on_stack;
    if (strcmp(kind, "static") == 0)
        return static_bytes;
    if (strcmp(kind, "code") == 0)
        return (void *)(((uintptr_t)&pointer_of + 15) & ~(uintptr_t)15);
    if (strcmp(kind, "mapped") == 0 || strcmp(kind, "unmapped") == 0) {
        size_t length = (size_t)4 << 20;
        void *mapping =
            mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(mapping != MAP_FAILED);
        if (kind[0] == 'u')
            CHECK(munmap(mapping, length) == 0);
        return (char *)mapping + 65536;
    }
    return (void *)size_argument(kind);
}

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 3, "usage: %s CALL KIND", argv[0]);
    _Alignas(64) char on_stack[256];
    memset(on_stack, 0, sizeof on_stack);
    void *warm_up = block_of(100);
    misuse(call_named(argv[1]), pointer_of(argv[2], opaque(on_stack)));
    free(warm_up);
    return 0;
}
