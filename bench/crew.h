/*
 * Threads that start together and are timed together, for the workloads that take THREADS.
 *
 * A body prepares, calls crew_ready(), does its work, calls crew_done() and cleans up. The figure
 * counts what all members report, from the first start to the last end.
 */
#ifndef HAKMEM_BENCH_CREW_H
#define HAKMEM_BENCH_CREW_H

#include "common.h"

enum { CREW_MAX = 256 };

struct crew_member {
    pthread_t thread;
    pthread_barrier_t *start_line;
    void (*body)(struct crew_member *);
    void *shared; /* the workload's own */
    unsigned index, count;
    uint64_t steps;
    struct bench_random random;
    uint64_t operations;
    double start, end; /* seconds */
};

static inline void
crew_ready(struct crew_member *member)
{
    pthread_barrier_wait(member->start_line);
    member->start = bench_now();
}

static inline void
crew_done(struct crew_member *member, uint64_t operations)
{
    member->end = bench_now();
    member->operations = operations;
}

static inline void *
crew_start_routine(void *argument)
{
    struct crew_member *member = argument;
    member->body(member);
    return NULL;
}

/* Runs body on so many threads and prints the figure. */
static inline void
crew_run(uint64_t threads, uint64_t steps, uint64_t seed, void *shared,
         void (*body)(struct crew_member *))
{
    struct crew_member *members = bench_table(threads * sizeof *members);
    pthread_barrier_t start_line;
    pthread_barrier_init(&start_line, NULL, (unsigned)threads);
    for (uint64_t i = 0; i < threads; i++) {
        members[i] = (struct crew_member){.start_line = &start_line,
                                          .body = body,
                                          .shared = shared,
                                          .index = (unsigned)i,
                                          .count = (unsigned)threads,
                                          .steps = steps,
                                          .random = bench_random_start(seed * 1024 + i)};
        bench_thread_start(&members[i].thread, crew_start_routine, &members[i]);
    }
    double first_start = 0, last_end = 0;
    uint64_t operations = 0;
    for (uint64_t i = 0; i < threads; i++) {
        pthread_join(members[i].thread, NULL);
        first_start = i == 0 || members[i].start < first_start ? members[i].start : first_start;
        last_end = members[i].end > last_end ? members[i].end : last_end;
        operations += members[i].operations;
    }
    bench_report(operations, last_end - first_start);
}

#endif
