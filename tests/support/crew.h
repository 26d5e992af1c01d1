/*
 * Runs one function in several threads and waits for all of them.
 */
#ifndef HAKMEM_TESTS_CREW_H
#define HAKMEM_TESTS_CREW_H

#include "check.h"

#include <pthread.h>

enum { CREW_MAX = 32 };

struct crew {
    pthread_t threads[CREW_MAX];
    int size;
};

static inline void crew_start(struct crew *crew, int size, void *(*function)(void *))
{
    CHECK(size <= CREW_MAX);
    crew->size = size;
    for (int i = 0; i < size; i++)
        CHECK(pthread_create(&crew->threads[i], NULL, function, (void *)(intptr_t)i) == 0);
}

static inline void crew_join(struct crew *crew)
{
    for (int i = 0; i < crew->size; i++)
        CHECK(pthread_join(crew->threads[i], NULL) == 0);
}

static inline void crew_run(int size, void *(*function)(void *))
{
    struct crew crew;
    crew_start(&crew, size, function);
    crew_join(&crew);
}

/* First argument of a test program: how many times its normal amount of work; 1 without. */
static inline int scale_of(int argc, char **argv)
{
    int scale = argc > 1 ? atoi(argv[1]) : 1;
    CHECK_THAT(scale >= 1, "usage: %s [SCALE], SCALE at least 1", argv[0]);
    return scale;
}

#endif
