/*
 * inbox WHAT SIZE: a misuse that passes through the inbox of the thread that owns the block.
 *   twice     another thread frees a block twice, with more frees between and after
 *   two       two other threads free it, one after the other
 *   interior  another thread frees an address inside of a block
 * Then the owner allocates the class again and frees it, so that it empties its inbox and its caches.
 */
#include "misuse.h"

enum { MANY = 20000, SENT = 1000 };

static void *blocks[MANY];
static const char *what;

static void *send(void *argument)
{
    int first = (int)(intptr_t)argument;
    for (int i = first + 1; i < first + SENT; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    return NULL;
}

/* The first of its like goes to the deferred map. */
static void open_outbox(void)
{
    static int next = 2 * SENT;
    for (int i = 0; i < 3; i++, next++) {
        free(blocks[next]);
        blocks[next] = NULL;
    }
}

static void *faulty(void *argument)
{
    open_outbox();
    if (strcmp(what, "interior") == 0) {
        misuse(CALL_FREE, (char *)blocks[0] + 16);
        return send(argument);
    }
    if (strcmp(what, "twice") == 0) {
        free(blocks[0]);
        free(blocks[SENT]);
        blocks[SENT] = NULL;
    }
    misuse(CALL_FREE, blocks[0]);
    return send(argument);
}

static void *first_of_two(void *argument)
{
    open_outbox();
    free(blocks[0]);
    return send(argument);
}

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 3, "usage: %s twice|two|interior SIZE", argv[0]);
    what = argv[1];
    size_t size = size_argument(argv[2]);
    for (int i = 0; i < MANY; i++)
        blocks[i] = block_of(size);
    if (strcmp(what, "two") == 0)
        in_another_thread(first_of_two, (void *)(intptr_t)SENT);
    in_another_thread(faulty, (void *)0);
    for (int i = 1; i < MANY; i++)
        if (blocks[i] == NULL)
            blocks[i] = block_of(size);
    for (int i = 1; i < MANY; i++)
        free(blocks[i]);
    say("not found\n");
    return 0;
}
