/*
 * fork from a process whose other threads allocate and free all the while. Each child allocates
 * in every tier, frees blocks of the parent's threads, starts threads of its own and ends with
 * exit or _exit; its own child does it again.
 */
#include "support/pattern.h"
#include "support/rng.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "support/api.h"

enum { THREADS = 4, HELD = 256, FORKS = 40, CHILD_SECONDS = 60 };

static atomic_int stop;
static pthread_barrier_t filled;

/* Filled by each thread before the first fork and left alone until the end. */
static void *held[THREADS][HELD];

static size_t held_size(int i)
{
    static const size_t sizes[] = {24, 160, 900, 3000, 20000, 100000};
    return sizes[i % 6];
}

static void churn(struct rng *rng, int rounds)
{
    enum { SLOTS = 64 };
    void *slots[SLOTS] = {0};
    size_t sizes[SLOTS] = {0};
    for (int i = 0; i < rounds; i++) {
        int slot = (int)rng_below(rng, SLOTS);
        if (slots[slot] != NULL) {
            uint64_t stamp = (uint64_t)slot;
            CHECK(pattern_first_difference(slots[slot], sizes[slot], stamp) == sizes[slot]);
            free(slots[slot]);
            slots[slot] = NULL;
            continue;
        }
        sizes[slot] = rng_mixed_size(rng) / 4 + 1;
        slots[slot] = malloc(sizes[slot]);
        CHECK(slots[slot] != NULL);
        pattern_fill(slots[slot], sizes[slot], (uint64_t)slot);
    }
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
}

static void *busy_thread(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number};
    for (int i = 0; i < HELD; i++) {
        held[number][i] = malloc(held_size(i));
        CHECK(held[number][i] != NULL);
        pattern_fill(held[number][i], held_size(i), (uint64_t)i);
    }
    pthread_barrier_wait(&filled);
    while (!atomic_load(&stop))
        churn(&rng, 200);
    return NULL;
}

static void *child_thread(void *argument)
{
    struct rng rng = {(uint64_t)(intptr_t)argument};
    churn(&rng, 200);
    return NULL;
}

/* What every generation does: its own work, the parents' blocks from first on, threads. */
static void live(int number, int first)
{
    alarm(CHILD_SECONDS);
    struct rng rng = {(uint64_t)number};
    churn(&rng, 300);
    for (int t = 0; t < THREADS; t++) {
        for (int i = first; i < HELD; i += 2) {
            uint64_t stamp = (uint64_t)i;
            CHECK(pattern_first_difference(held[t][i], held_size(i), stamp) == held_size(i));
            free(held[t][i]);
        }
    }
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, child_thread, (void *)(intptr_t)i) == 0);
    churn(&rng, 300);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void live_in_child(int number)
{
    live(number, 0);
    if (number % 8 == 0) {
        pid_t grandchild = fork();
        CHECK(grandchild >= 0);
        if (grandchild == 0) {
            live(number, 1);
            exit(0);
        }
        int status;
        CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
    }
    if (number % 2)
        _exit(0);
    exit(0);
}

static void fork_while_others_allocate(void)
{
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&filled, NULL, THREADS + 1) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, busy_thread, (void *)(intptr_t)i) == 0);
    pthread_barrier_wait(&filled);
    struct rng rng = {7};
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            live_in_child(i);
        churn(&rng, 50);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_THAT(status == 0, "child %d ended with status %#x%s", i, (unsigned)status,
                   WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? " (it hung)" : "");
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < HELD; i++) {
            CHECK(pattern_first_difference(held[t][i], held_size(i), (uint64_t)i) == held_size(i));
            free(held[t][i]);
        }
}

/* Handlers registered before and after the first allocation may allocate. */
static void allocate_in_atfork_handler(void)
{
    void *block = malloc(300);
    CHECK(block != NULL);
    memset(block, 1, 300);
    free(block);
}

static void atfork_handlers_allocate(void)
{
    CHECK(pthread_atfork(allocate_in_atfork_handler, allocate_in_atfork_handler,
                         allocate_in_atfork_handler) == 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(CHILD_SECONDS);
            allocate_in_atfork_handler();
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_THAT(status == 0, "status %#x", (unsigned)status);
    }
}

int main(void)
{
    reach_hakmem();
    RUN(atfork_handlers_allocate);
    RUN(fork_while_others_allocate);
    return 0;
}
