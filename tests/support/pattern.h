/*
 * Stamps: a block is filled with words derived from a 64-bit stamp and its own offsets, so that a
 * block handed out twice, moved wrongly or purged while in use shows up at the next check.
 *
 * Blocks above PATTERN_FULL bytes are stamped at both ends and at one word of every page, which
 * finds a lost page without making a 64 MiB block expensive.
 */
#ifndef HAKMEM_TESTS_PATTERN_H
#define HAKMEM_TESTS_PATTERN_H

#include "check.h"

enum { PATTERN_FULL = 16384, PATTERN_STEP = 4096 };

static inline uint64_t pattern_word(uint64_t stamp, size_t offset)
{
    uint64_t x = (stamp ^ offset) * 0xff51afd7ed558ccdu;
    return x ^ (x >> 29);
}

static inline size_t pattern_next(size_t offset, size_t size)
{
    if (size <= PATTERN_FULL || offset < 1024)
        return offset + 8;
    size_t tail = (size - 1024) & ~(size_t)7;
    if (offset >= tail)
        return offset + 8;
    return offset + PATTERN_STEP < tail ? offset + PATTERN_STEP : tail;
}

static inline void pattern_fill(void *block, size_t size, uint64_t stamp)
{
    unsigned char *bytes = (unsigned char *)block;
    for (size_t offset = 0; offset < size; offset = pattern_next(offset, size)) {
        uint64_t word = pattern_word(stamp, offset);
        memcpy(bytes + offset, &word, size - offset < 8 ? size - offset : 8);
    }
}

/* Offset of the first byte that is not as stamped, or size where all are. */
static inline size_t pattern_first_difference(const void *block, size_t size, uint64_t stamp)
{
    const unsigned char *bytes = (const unsigned char *)block;
    for (size_t offset = 0; offset < size; offset = pattern_next(offset, size)) {
        uint64_t word = pattern_word(stamp, offset);
        if (memcmp(bytes + offset, &word, size - offset < 8 ? size - offset : 8) != 0)
            return offset;
    }
    return size;
}

/*
 * The same for a block stamped at stamped_size and since cut or grown by realloc to at least
 * size: every byte of the first size bytes that the stamping wrote must still be there.
 */
static inline size_t pattern_prefix_difference(const void *block, size_t size, size_t stamped_size,
                                               uint64_t stamp)
{
    const unsigned char *bytes = (const unsigned char *)block;
    for (size_t offset = 0; offset < size; offset = pattern_next(offset, stamped_size)) {
        uint64_t word = pattern_word(stamp, offset);
        if (memcmp(bytes + offset, &word, size - offset < 8 ? size - offset : 8) != 0)
            return offset;
    }
    return size;
}

/* Offset of the first non-zero byte, or size where all are zero. */
static inline size_t first_nonzero(const void *block, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)block;
    if (size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0))
        return size;
    size_t offset = 0;
    while (bytes[offset] == 0)
        offset++;
    return offset;
}

#endif
