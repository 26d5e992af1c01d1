/*
 * double_free_refill SIZE: a block whose memory was already given back to its slab is freed again
 * while other blocks of that slab live; then its class is allocated from and freed again and again.
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
    /* The oldest half of what is freed goes back to the slabs: an early one is surely there. */
    for (int i = 0; i < MANY; i += 2)
        free(blocks[i]);
    misuse(CALL_FREE, blocks[0]);
    for (int i = 1; i < MANY; i += 2)
        free(blocks[i]);
    say("not found\n");
    return 0;
}
