/*
 * double_free_remote WHO SIZE: a block is freed twice by
 *   other  another thread than its own, both times, with more frees between and after
 *   both   its own thread and then another one
 *   two    two other threads, one after the other
 * followed by the rest of the class, so that every cache on the way is emptied.
 */
#include "misuse.h"

enum { MANY = 20000 };

static void *blocks[MANY];
static bool faulty[3];

/* Frees the faulty block first, then this part's share of the others. */
static void *free_part(void *argument)
{
    int part = (int)(intptr_t)argument;
    if (faulty[part])
        misuse(CALL_FREE, blocks[0]);
    for (int i = 1 + part; i < MANY; i += 3) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    return NULL;
}

static void *free_first(void *argument)
{
    free(blocks[0]);
    return free_part(argument);
}

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 3, "usage: %s other|both|two SIZE", argv[0]);
    size_t size = size_argument(argv[2]);
    for (int i = 0; i < MANY; i++)
        blocks[i] = block_of(size);
    if (strcmp(argv[1], "other") == 0) {
        faulty[0] = true;
        in_another_thread(free_first, (void *)0);
    } else if (strcmp(argv[1], "both") == 0) {
        free(blocks[0]);
        faulty[0] = true;
        in_another_thread(free_part, (void *)0);
    } else {
        CHECK_THAT(strcmp(argv[1], "two") == 0, "'%s': other, both or two is accepted", argv[1]);
        in_another_thread(free_first, (void *)0);
        faulty[1] = true;
        in_another_thread(free_part, (void *)1);
    }
    for (int i = 1; i < MANY; i++)
        free(blocks[i]);
    say("not found\n");
    return 0;
}
