#include "misuse.h"

struct hakmem_heap *misuse_heap;

__attribute__((noinline)) void misuse(enum call call, void *pointer)
{
    announce(pointer);
    void *moved = NULL;
    size_t usable = 0;
    switch (call) {
    case CALL_FREE:
        free(opaque(pointer));
        break;
    case CALL_REALLOC:
        moved = opaque(realloc(opaque(pointer), 100));
        break;
    case CALL_USABLE_SIZE:
        usable = opaque_size(malloc_usable_size(opaque(pointer)));
        break;
    case CALL_HEAP_FREE:
        hakmem_heap_free(misuse_heap, opaque(pointer));
        break;
    case CALL_HEAP_DESTROY:
        hakmem_heap_destroy(opaque(pointer));
        break;
    }
    survived();
    (void)moved;
    (void)usable;
}
