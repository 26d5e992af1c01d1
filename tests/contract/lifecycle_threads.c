/*
 * Threads that come and go: 10,000 short ones leave no growth, one that only frees works and
 * gives memory back, main may leave by pthread_exit.
 */
#include "support/pattern.h"
#include "support/proc.h"

#include <pthread.h>
#include <stdatomic.h>

#include "support/api.h"

enum { SHORT_THREADS = 10000, WARM_UP = 1000, AT_ONCE = 4, HANDED = 64 };

/* Blocks that a thread leaves for the next one to free. */
static void *_Atomic handed[HANDED];

/* All threads of a group are alive at once, however the machine schedules them: resident memory
   depends on how many heaps there are at a time. */
static pthread_barrier_t together;

static void *short_thread(void *argument)
{
    int number = (int)(intptr_t)argument;
    void *own[40];
    for (int i = 0; i < 40; i++) {
        size_t size = (size_t)((number + i * 131) % 3000) + 1;
        own[i] = malloc(size);
        CHECK(own[i] != NULL);
        memset(own[i], number, size);
    }
    pthread_barrier_wait(&together);
    for (int i = 0; i < 40; i++) {
        if (i % 8)
            free(own[i]);
        else
            free(atomic_exchange(&handed[(number + i) % HANDED], own[i]));
    }
    void *larger = malloc((size_t)(number % 16) * 20000 + 40000);
    CHECK(larger != NULL);
    memset(larger, 1, 40000);
    free(larger);
    return NULL;
}

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void run_short_threads(int from, int to)
{
    for (int i = from; i < to; i += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++)
            CHECK(pthread_create(&threads[j], NULL, short_thread, (void *)(intptr_t)(i + j)) == 0);
        for (int j = 0; j < AT_ONCE; j++)
            CHECK(pthread_join(threads[j], NULL) == 0);
    }
}

static void short_threads_leave_no_growth(void)
{
    CHECK(pthread_barrier_init(&together, NULL, AT_ONCE) == 0);
    run_short_threads(0, WARM_UP);
    size_t resident = proc_rss_kib();
    size_t virtual_size = proc_virtual_kib();
    size_t used = in_use();
    run_short_threads(WARM_UP, WARM_UP + SHORT_THREADS);
    /* Which pages the units of four heaps have varies by a few MiB; a KiB lost by each thread would be 10. */
    CHECK_THAT(proc_rss_kib() < resident + 5120, "%zu KiB resident after %d threads, then %zu",
               resident, WARM_UP, proc_rss_kib());
    CHECK_THAT(proc_virtual_kib() < virtual_size + 262144, "%zu KiB of addresses, then %zu",
               virtual_size, proc_virtual_kib());
    CHECK_THAT(in_use() < used + 1048576, "%zu bytes in use, then %zu", used, in_use());
    for (int i = 0; i < HANDED; i++)
        free(atomic_exchange(&handed[i], NULL));
}

enum { MAILBOX = 1024, PASSED = 200000 };

static void *_Atomic mailbox[MAILBOX];

static size_t passed_size(int i)
{
    return (size_t)(i * 7919 % 2000) + 1;
}

static void *only_free(void *argument)
{
    (void)argument;
    for (int i = 0; i < PASSED; i++) {
        void *block;
        while ((block = atomic_exchange(&mailbox[i % MAILBOX], NULL)) == NULL)
            sched_yield();
        CHECK(pattern_first_difference(block, passed_size(i), (uint64_t)i) == passed_size(i));
        free(block);
    }
    return NULL;
}

static void thread_that_only_frees(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, only_free, NULL) == 0);
    size_t before = proc_rss_kib();
    for (int i = 0; i < PASSED; i++) {
        void *block = malloc(passed_size(i));
        CHECK(block != NULL);
        pattern_fill(block, passed_size(i), (uint64_t)i);
        while (atomic_load(&mailbox[i % MAILBOX]) != NULL)
            sched_yield();
        atomic_store(&mailbox[i % MAILBOX], block);
    }
    /* 200 MB went through; about 1 MiB of it was alive at any time. */
    size_t after = proc_rss_kib();
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_THAT(after < before + 24576, "%zu KiB before, %zu after", before, after);
}

/* Runs once main is gone: it frees what main left behind and ends the process. */
static void *after_main(void *argument)
{
    void **left = argument;
    usleep(50000);
    for (int i = 0; i < 1000; i++) {
        CHECK(pattern_first_difference(left[i], 700, (uint64_t)i) == 700);
        free(left[i]);
    }
    for (int i = 0; i < 10000; i++) {
        void *block = opaque(malloc(700));
        CHECK(block != NULL);
        free(block);
    }
    free(left);
    check_passed("pthread_exit of main");
    exit(0);
}

int main(void)
{
    reach_hakmem();
    RUN(short_threads_leave_no_growth);
    RUN(thread_that_only_frees);
    void **left = malloc(1000 * sizeof *left);
    CHECK(left != NULL);
    for (int i = 0; i < 1000; i++) {
        left[i] = malloc(700);
        CHECK(left[i] != NULL);
        pattern_fill(left[i], 700, (uint64_t)i);
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, after_main, left) == 0);
    pthread_exit(NULL);
}
