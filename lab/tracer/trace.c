#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A freed slot waits behind so many others before it is used again: threads rarely meet there. */
enum { SLOTS_WAITING = 1024, THREADS_MAX = 1 << 20 };

/* Steps of all threads that may be done in any order, as far as blocks allow it. */
enum { WINDOW = 4096 };

/* An operation and its place in the sequence. */
struct event {
    uint64_t sequence;
    uint64_t block; /* address / 16 */
    uint64_t size;  /* ENDS: the number of the realloc that it belongs to */
    uint32_t thread;
    uint32_t slot; /* of a realloc's block, + 1 */
    uint8_t kind;  /* event_kind */
    uint8_t alignment;
};

enum event_kind { ALLOCATES, FREES, ENDS, GROWS };

/* A block that is alive. */
struct live {
    uint64_t block; /* address / 16; 0: this place is free */
    uint64_t size, born;
    uint32_t slot, thread;
};

struct file {
    const unsigned char *bytes;
    size_t length;
};

struct reader {
    struct event *events;
    uint64_t count; /* of the events */
    uint64_t placed;
    struct live *live;
    uint64_t live_places, live_count;
    uint32_t *waiting; /* freed slots, a ring of as many places as there are slots */
    uint64_t waiting_first, waiting_last;
    uint16_t *turns; /* by slot */
    struct replay_step *steps; /* in the order of the sequence */
    uint32_t *threads;         /* of each step */
    uint64_t step_count;
    uint32_t *windows; /* that each thread is in, + 1; 0: it has not started */
    uint64_t live_bytes, allocations;
    struct trace_facts facts;
};

void
trace_stop(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("hakmem-replay: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(status);
}

void *
trace_table(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *table = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (table == MAP_FAILED) {
        trace_stop(TRACE_FAILED, "no memory for a table of %zu bytes", bytes);
    }
    return table;
}

static struct file
open_file(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        trace_stop(TRACE_FAILED, "cannot read %s: %s", path, strerror(errno));
    }
    struct file opened = {.length = (size_t)status.st_size};
    const struct trace_header *header;
    if (opened.length < sizeof *header) {
        trace_stop(TRACE_FAILED, "%s is no trace: it has %zu bytes", path, opened.length);
    }
    opened.bytes = mmap(NULL, opened.length, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (opened.bytes == MAP_FAILED) {
        trace_stop(TRACE_FAILED, "cannot map %s: %s", path, strerror(errno));
    }
    header = (const void *)opened.bytes;
    if (memcmp(header->magic, TRACE_MAGIC, sizeof header->magic) != 0) {
        trace_stop(TRACE_FAILED, "%s is no trace", path);
    }
    if (header->version != TRACE_VERSION || header->chunk != TRACE_CHUNK) {
        trace_stop(TRACE_FAILED, "%s is a trace of version %u; this program reads version %d", path,
                   header->version, TRACE_VERSION);
    }
    return opened;
}

/* A position in a chunk's records; `cut` is set where a record is not whole. */
struct cursor {
    const unsigned char *at, *end;
    uint64_t sequence, block, time;
    uint32_t thread;
    bool cut;
};

static uint64_t
take_number(struct cursor *cursor)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (cursor->at == cursor->end) {
            break;
        }
        unsigned char byte = *cursor->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return number;
        }
    }
    cursor->cut = true;
    return 0;
}

static uint64_t
take_block(struct cursor *cursor)
{
    uint64_t coded = take_number(cursor);
    cursor->block += (coded >> 1) ^ (0 - (coded & 1));
    return cursor->block;
}

/* What a record says. A realloc has an earlier number for the end of its old block. */
struct record {
    unsigned operation, argument;
    uint64_t sequence, earlier, size, block, old;
};

/* False at the end of the chunk, and at a record that is not whole. */
static bool
next_record(struct cursor *cursor, struct record *record)
{
    while (cursor->at < cursor->end) {
        unsigned first = *cursor->at++;
        *record = (struct record){.operation = first & 15, .argument = first >> 4};
        if (record->operation == TRACE_THREAD) {
            cursor->thread = (uint32_t)take_number(cursor);
            cursor->sequence = take_number(cursor);
            cursor->time = take_number(cursor);
            cursor->block = 0;
        } else if (record->operation == TRACE_TIME) {
            cursor->time = take_number(cursor);
        } else if (record->operation >= TRACE_MALLOC && record->operation <= TRACE_REALLOC) {
            cursor->sequence += take_number(cursor);
            record->sequence = cursor->sequence;
            if (record->operation == TRACE_REALLOC) {
                record->earlier = record->sequence - take_number(cursor);
                record->old = take_block(cursor);
            }
            if (record->operation != TRACE_FREE) {
                record->size = take_number(cursor);
            }
            record->block = take_block(cursor);
            return !cursor->cut;
        } else {
            cursor->cut = true; /* not from this tracer */
        }
        if (cursor->cut) {
            return false;
        }
    }
    return false;
}

static void
place(struct reader *reader, const struct cursor *cursor, const struct record *record)
{
    struct event *event = &reader->events[reader->placed++];
    *event = (struct event){.sequence = record->sequence,
                            .block = record->block,
                            .size = record->size,
                            .thread = cursor->thread};
    switch (record->operation) {
    case TRACE_FREE:
        event->kind = FREES;
        break;
    case TRACE_REALLOC:
        event->kind = GROWS;
        reader->events[reader->placed++] = (struct event){.sequence = record->earlier,
                                                          .block = record->old,
                                                          .size = record->sequence,
                                                          .thread = cursor->thread,
                                                          .kind = ENDS};
        break;
    default:
        event->kind = ALLOCATES;
        event->alignment = (uint8_t)record->argument;
        /* Which of the three: see allocation_kind(). */
        event->slot = record->operation;
        break;
    }
}

/* Goes through all chunks; with events it fills them, without it finds out how many there are. */
static void
scan(struct reader *reader, struct file file)
{
    uint64_t last_time = 0;
    for (size_t start = TRACE_CHUNK; start < file.length; start += TRACE_CHUNK) {
        const struct trace_chunk *chunk = (const void *)(file.bytes + start);
        size_t there = file.length - start;
        if (there < sizeof *chunk) {
            reader->facts.cut = true;
            break;
        }
        if (chunk->magic != TRACE_CHUNK_MAGIC) {
            continue; /* begun, and the process ended */
        }
        there = (there < TRACE_CHUNK ? there : TRACE_CHUNK) - sizeof *chunk;
        size_t used = chunk->used;
        reader->facts.cut |= used > there;
        used = used < there ? used : there;
        struct cursor cursor = {.at = chunk->records, .end = chunk->records + used};
        for (struct record record; next_record(&cursor, &record);) {
            if (record.earlier > record.sequence || cursor.thread >= THREADS_MAX) {
                cursor.cut = true;
                break;
            }
            if (reader->events != NULL) {
                place(reader, &cursor, &record);
            } else {
                reader->count += record.operation == TRACE_REALLOC ? 2 : 1;
            }
            if (cursor.thread >= reader->facts.threads) {
                reader->facts.threads = cursor.thread + 1;
            }
        }
        last_time = cursor.time > last_time ? cursor.time : last_time;
        reader->facts.cut |= cursor.cut;
    }
    reader->facts.seconds_ns = last_time;
}

static int
by_sequence(const void *a, const void *b)
{
    const struct event *left = a, *right = b;
    return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

/* The event of that number; NULL if there is none. */
static struct event *
event_at(struct reader *reader, uint64_t sequence)
{
    struct event wanted = {.sequence = sequence};
    return bsearch(&wanted, reader->events, reader->count, sizeof wanted, by_sequence);
}

static struct live *
find(struct reader *reader, uint64_t block)
{
    uint64_t mask = reader->live_places - 1;
    uint64_t at = (block * 0x9e3779b97f4a7c15u) >> 20 & mask;
    while (reader->live[at].block != 0 && reader->live[at].block != block) {
        at = (at + 1) & mask;
    }
    return &reader->live[at];
}

static void
grow_live(struct reader *reader)
{
    struct live *old = reader->live;
    uint64_t places = reader->live_places;
    reader->live_places = places > 0 ? 2 * places : 1 << 12;
    reader->live = trace_table(reader->live_places * sizeof *reader->live);
    for (uint64_t i = 0; i < places; i++) {
        if (old[i].block != 0) {
            *find(reader, old[i].block) = old[i];
        }
    }
    if (places > 0) {
        munmap(old, places * sizeof *old);
    }
}

/* Linear probing: what follows the gap moves up if it belongs there. */
static void
erase(struct reader *reader, struct live *gone)
{
    uint64_t mask = reader->live_places - 1;
    uint64_t gap = (uint64_t)(gone - reader->live);
    reader->live[gap].block = 0;
    for (uint64_t at = (gap + 1) & mask; reader->live[at].block != 0; at = (at + 1) & mask) {
        struct live moved = reader->live[at];
        reader->live[at].block = 0;
        *find(reader, moved.block) = moved;
    }
    reader->live_count--;
}

static unsigned
log_of(uint64_t number)
{
    unsigned log = number > 1 ? 64 - (unsigned)__builtin_clzll(number - 1) : 0;
    return log < TRACE_LOGS ? log : TRACE_LOGS - 1;
}

static void
append(struct reader *reader, uint32_t thread, struct replay_step step)
{
    reader->steps[reader->step_count] = step;
    reader->threads[reader->step_count++] = thread;
}

/* Adds an operation, and before it what a thread needs for its first one, and for each new window. */
static void
emit(struct reader *reader, uint32_t thread, struct replay_step step)
{
    uint32_t window = (uint32_t)(reader->step_count / WINDOW);
    if (reader->windows[thread] == 0 && reader->step_count > 0) {
        /* Whoever did the step before starts this thread: then nobody waits for a later one. */
        uint32_t parent = reader->threads[reader->step_count - 1];
        append(reader, parent, (struct replay_step){.kind = REPLAY_SPAWN, .slot = thread});
    }
    if (reader->windows[thread] != window + 1) {
        reader->windows[thread] = window + 1;
        append(reader, thread, (struct replay_step){.kind = REPLAY_WINDOW, .slot = window});
    }
    append(reader, thread, step);
}

static uint32_t
take_slot(struct reader *reader)
{
    if (reader->waiting_last - reader->waiting_first > SLOTS_WAITING) {
        return reader->waiting[reader->waiting_first++];
    }
    return reader->facts.slots++;
}

static void
count_live(struct reader *reader, uint64_t at)
{
    struct trace_facts *facts = &reader->facts;
    if (reader->live_bytes > facts->peak_live_bytes) {
        facts->peak_live_bytes = reader->live_bytes;
    }
    if (reader->live_count > facts->peak_live_blocks) {
        facts->peak_live_blocks = reader->live_count;
    }
    uint64_t *point = &facts->live_bytes[at * TRACE_POINTS / reader->count];
    *point = reader->live_bytes > *point ? reader->live_bytes : *point;
}

static void
bear(struct reader *reader, const struct event *event, uint32_t slot)
{
    if (2 * (reader->live_count + 1) > reader->live_places) {
        grow_live(reader);
    }
    struct live *live = find(reader, event->block);
    if (live->block != 0) {
        reader->live_bytes -= live->size; /* its free was not recorded */
        reader->live_count--;
    }
    *live = (struct live){.block = event->block,
                          .size = event->size,
                          .born = reader->allocations++,
                          .slot = slot,
                          .thread = event->thread};
    reader->live_count++;
    reader->live_bytes += event->size;
    reader->facts.allocated_bytes += event->size;
    reader->facts.sizes[log_of(event->size)]++;
}

/* The block's slot + 1, or 0 if it is not known. */
static uint32_t
bury(struct reader *reader, const struct event *event)
{
    struct live *live = reader->live_places > 0 ? find(reader, event->block) : NULL;
    if (live == NULL || live->block == 0) {
        reader->facts.unknown_frees++;
        return 0;
    }
    uint32_t slot = live->slot;
    reader->live_bytes -= live->size;
    reader->facts.lifetimes[log_of(reader->allocations - live->born)]++;
    if (event->kind == FREES && live->thread != event->thread) {
        reader->facts.cross_thread_frees++;
    }
    erase(reader, live);
    return slot + 1;
}

static enum replay_kind
allocation_kind(const struct event *event)
{
    return event->slot == TRACE_CALLOC    ? REPLAY_CALLOC
           : event->slot == TRACE_ALIGNED ? REPLAY_ALIGNED
                                          : REPLAY_MALLOC;
}

static void
follow(struct reader *reader, uint64_t at)
{
    struct event *event = &reader->events[at];
    struct replay_step step = {.size = event->size, .alignment = event->alignment};
    uint32_t known;
    switch (event->kind) {
    case ALLOCATES:
        step.kind = allocation_kind(event);
        step.slot = take_slot(reader);
        bear(reader, event, step.slot);
        break;
    case FREES:
        known = bury(reader, event);
        if (known == 0) {
            return;
        }
        step.kind = REPLAY_FREE;
        step.size = 0;
        step.slot = known - 1;
        reader->waiting[reader->waiting_last++] = step.slot;
        break;
    case ENDS:
        known = bury(reader, event);
        event = event_at(reader, event->size);
        if (event != NULL && event->kind == GROWS) {
            event->slot = known;
        }
        return;
    case GROWS:
        step.kind = event->slot != 0 ? REPLAY_REALLOC : REPLAY_MALLOC;
        step.slot = event->slot != 0 ? event->slot - 1 : take_slot(reader);
        bear(reader, event, step.slot);
        break;
    default:
        return;
    }
    step.turn = reader->turns[step.slot]++;
    reader->facts.operations[step.kind]++;
    emit(reader, event->thread, step);
    count_live(reader, at);
}

/* Steps in the order of the sequence become lists by thread, each in the same order. */
static struct trace
by_thread(struct reader *reader)
{
    uint32_t threads = reader->facts.threads;
    struct trace trace = {.facts = reader->facts};
    trace.root = reader->step_count > 0 ? reader->threads[0] : 0;
    trace.first = trace_table((threads + 1) * sizeof *trace.first);
    trace.steps = trace_table(reader->step_count * sizeof *trace.steps);
    uint64_t *next = trace_table((threads + 1) * sizeof *next);
    for (uint64_t i = 0; i < reader->step_count; i++) {
        trace.first[reader->threads[i] + 1]++;
    }
    for (uint32_t i = 0; i < threads; i++) {
        trace.first[i + 1] += trace.first[i];
        next[i] = trace.first[i];
    }
    for (uint64_t i = 0; i < reader->step_count; i++) {
        trace.steps[next[reader->threads[i]]++] = reader->steps[i];
    }
    return trace;
}

struct trace
trace_read(const char *path)
{
    struct file file = open_file(path);
    const struct trace_header *header = (const void *)file.bytes;
    struct reader reader = {.facts.process = header->process, .facts.ended = header->ended};
    memcpy(reader.facts.program, header->program, TRACE_PROGRAM - 1);
    scan(&reader, file);
    if (reader.count == 0) {
        trace_stop(TRACE_FAILED, "%s holds no operation", path);
    }
    reader.events = trace_table(reader.count * sizeof *reader.events);
    scan(&reader, file);
    qsort(reader.events, reader.count, sizeof *reader.events, by_sequence);
    /* Each operation may bring one window with it, and each thread one start. */
    uint64_t steps = 2 * reader.count + reader.facts.threads;
    reader.steps = trace_table(steps * sizeof *reader.steps);
    reader.threads = trace_table(steps * sizeof *reader.threads);
    reader.waiting = trace_table(reader.count * sizeof *reader.waiting);
    reader.turns = trace_table(reader.count * sizeof *reader.turns);
    reader.windows = trace_table(reader.facts.threads * sizeof *reader.windows);
    for (uint64_t at = 0; at < reader.count; at++) {
        follow(&reader, at);
    }
    reader.facts.end_live_bytes = reader.live_bytes;
    reader.facts.end_live_blocks = reader.live_count;
    return by_thread(&reader);
}
