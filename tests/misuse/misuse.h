/*
 * What the misuse programs share. Each commits one misuse; expect_abort.py holds what follows
 * against the table in CMakeLists.txt.
 *
 * A program announces on stdout the pointer that it is about to misuse. Then comes the faulty call,
 * in a function called misuse(), so that the message can be checked to name the caller. Where the
 * allocator may find out later, the program says "survived" after the faulty call and goes on.
 */
#ifndef HAKMEM_TESTS_MISUSE_H
#define HAKMEM_TESTS_MISUSE_H

#include "support/check.h"
#include "support/heaps.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>

static inline void say(const char *text)
{
    CHECK(write(STDOUT_FILENO, text, strlen(text)) == (ssize_t)strlen(text));
}

static inline void announce(const void *pointer)
{
    char line[40];
    snprintf(line, sizeof line, "misuse of %p\n", pointer);
    say(line);
}

static inline void survived(void)
{
    say("survived\n");
}

/* The call that a program's first argument names. */
enum call { CALL_FREE, CALL_REALLOC, CALL_USABLE_SIZE, CALL_HEAP_FREE, CALL_HEAP_DESTROY };

static inline enum call call_named(const char *name)
{
    if (strcmp(name, "free") == 0)
        return CALL_FREE;
    if (strcmp(name, "realloc") == 0)
        return CALL_REALLOC;
    if (strcmp(name, "heap_free") == 0)
        return CALL_HEAP_FREE;
    if (strcmp(name, "heap_destroy") == 0)
        return CALL_HEAP_DESTROY;
    CHECK_THAT(strcmp(name, "usable_size") == 0,
               "the call is '%s': free, realloc, usable_size, heap_free or heap_destroy is accepted",
               name);
    return CALL_USABLE_SIZE;
}

/* The faulty call. Not inlined and exported, so that it is the caller that a message names. */
void misuse(enum call call, void *pointer);

/* The heap that CALL_HEAP_FREE is a call of. */
extern struct hakmem_heap *misuse_heap;

static inline size_t size_argument(const char *text)
{
    char *end;
    size_t size = strtoul(text, &end, 0);
    CHECK_THAT(*end == '\0', "'%s' is not a number", text);
    return size;
}

static inline void *block_of(size_t size)
{
    void *block = opaque(malloc(size));
    CHECK(block != NULL);
    memset(block, 1, size < 64 ? size : 64);
    return block;
}

static inline void in_another_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, function, argument) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

#endif
