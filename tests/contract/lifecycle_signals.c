/*
 * Signals in the midst of allocator calls: handlers on the ordinary and on an alternate stack,
 * thousands of them, that touch blocks but do not allocate (as POSIX asks).
 */
#include "support/pattern.h"
#include "support/rng.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "support/api.h"

enum { THREADS = 3, SECONDS_AT_MOST = 60, WANTED = 2000 };

static atomic_int handled;
static atomic_int stop;
static unsigned char *shared_block;

static void on_signal(int number)
{
    int kept = errno;
    unsigned char copy[256];
    memcpy(copy, shared_block, sizeof copy);
    if (pattern_first_difference(copy, sizeof copy, 11) != sizeof copy)
        _exit(5);
    atomic_fetch_add(&handled, 1);
    (void)number;
    errno = kept;
}

static void *busy_thread(void *argument)
{
    enum { SLOTS = 128 };
    void *slots[SLOTS] = {0};
    size_t sizes[SLOTS];
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    CHECK(stack.ss_sp != NULL && sigaltstack(&stack, NULL) == 0);
    struct rng rng = {(uint64_t)(intptr_t)argument + 100};
    while (!atomic_load(&stop)) {
        size_t slot = rng_below(&rng, SLOTS);
        if (slots[slot] != NULL) {
            CHECK(pattern_first_difference(slots[slot], sizes[slot], slot) == sizes[slot]);
            errno = 4721;
            free(slots[slot]);
            CHECK(errno == 4721);
            slots[slot] = NULL;
        } else {
            sizes[slot] = rng_mixed_size(&rng) / 4 + 1;
            slots[slot] = malloc(sizes[slot]);
            CHECK(slots[slot] != NULL);
            pattern_fill(slots[slot], sizes[slot], slot);
        }
    }
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    stack_t off = {.ss_flags = SS_DISABLE};
    CHECK(sigaltstack(&off, NULL) == 0);
    free(stack.ss_sp);
    return NULL;
}

static void install(int number, int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    CHECK(sigaction(number, &action, NULL) == 0);
}

static void handlers_interrupt_the_allocator(void)
{
    shared_block = malloc(256);
    CHECK(shared_block != NULL);
    pattern_fill(shared_block, 256, 11);
    install(SIGALRM, SA_RESTART);
    install(SIGUSR1, SA_RESTART | SA_ONSTACK);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, busy_thread, (void *)(intptr_t)i) == 0);
    struct itimerval timer = {{0, 500}, {0, 500}};
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    for (int i = 0; atomic_load(&handled) < WANTED; i++) {
        CHECK_THAT(i < SECONDS_AT_MOST * 10000, "only %d signals came", atomic_load(&handled));
        CHECK(pthread_kill(threads[i % THREADS], SIGUSR1) == 0);
        void *block = opaque(malloc((size_t)(i % 500) + 1));
        CHECK(block != NULL);
        free(block);
        usleep(100);
    }
    timer = (struct itimerval){{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    free(shared_block);
}

int main(void)
{
    reach_hakmem();
    RUN(handlers_interrupt_the_allocator);
    return 0;
}
