/*
 * heap destroyed CALL SIZE: CALL is given a block of a heap that was destroyed.
 * heap twice CALL SIZE: CALL is given a block of a heap that was freed, others of it were not.
 * heap offset CALL SIZE: CALL is given the middle of a live block of a heap.
 * heap other SIZE, heap plain SIZE: a heap is given a block of another heap, or of malloc.
 * heap dead: a heap is destroyed twice.
 */
#include "misuse.h"

enum { BLOCKS = 20 };

static struct hakmem_heap *new_heap(void)
{
    struct hakmem_heap *heap = hakmem_heap_new("misuse", 0);
    CHECK(heap != NULL);
    return heap;
}

static void *block_in(struct hakmem_heap *heap, size_t size)
{
    void *block = NULL;
    for (int i = 0; i < BLOCKS; i++) {
        block = hakmem_heap_malloc(heap, size);
        CHECK(block != NULL);
    }
    return block;
}

/* Others take memory meanwhile, and give it back. */
static void go_on(size_t size)
{
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = block_of(size);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 4, "usage: %s WHAT CALL SIZE", argv[0]);
    const char *what = argv[1];
    enum call call = call_named(argv[2]);
    size_t size = size_argument(argv[3]);
    struct hakmem_heap *heap = new_heap();
    void *pointer = block_in(heap, size);
    misuse_heap = heap;
    if (strcmp(what, "destroyed") == 0) {
        hakmem_heap_destroy(heap);
        misuse_heap = new_heap();
        if (call != CALL_HEAP_FREE)
            block_in(misuse_heap, size);
        go_on(size);
    } else if (strcmp(what, "twice") == 0) {
        free(pointer);
    } else if (strcmp(what, "offset") == 0) {
        pointer = (char *)pointer + size / 32 * 16;
    } else if (strcmp(what, "other") == 0) {
        misuse_heap = new_heap();
    } else if (strcmp(what, "plain") == 0) {
        pointer = block_of(size);
    } else {
        CHECK_THAT(strcmp(what, "dead") == 0, "'%s' is no misuse of a heap", what);
        hakmem_heap_destroy(heap);
        pointer = heap;
    }
    misuse(call, pointer);
    return 0;
}
