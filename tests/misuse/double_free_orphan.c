/* double_free_orphan SIZE: a block of a thread that is gone is freed twice by another. */
#include "misuse.h"

enum { MANY = 20000 };

static void *blocks[MANY];
static size_t size;

static void *allocate(void *argument)
{
    for (int i = 0; i < MANY; i++)
        blocks[i] = block_of(size);
    return argument;
}

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 2, "usage: %s SIZE", argv[0]);
    size = size_argument(argv[1]);
    in_another_thread(allocate, NULL);
    free(blocks[0]);
    free(blocks[1]);
    misuse(CALL_FREE, blocks[0]);
    for (int i = 2; i < MANY; i++)
        free(blocks[i]);
    say("not found\n");
    return 0;
}
