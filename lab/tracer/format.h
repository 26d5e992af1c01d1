/*
 * The form of a trace, version 1: what a program asked of its allocator, in the order in which it
 * did.
 *
 * A file is a header and chunks, all of TRACE_CHUNK bytes, in the byte order of the machine
 * (little-endian on both that are supported). Chunk i starts at (i + 1) * TRACE_CHUNK. The tracer
 * writes them through shared mappings, so that what was recorded outlives the process however it
 * ends, and raises a chunk's `used` after each record: a reader takes `used` bytes, or what there
 * is of them if the file was cut.
 *
 * A record is one byte, (argument << 4 | operation), and then numbers of 7 bits a byte, low ones
 * first, the top bit saying that another byte follows ("varint"; "signed" ones are zigzag-coded).
 *
 *   THREAD   varint thread, varint sequence, varint time; a thread goes on here; time is in ns
 *   MALLOC   sequence, varint size, block
 *   CALLOC   the same
 *   ALIGNED  the same; the argument is log2 of the alignment, at most 15
 *   FREE     sequence, block
 *   REALLOC  sequence, varint earlier, block (old), varint size, block (new)
 *   TIME     varint time
 *
 * sequence: varint, the difference to the one before it in this thread's part of the chunk.
 *           Numbers are drawn from one counter, after an allocation and before a free, so that a
 *           block's free comes before the next allocation at the same address. A realloc has two:
 *           its old block ends `earlier` numbers before its own. A number that is nobody's is
 *           that of a realloc that failed.
 * block:    signed, address / 16 less that of the block before it in this thread's part of the
 *           chunk (0 at first). Addresses identify blocks: a reader numbers them by following the
 *           sequence.
 */
#ifndef HAKMEM_TRACE_FORMAT_H
#define HAKMEM_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "HAKTRACE"
#define TRACE_CHUNK_MAGIC 0x4b434b48u /* "HKCK" */

enum {
    TRACE_VERSION = 1,
    TRACE_CHUNK = 1 << 16, /* a multiple of every page size */
    TRACE_RECORD_MAX = 48, /* bytes that no record exceeds */
    TRACE_PROGRAM = 256,
};

enum trace_operation {
    TRACE_THREAD = 1,
    TRACE_MALLOC,
    TRACE_CALLOC,
    TRACE_ALIGNED,
    TRACE_FREE,
    TRACE_REALLOC,
    TRACE_TIME,
};

struct trace_header {
    char magic[8];
    uint32_t version;
    uint32_t chunk;           /* TRACE_CHUNK */
    uint32_t process;         /* its id */
    uint32_t parent;
    _Atomic uint32_t chunks;  /* that were begun */
    _Atomic uint32_t ended;   /* 1: the process came to its end, 2: recording stopped before it */
    char program[TRACE_PROGRAM];
};

struct trace_chunk {
    uint32_t magic;
    _Atomic uint32_t used; /* bytes of records */
    unsigned char records[];
};

#endif
