/*
 * pthread_key destructors that free, allocate and set their key again, over all the rounds that
 * POSIX gives them; they run after or before the allocator's own thread exit, and both must do.
 */
#include "support/pattern.h"
#include "support/proc.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "support/api.h"

enum { KEYS = 8, THREADS = 200, BLOCKS = 50 };

struct bag {
    struct bag *next;
    void *blocks[BLOCKS];
    int round;
};

static pthread_key_t keys[KEYS];
static atomic_int destructions;
static _Atomic(struct bag *) left_over;

static size_t size_of(int i)
{
    static const size_t sizes[] = {16, 80, 1000, 4000, 30000, 200000};
    return sizes[i % 6];
}

static struct bag *new_bag(int round)
{
    struct bag *bag = calloc(1, sizeof *bag);
    CHECK(bag != NULL && bag->round == 0);
    bag->round = round;
    for (int i = 0; i < BLOCKS; i++) {
        bag->blocks[i] = malloc(size_of(i));
        CHECK(bag->blocks[i] != NULL);
        pattern_fill(bag->blocks[i], size_of(i), (uint64_t)i);
    }
    return bag;
}

static void free_bag(struct bag *bag)
{
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(pattern_first_difference(bag->blocks[i], size_of(i), (uint64_t)i) == size_of(i));
        free(bag->blocks[i]);
    }
    free(bag);
}

/* The last round leaves a bag behind, to be freed by a thread that never allocated it. */
static void destroy(void *value)
{
    struct bag *bag = value;
    int round = bag->round;
    free_bag(bag);
    atomic_fetch_add(&destructions, 1);
    bag = new_bag(round + 1);
    if (round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
        CHECK(pthread_setspecific(keys[round % KEYS], bag) == 0);
        return;
    }
    bag->next = atomic_load(&left_over);
    while (!atomic_compare_exchange_weak(&left_over, &bag->next, bag))
        ;
}

static void *thread_main(void *argument)
{
    int key = (int)(intptr_t)argument;
    CHECK(pthread_setspecific(keys[key], new_bag(0)) == 0);
    return NULL;
}

/* A thread whose first call to the allocator comes from a destructor. */
static void destroy_first_use(void *value)
{
    CHECK(value == keys);
    free_bag(new_bag(0));
    atomic_fetch_add(&destructions, 1);
}

static pthread_key_t first_use_key;

static void *silent_thread(void *argument)
{
    CHECK(pthread_setspecific(first_use_key, argument) == 0);
    return NULL;
}

static void run_threads(void *(*function)(void *), void *argument, bool numbered)
{
    for (int i = 0; i < THREADS / 8; i++) {
        pthread_t threads[8];
        for (int j = 0; j < 8; j++) {
            void *given = numbered ? (void *)(intptr_t)(j % KEYS) : argument;
            CHECK(pthread_create(&threads[j], NULL, function, given) == 0);
        }
        for (int j = 0; j < 8; j++)
            CHECK(pthread_join(threads[j], NULL) == 0);
    }
}

static void destructors_free_and_allocate(void)
{
    for (int i = 0; i < KEYS; i++)
        CHECK(pthread_key_create(&keys[i], destroy) == 0);
    run_threads(thread_main, NULL, true);
    CHECK(atomic_load(&destructions) == THREADS * PTHREAD_DESTRUCTOR_ITERATIONS);
    int bags = 0;
    for (struct bag *bag = atomic_load(&left_over), *next; bag != NULL; bag = next, bags++) {
        next = bag->next;
        free_bag(bag);
    }
    CHECK(bags == THREADS);
}

static void destructor_is_the_first_user(void)
{
    atomic_store(&destructions, 0);
    CHECK(pthread_key_create(&first_use_key, destroy_first_use) == 0);
    size_t before = proc_rss_kib();
    run_threads(silent_thread, keys, false);
    CHECK(atomic_load(&destructions) == THREADS);
    CHECK_THAT(proc_rss_kib() < before + 65536, "%zu KiB before, %zu after", before,
               proc_rss_kib());
}

int main(void)
{
    reach_hakmem();
    RUN(destructors_free_and_allocate);
    /* ThreadSanitizer's own state of a thread is gone before the last round of destructors. */
    if (!CHECK_UNDER_TSAN)
        RUN(destructor_is_the_first_user);
    return 0;
}
