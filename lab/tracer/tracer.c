/*
 * libtrace.so: preloaded, it records every allocation of a program into HAKMEM_TRACE_DIR.
 *
 * The blocks come from glibc, by the names that glibc keeps for interposers. Each process has a
 * file of its own, a child of fork as much as a program that was started anew:
 * trace.PROCESS.NUMBER. A thread writes into a chunk of its own; what an ended thread leaves of
 * one goes to the next thread. Per operation that is an atomic increment, a coarse clock and some
 * bytes; per chunk (about 8,000 operations) four system calls.
 *
 * No descriptor stays open: programs close all that they do not know. When the disk is full or
 * HAKMEM_TRACE_LIMIT bytes are written, recording stops and the program goes on.
 *
 * Synchronization: `sequence` and the header's counters are atomic; a chunk has one writer at a time; the
 * left-over chunks are under a spin lock.
 */
#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { LEFT_MAX = 256, NAMES = 1000 };

struct recorder {
    struct trace_chunk *chunk; /* NULL: none yet */
    unsigned char *at;
    uint64_t block, sequence; /* of the record before */
    uint64_t time;            /* ns, as recorded last */
    uint32_t thread;          /* number + 1 */
    bool busy;
};

static __thread struct recorder me __attribute__((tls_model("initial-exec")));

static struct trace_header *header;
static _Atomic bool active;
static _Atomic uint64_t sequence;
static _Atomic uint32_t threads;
static uint64_t start_ns;
static uint64_t chunks_max = UINT32_MAX;
static char folder[512], path[600];
static pthread_key_t at_exit_of_thread;
static atomic_flag left_lock = ATOMIC_FLAG_INIT;
static struct trace_chunk *left[LEFT_MAX];
static int left_count;

static uint64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The part of the file at this offset, backed by disk space; NULL if there is none. */
static void *
map_part(uint64_t offset, int flags)
{
    int file = open(path, O_RDWR | O_CLOEXEC | flags, 0666);
    if (file < 0) {
        return NULL;
    }
    void *part = MAP_FAILED;
    if (posix_fallocate(file, (off_t)offset, TRACE_CHUNK) == 0) {
        part = mmap(NULL, TRACE_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    }
    close(file);
    return part != MAP_FAILED ? part : NULL;
}

static void
stop_recording(void)
{
    atomic_store(&active, false);
    if (header != NULL) {
        atomic_store(&header->ended, 2);
    }
}

static struct trace_chunk *
take_left(void)
{
    while (atomic_flag_test_and_set_explicit(&left_lock, memory_order_acquire)) {
        sched_yield();
    }
    struct trace_chunk *chunk = left_count > 0 ? left[--left_count] : NULL;
    atomic_flag_clear_explicit(&left_lock, memory_order_release);
    return chunk;
}

static void
leave_chunk(struct trace_chunk *chunk)
{
    uint32_t used = atomic_load_explicit(&chunk->used, memory_order_relaxed);
    bool kept = false;
    while (atomic_flag_test_and_set_explicit(&left_lock, memory_order_acquire)) {
        sched_yield();
    }
    if (left_count < LEFT_MAX && used + 4 * TRACE_RECORD_MAX < TRACE_CHUNK) {
        left[left_count++] = chunk;
        kept = true;
    }
    atomic_flag_clear_explicit(&left_lock, memory_order_release);
    if (!kept) {
        munmap(chunk, TRACE_CHUNK);
    }
}

static struct trace_chunk *
new_chunk(void)
{
    uint64_t index = atomic_fetch_add(&header->chunks, 1);
    struct trace_chunk *chunk =
        index < chunks_max ? map_part((index + 1) * TRACE_CHUNK, 0) : NULL;
    if (chunk != NULL) {
        atomic_store_explicit(&chunk->used, 0, memory_order_relaxed);
        chunk->magic = TRACE_CHUNK_MAGIC;
    }
    return chunk;
}

static void
put_number(uint64_t number)
{
    while (number >= 0x80) {
        *me.at++ = (unsigned char)(number | 0x80);
        number >>= 7;
    }
    *me.at++ = (unsigned char)number;
}

static void
put_block(const void *block)
{
    uint64_t unit = (uint64_t)(uintptr_t)block / 16;
    int64_t step = (int64_t)(unit - me.block);
    put_number((uint64_t)step << 1 ^ (uint64_t)(step >> 63));
    me.block = unit;
}

static void
publish(void)
{
    uint32_t used = (uint32_t)(me.at - me.chunk->records);
    atomic_store_explicit(&me.chunk->used, used, memory_order_release);
}

/* A chunk with room for a record; false if there is none to be had. */
static bool
have_room(uint64_t number)
{
    if (me.chunk != NULL &&
        me.at + 2 * TRACE_RECORD_MAX < (unsigned char *)me.chunk + TRACE_CHUNK) {
        return true;
    }
    if (me.chunk != NULL) {
        munmap(me.chunk, TRACE_CHUNK);
        me.chunk = NULL;
    }
    struct trace_chunk *chunk = take_left();
    chunk = chunk != NULL ? chunk : new_chunk();
    if (chunk == NULL) {
        stop_recording();
        return false;
    }
    if (me.thread == 0) {
        me.thread = atomic_fetch_add(&threads, 1) + 1;
    }
    pthread_setspecific(at_exit_of_thread, chunk);
    me.chunk = chunk;
    me.at = chunk->records + atomic_load_explicit(&chunk->used, memory_order_relaxed);
    me.block = 0;
    me.sequence = number;
    me.time = now_ns() - start_ns;
    *me.at++ = TRACE_THREAD;
    put_number(me.thread - 1);
    put_number(number);
    put_number(me.time);
    publish();
    return true;
}

/* Begins a record; the caller adds what it has, and ends it by finish(). */
static bool
begin(enum trace_operation operation, unsigned argument, uint64_t number)
{
    if (!have_room(number)) {
        return false;
    }
    uint64_t time = now_ns() - start_ns;
    if (time != me.time) {
        *me.at++ = TRACE_TIME;
        put_number(time);
        me.time = time;
    }
    *me.at++ = (unsigned char)(argument << 4 | operation);
    put_number(number - me.sequence);
    me.sequence = number;
    return true;
}

static void
finish(void)
{
    publish();
}

/* Whether this call is to be recorded; if so, leave() must follow. */
static bool
enter(void)
{
    if (!atomic_load_explicit(&active, memory_order_relaxed) || me.busy) {
        return false;
    }
    me.busy = true;
    return true;
}

static void
leave(int saved)
{
    me.busy = false;
    errno = saved;
}

static uint64_t
draw(void)
{
    return atomic_fetch_add_explicit(&sequence, 1, memory_order_relaxed);
}

static void *
record_allocation(enum trace_operation operation, unsigned argument, size_t size, void *block)
{
    if (block != NULL && enter()) {
        int saved = errno;
        if (begin(operation, argument, draw())) {
            put_number(size);
            put_block(block);
            finish();
        }
        leave(saved);
    }
    return block;
}

static void
record_free(void *block)
{
    if (block != NULL && enter()) {
        int saved = errno;
        if (begin(TRACE_FREE, 0, draw())) {
            put_block(block);
            finish();
        }
        leave(saved);
    }
}

EXPORT void *
malloc(size_t size)
{
    return record_allocation(TRACE_MALLOC, 0, size, __libc_malloc(size));
}

EXPORT void
free(void *block)
{
    record_free(block);
    __libc_free(block);
}

EXPORT void *
calloc(size_t count, size_t size)
{
    return record_allocation(TRACE_CALLOC, 0, count * size, __libc_calloc(count, size));
}

EXPORT void *
realloc(void *old, size_t size)
{
    if (old == NULL) {
        return record_allocation(TRACE_MALLOC, 0, size, __libc_realloc(NULL, size));
    }
    if (size == 0) {
        record_free(old); /* glibc frees it */
        return __libc_realloc(old, 0);
    }
    uint64_t before = draw();
    void *block = __libc_realloc(old, size);
    if (block != NULL && enter()) {
        int saved = errno;
        uint64_t number = draw();
        if (begin(TRACE_REALLOC, 0, number)) {
            put_number(number - before);
            put_block(old);
            put_number(size);
            put_block(block);
            finish();
        }
        leave(saved);
    }
    return block;
}

static void *
aligned(size_t alignment, size_t size)
{
    unsigned log2 = alignment != 0 ? (unsigned)__builtin_ctzll(alignment) : 0;
    void *block = __libc_memalign(alignment, size);
    return record_allocation(TRACE_ALIGNED, log2 < 15 ? log2 : 15, size, block);
}

EXPORT void *
memalign(size_t alignment, size_t size)
{
    return aligned(alignment, size);
}

EXPORT void *
aligned_alloc(size_t alignment, size_t size)
{
    return aligned(alignment, size);
}

EXPORT int
posix_memalign(void **block, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    int saved = errno;
    void *made = aligned(alignment, size);
    errno = saved;
    if (made == NULL) {
        return ENOMEM;
    }
    *block = made;
    return 0;
}

EXPORT void *
valloc(size_t size)
{
    return aligned((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORT void *
pvalloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return aligned(page, (size + page - 1) & ~(page - 1));
}

static void
name_program(char name[TRACE_PROGRAM])
{
    ssize_t length = readlink("/proc/self/exe", name, TRACE_PROGRAM - 1);
    name[length > 0 ? length : 0] = '\0';
}

/* A file of this process, and the first sequence number in it. */
static void
start_file(void)
{
    header = NULL;
    for (int number = 0; number < NAMES && header == NULL; number++) {
        snprintf(path, sizeof path, "%s/trace.%d.%d", folder, (int)getpid(), number);
        header = map_part(0, O_CREAT | O_EXCL);
        if (header == NULL && errno != EEXIST) {
            return;
        }
    }
    if (header == NULL) {
        return;
    }
    header->version = TRACE_VERSION;
    header->chunk = TRACE_CHUNK;
    header->process = (uint32_t)getpid();
    header->parent = (uint32_t)getppid();
    name_program(header->program);
    memcpy(header->magic, TRACE_MAGIC, sizeof header->magic);
    start_ns = now_ns();
    atomic_store(&sequence, 0);
    atomic_store(&threads, 0);
    atomic_store(&active, true);
}

/* The child writes into a file of its own. What it has of the parent's is shared: it goes. */
static void
after_fork_in_child(void)
{
    atomic_store(&active, false);
    atomic_flag_clear(&left_lock);
    for (; left_count > 0; left_count--) {
        munmap(left[left_count - 1], TRACE_CHUNK);
    }
    if (me.chunk != NULL) {
        munmap(me.chunk, TRACE_CHUNK);
    }
    if (header != NULL) {
        munmap(header, TRACE_CHUNK);
    }
    me = (struct recorder){.busy = true};
    start_file();
    me.busy = false;
}

static void
end_thread(void *unused)
{
    (void)unused;
    struct trace_chunk *chunk = me.chunk;
    me.chunk = NULL;
    if (chunk != NULL) {
        leave_chunk(chunk);
    }
}

/* The value of NAME= in the environment that glibc passes to constructors: getenv() has none yet. */
static const char *
setting(char **environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment != NULL && *environment != NULL; environment++) {
        if (strncmp(*environment, name, length) == 0) {
            return *environment + length;
        }
    }
    return NULL;
}

__attribute__((constructor)) static void
start(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    const char *named = setting(environment, "HAKMEM_TRACE_DIR=");
    const char *limit = setting(environment, "HAKMEM_TRACE_LIMIT=");
    if (named == NULL || strlen(named) >= sizeof folder) {
        return;
    }
    if (limit != NULL) {
        chunks_max = strtoull(limit, NULL, 10) / TRACE_CHUNK;
    }
    me.busy = true;
    strcpy(folder, named);
    if (pthread_key_create(&at_exit_of_thread, end_thread) == 0 &&
        pthread_atfork(NULL, NULL, after_fork_in_child) == 0) {
        start_file();
    }
    me.busy = false;
}

__attribute__((destructor)) static void
end(void)
{
    uint32_t running = 0;
    if (header != NULL) {
        atomic_compare_exchange_strong(&header->ended, &running, 1);
    }
}
