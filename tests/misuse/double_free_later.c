/*
 * double_free_later SIZE: a block is freed twice with another between, then many more of its class,
 * so that the thread's cache of the class is flushed.
 */
#include "misuse.h"

enum { MANY = 20000 };

static void *blocks[MANY];

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 2, "usage: %s SIZE", argv[0]);
    size_t size = size_argument(argv[1]);
    for (int i = 0; i < MANY; i++)
        blocks[i] = block_of(size);
    free(blocks[0]);
    free(blocks[1]);
    misuse(CALL_FREE, blocks[0]);
    for (int i = 2; i < MANY; i++)
        free(blocks[i]);
    say("not found\n");
    return 0;
}
