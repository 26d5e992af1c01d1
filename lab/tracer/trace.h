/*
 * Reads a trace: every operation of all threads in one order, with numbered blocks.
 *
 * Used by replay.c; one thread. What is wrong with a file ends the program with one line; a file
 * that was cut is read up to there.
 */
#ifndef HAKMEM_TRACE_H
#define HAKMEM_TRACE_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>

enum { TRACE_FAILED = 1, TRACE_BAD_USAGE = 2 };

enum replay_kind {
    REPLAY_MALLOC,
    REPLAY_CALLOC,
    REPLAY_ALIGNED,
    REPLAY_FREE,
    REPLAY_REALLOC,
    REPLAY_KINDS, /* of operations; what follows keeps the threads together */
    REPLAY_SPAWN = REPLAY_KINDS, /* starts the thread `slot` */
    REPLAY_WINDOW,               /* the thread comes into the window `slot` of the sequence */
};

/* One step of a thread: 16 bytes, as the prepared file has it. */
struct replay_step {
    uint64_t size;
    uint32_t slot; /* of the block */
    uint8_t kind;
    uint8_t alignment; /* log2 */
    uint16_t turn; /* how many steps of this slot come before, modulo 65,536 */
};

/* Size classes and lifetimes are counted by their log2; lifetimes in allocations made meanwhile. */
enum { TRACE_LOGS = 48, TRACE_POINTS = 256 };

struct trace_facts {
    char program[TRACE_PROGRAM];
    uint32_t process, ended;
    bool cut;
    uint64_t operations[REPLAY_KINDS]; /* by kind */
    uint64_t unknown_frees;            /* of blocks from before the recording */
    uint64_t cross_thread_frees;
    uint64_t allocated_bytes, peak_live_bytes, peak_live_blocks, end_live_bytes, end_live_blocks;
    uint64_t sizes[TRACE_LOGS], lifetimes[TRACE_LOGS];
    uint64_t seconds_ns; /* from the first to the last record */
    uint64_t live_bytes[TRACE_POINTS]; /* the largest of each part of the sequence */
    uint32_t threads, slots;
};

struct trace {
    struct trace_facts facts;
    struct replay_step *steps; /* by thread, in its order */
    uint64_t *first;           /* thread i has first[i] … first[i + 1] - 1 */
    uint32_t root;             /* the thread that starts; the others are started by steps */
};

struct trace trace_read(const char *path);

/* One line on stderr, and the end with that status. */
__attribute__((format(printf, 2, 3))) _Noreturn void trace_stop(int status, const char *format, ...);

/* Zeroed memory from mmap: what is measured must not share an allocator with the reader. */
void *trace_table(size_t bytes);

#endif
