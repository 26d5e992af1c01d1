/*
 * hakmem-replay: reads a trace, and does again what it says with its own threads.
 *
 *   hakmem-replay info TRACE           what is in it, as JSON
 *   hakmem-replay prepare TRACE FILE   the steps of each thread, ready to be replayed
 *   hakmem-replay run FILE [TIMES]     replays them on the malloc that it is started with; before each
 *                                      time but the first it frees what the one before has left
 *
 * A prepared file is mapped, so that its pages count as shared and not as the memory of the
 * allocator under test; so are the program's own tables. Only the blocks are private memory.
 *
 * Threads go as fast as they can, within limits. The steps of one block take turns (struct slot),
 * in whichever threads they are. And the sequence is cut into windows: nobody enters one before
 * all have left the one before the last, so that memory is alive at about the times when it was.
 * Every 4 KiB of a block is written to, and its last byte, because a trace does not say what the
 * program wrote.
 *
 * Nobody ever waits for a later step of the trace, so that a replay always comes to its end.
 *
 * Synchronization: a slot's turn is stored with release by who had it and loaded with acquire by who waits;
 * the counts of threads in a window are atomic.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STEPS_MAGIC "HAKSTEPS"

enum { STEPS_VERSION = 1, PAGE = 4096, SPINS = 64, YIELDS = 1024, NAP_NS = 20000 };

/* The start of a prepared file; the threads' first[] and then the steps follow. */
struct prepared {
    char magic[8];
    uint32_t version;
    uint32_t threads, slots, root;
    uint64_t steps, operations, peak_live_bytes;
};

struct slot {
    _Atomic uint16_t turn;
    void *block;
};

struct replay {
    const struct prepared *prepared;
    const uint64_t *first;
    const struct replay_step *steps;
    struct slot *slots;
    sem_t ended;
    _Atomic uint64_t started;
    uint32_t windows;
    uint32_t *in_window;              /* threads that come into each one */
    _Atomic uint32_t *left_in_window; /* of them, those that have not left */
    _Atomic uint32_t done;            /* windows, the first ones, that all have left */
};

static struct replay replay;

static void
write_list(const char *name, const uint64_t *numbers, int count, const char *end)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++) {
        printf("%s%llu", i > 0 ? ", " : "", (unsigned long long)numbers[i]);
    }
    printf("]%s", end);
}

/* A path as a JSON string. */
static void
write_text(const char *name, const char *text)
{
    printf("\"%s\": \"", name);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            printf("\\%c", byte);
        } else if (byte < 0x20 || byte >= 0x7f) {
            printf("\\u%04x", byte);
        } else {
            putchar(byte);
        }
    }
    printf("\", ");
}

static int
show_info(const char *path)
{
    static const char *const kinds[] = {"malloc", "calloc", "aligned", "free", "realloc"};
    struct trace trace = trace_read(path);
    const struct trace_facts *facts = &trace.facts;
    putchar('{');
    write_text("program", facts->program);
    printf("\"process\": %u, \"ended\": %s, \"cut\": %s, \"threads\": %u, \"operations\": {",
           facts->process, facts->ended == 1 ? "true" : "false", facts->cut ? "true" : "false",
           facts->threads);
    for (int i = 0; i < REPLAY_KINDS; i++) {
        printf("%s\"%s\": %llu", i > 0 ? ", " : "", kinds[i],
               (unsigned long long)facts->operations[i]);
    }
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"unknown_frees", facts->unknown_frees},
        {"cross_thread_frees", facts->cross_thread_frees},
        {"allocated_bytes", facts->allocated_bytes},
        {"peak_live_bytes", facts->peak_live_bytes},
        {"peak_live_blocks", facts->peak_live_blocks},
        {"end_live_bytes", facts->end_live_bytes},
        {"end_live_blocks", facts->end_live_blocks},
        {"nanoseconds", facts->seconds_ns},
    };
    printf("}, ");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        printf("\"%s\": %llu, ", numbers[i].name, (unsigned long long)numbers[i].value);
    }
    write_list("sizes", facts->sizes, TRACE_LOGS, ", ");
    write_list("lifetimes", facts->lifetimes, TRACE_LOGS, ", ");
    write_list("live_bytes", facts->live_bytes, TRACE_POINTS, "}\n");
    return 0;
}

static int
prepare(const char *path, const char *to)
{
    struct trace trace = trace_read(path);
    uint32_t threads = trace.facts.threads;
    struct prepared prepared = {.version = STEPS_VERSION,
                                .threads = threads,
                                .slots = trace.facts.slots,
                                .root = trace.root,
                                .steps = trace.first[threads],
                                .peak_live_bytes = trace.facts.peak_live_bytes};
    memcpy(prepared.magic, STEPS_MAGIC, sizeof prepared.magic);
    for (int i = 0; i < REPLAY_KINDS; i++) {
        prepared.operations += trace.facts.operations[i];
    }
    FILE *file = fopen(to, "we");
    if (file == NULL || fwrite(&prepared, sizeof prepared, 1, file) != 1 ||
        fwrite(trace.first, sizeof *trace.first, threads + 1, file) != threads + 1 ||
        fwrite(trace.steps, sizeof *trace.steps, prepared.steps, file) != prepared.steps ||
        fclose(file) != 0) {
        trace_stop(TRACE_FAILED, "cannot write %s: %s", to, strerror(errno));
    }
    return 0;
}

static void *
shared_table(size_t bytes)
{
    int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE;
    void *table = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (table == MAP_FAILED) {
        trace_stop(TRACE_FAILED, "no memory for a table of %zu bytes", bytes);
    }
    return table;
}

static void
count_windows(void)
{
    uint64_t steps = replay.prepared->steps;
    replay.windows = 0;
    for (int filling = 0; filling < 2; filling++) {
        for (uint64_t i = 0; i < steps; i++) {
            const struct replay_step *step = &replay.steps[i];
            if (step->kind != REPLAY_WINDOW) {
                continue;
            }
            if (filling) {
                replay.in_window[step->slot]++;
            } else if (step->slot >= replay.windows) {
                replay.windows = step->slot + 1;
            }
        }
        if (!filling) {
            replay.in_window = shared_table(replay.windows * sizeof *replay.in_window);
            replay.left_in_window = shared_table(replay.windows * sizeof *replay.left_in_window);
        }
    }
}

static void
open_prepared(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        trace_stop(TRACE_FAILED, "cannot read %s: %s", path, strerror(errno));
    }
    size_t length = (size_t)status.st_size;
    const struct prepared *prepared = MAP_FAILED;
    if (length >= sizeof *prepared) {
        prepared = mmap(NULL, length, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    }
    close(file);
    if (prepared == MAP_FAILED ||
        memcmp(prepared->magic, STEPS_MAGIC, sizeof prepared->magic) != 0 ||
        prepared->version != STEPS_VERSION) {
        trace_stop(TRACE_FAILED, "%s is no prepared trace of version %d", path, STEPS_VERSION);
    }
    replay.prepared = prepared;
    replay.first = (const void *)(prepared + 1);
    replay.steps = (const void *)(replay.first + prepared->threads + 1);
    if ((const char *)(replay.steps + prepared->steps) > (const char *)prepared + length) {
        trace_stop(TRACE_FAILED, "%s is cut", path);
    }
    replay.slots = shared_table(prepared->slots * sizeof *replay.slots);
    count_windows();
}

static void *play(void *argument);

static void
spawn(uint32_t thread)
{
    pthread_t started;
    int error = pthread_create(&started, NULL, play, (void *)(uintptr_t)thread);
    if (error != 0) {
        trace_stop(TRACE_FAILED, "cannot start a thread: %s", strerror(error));
    }
    pthread_detach(started);
    atomic_fetch_add(&replay.started, 1);
}

/* What a waiting thread does between two looks. */
static void
wait_a_little(unsigned looks)
{
    if (looks > SPINS + YIELDS) {
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    } else if (looks > SPINS) {
        sched_yield();
    }
}

static struct slot *
await_turn(const struct replay_step *step)
{
    struct slot *slot = &replay.slots[step->slot];
    unsigned looks = 0;
    while (atomic_load_explicit(&slot->turn, memory_order_acquire) != step->turn) {
        wait_a_little(++looks);
    }
    return slot;
}

static void
leave_window(uint32_t window)
{
    atomic_fetch_sub(&replay.left_in_window[window], 1);
}

static void
enter_window(uint32_t window)
{
    unsigned looks = 0;
    for (uint32_t done; (done = atomic_load(&replay.done)) + 1 < window;) {
        if (atomic_load(&replay.left_in_window[done]) == 0) {
            atomic_compare_exchange_strong(&replay.done, &done, done + 1);
        } else {
            wait_a_little(++looks);
        }
    }
}

static void *
use(void *block, size_t size)
{
    volatile unsigned char *bytes = block;
    if (block == NULL && size > 0) {
        trace_stop(TRACE_FAILED, "no memory for a block of %zu bytes", size);
    }
    for (size_t at = 0; at < size; at += PAGE) {
        bytes[at] = (unsigned char)size;
    }
    if (size > 0) {
        bytes[size - 1] = (unsigned char)size;
    }
    return block;
}

static void *
allocate(const struct replay_step *step)
{
    void *block = NULL;
    if (step->kind == REPLAY_MALLOC) {
        block = malloc(step->size);
    } else if (step->kind == REPLAY_CALLOC) {
        block = calloc(1, step->size);
    } else {
        /* posix_memalign takes no less than the size of a pointer */
        size_t alignment = (size_t)1 << (step->alignment < 3 ? 3 : step->alignment);
        if (posix_memalign(&block, alignment, step->size) != 0) {
            block = NULL;
        }
    }
    return block;
}

static void
do_step(const struct replay_step *step)
{
    struct slot *slot = await_turn(step);
    void *block = slot->block;
    uint16_t next = (uint16_t)(step->turn + 1);
    if (step->kind == REPLAY_FREE) {
        slot->block = NULL;
        atomic_store_explicit(&slot->turn, next, memory_order_release);
        free(block);
        return;
    }
    block = step->kind == REPLAY_REALLOC ? realloc(block, step->size) : allocate(step);
    slot->block = use(block, step->size);
    atomic_store_explicit(&slot->turn, next, memory_order_release);
}

static void *
play(void *argument)
{
    uint32_t thread = (uint32_t)(uintptr_t)argument;
    const struct replay_step *step = &replay.steps[replay.first[thread]];
    const struct replay_step *end = &replay.steps[replay.first[thread + 1]];
    uint32_t window = 0;
    bool inside = false;
    for (; step < end; step++) {
        if (step->kind == REPLAY_WINDOW) {
            if (inside) {
                leave_window(window);
            }
            window = step->slot;
            inside = true;
            enter_window(window);
        } else if (step->kind == REPLAY_SPAWN) {
            spawn(step->slot);
        } else {
            do_step(step);
        }
    }
    if (inside) {
        leave_window(window);
    }
    if (thread != replay.prepared->root) {
        sem_post(&replay.ended);
    }
    return NULL;
}

static void
play_once(void)
{
    atomic_store(&replay.started, 0);
    atomic_store(&replay.done, 0);
    for (uint32_t i = 0; i < replay.windows; i++) {
        atomic_store(&replay.left_in_window[i], replay.in_window[i]);
    }
    play((void *)(uintptr_t)replay.prepared->root);
    /* A thread that another one starts has been counted before that one ends. */
    for (uint64_t ended = 0; ended < atomic_load(&replay.started);) {
        ended += sem_wait(&replay.ended) == 0;
    }
}

static void
free_the_rest(void)
{
    for (uint32_t i = 0; i < replay.prepared->slots; i++) {
        free(replay.slots[i].block);
        replay.slots[i].block = NULL;
        atomic_store(&replay.slots[i].turn, 0);
    }
}

static double
now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int
run(const char *path, const char *times_text)
{
    char *end;
    long times = strtol(times_text, &end, 10);
    if (end == times_text || *end != '\0' || times < 1 || times > 1000000) {
        trace_stop(TRACE_BAD_USAGE, "TIMES must be a whole number from 1 to 1000000, not \"%s\"",
                   times_text);
    }
    open_prepared(path);
    sem_init(&replay.ended, 0, 0);
    double seconds = 0;
    for (long i = 0; i < times; i++) {
        if (i > 0) {
            free_the_rest();
        }
        double start = now();
        play_once();
        seconds += now() - start;
    }
    double operations = (double)replay.prepared->operations * (double)times;
    /* Not by stdio, whose buffer would be one more block. */
    char line[64];
    int length = snprintf(line, sizeof line, "%.3f M ops/s\n", operations / (seconds * 1e6));
    return write(STDOUT_FILENO, line, (size_t)length) == length ? 0 : TRACE_FAILED;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "info") == 0) {
        return show_info(argv[2]);
    }
    if (argc == 4 && strcmp(argv[1], "prepare") == 0) {
        return prepare(argv[2], argv[3]);
    }
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "run") == 0) {
        return run(argv[2], argc == 4 ? argv[3] : "1");
    }
    trace_stop(TRACE_BAD_USAGE, "usage: hakmem-replay info TRACE | prepare TRACE FILE |"
                                " run FILE [TIMES]");
}
