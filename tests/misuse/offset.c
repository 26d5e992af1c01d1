/*
 * offset CALL SIZE OFFSET: CALL is given a pointer OFFSET bytes into a live block of SIZE bytes.
 * Many more of the class are freed after it.
 */
#include "misuse.h"

enum { MANY = 20000 };

static void *blocks[MANY];

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 4, "usage: %s CALL SIZE OFFSET", argv[0]);
    size_t size = size_argument(argv[2]);
    int count = size <= 32768 ? MANY : 4;
    for (int i = 0; i < count; i++)
        blocks[i] = block_of(size);
    misuse(call_named(argv[1]), (char *)blocks[0] + size_argument(argv[3]));
    for (int i = 1; i < count; i++)
        free(blocks[i]);
    say("not found\n");
    return 0;
}
