/*
 * Shared by the workload programs of this folder: argument checking, the random numbers, the clock
 * and the one figure that each program prints.
 *
 * The programs are plain callers of malloc, so that any allocator can be preloaded under them. What
 * they need for themselves (slots, rings) comes from mmap and is touched before the clock starts:
 * only the blocks under test reach the allocator, and the programs themselves add neither page
 * faults nor system calls to a steady state.
 */
#ifndef HAKMEM_BENCH_COMMON_H
#define HAKMEM_BENCH_COMMON_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_BAD_USAGE = 2, BENCH_FAILED = 1 };

/* Prints one line on stderr and ends the program with the status for a wrong command line. */
#define bench_usage(...) bench_stop(BENCH_BAD_USAGE, __VA_ARGS__)

/* The same for a failure at run time (no memory, no thread). */
#define bench_fail(...) bench_stop(BENCH_FAILED, __VA_ARGS__)

__attribute__((format(printf, 2, 3))) static _Noreturn inline void
bench_stop(int status, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "%s: %s\n", program_invocation_short_name, line);
    exit(status);
}

/* A whole number from low to high; anything else is a usage error that names the argument. */
static inline uint64_t
bench_number(const char *name, const char *text, uint64_t low, uint64_t high)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool is_plain = text[0] >= '0' && text[0] <= '9' && *end == '\0';
    if (!is_plain || errno == ERANGE || value < low || value > high) {
        bench_usage("%s must be a whole number from %llu to %llu, not \"%s\"", name,
                    (unsigned long long)low, (unsigned long long)high, text);
    }
    return value;
}

/* The same for an optional positional argument. */
static inline uint64_t
bench_number_or(int argc, char **argv, int index, const char *name, uint64_t low, uint64_t high,
                uint64_t otherwise)
{
    return index < argc ? bench_number(name, argv[index], low, high) : otherwise;
}

/* Ends the program unless the count of positional arguments is from low to high. */
static inline void
bench_expect(int argc, int low, int high, const char *usage)
{
    if (argc - 1 < low || argc - 1 > high) {
        bench_usage("usage: %s %s", program_invocation_short_name, usage);
    }
}

/*
 * xorshift64: three shifts and three exclusive ors, so that the allocator and not the generator is
 * what the program spends its time on. The state is never zero.
 */
struct bench_random {
    uint64_t state;
};

static inline struct bench_random
bench_random_start(uint64_t seed)
{
    /* One round of splitmix64 spreads small seeds over all bits. */
    uint64_t mixed = seed + 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
    return (struct bench_random){mixed != 0 ? mixed : 1};
}

static inline uint64_t
bench_next(struct bench_random *random)
{
    uint64_t x = random->state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    random->state = x;
    return x;
}

/* 32 random bits to 0 … span - 1 by one multiplication. */
static inline uint32_t
bench_scale(uint32_t bits, uint32_t span)
{
    return (uint32_t)(((uint64_t)bits * span) >> 32);
}

/* Hides a pointer from the optimizer, which would otherwise drop a malloc and its free. */
static inline void
bench_keep(void *block)
{
    __asm__ volatile("" : : "r"(block) : "memory");
}

/* What the shortest-lived use of a block does at least: its first and last byte are written. */
static inline void
bench_touch(void *block, size_t size)
{
    volatile unsigned char *bytes = block;
    bytes[0] = (unsigned char)size;
    bytes[size - 1] = (unsigned char)size;
}

static inline void *
bench_malloc(size_t size)
{
    void *block = malloc(size);
    if (__builtin_expect(block == NULL, 0)) {
        bench_fail("malloc of %zu bytes failed", size);
    }
    return block;
}

/* Zeroed memory for the program's own use, past the allocator under test, already backed. */
static inline void *
bench_table(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (table == MAP_FAILED) {
        bench_fail("cannot map %zu bytes for the program's own tables", bytes);
    }
    return table;
}

/* Seconds on the monotonic clock. */
static inline double
bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The figure, without stdio's buffer, which would be one more block from the allocator. */
static inline void
bench_report(uint64_t operations, double seconds)
{
    dprintf(STDOUT_FILENO, "%.3f M ops/s\n", (double)operations / (seconds * 1e6));
}

static inline void
bench_thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    int error = pthread_create(thread, NULL, body, argument);
    if (error != 0) {
        bench_fail("cannot start a thread: %s", strerror(error));
    }
}

#endif
