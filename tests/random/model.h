/*
 * The model test: random operations on the allocator, each held against a simple reference.
 *
 * A player is one thread's table of live blocks. Every step does one operation and checks what can
 * be checked: alignment, usable size, zeroed memory, kept contents (by pattern), no overlap with
 * any live block of any player (by the shadow), errno. What is decided in a step comes from the
 * random number that the step is given, so a run is repeated by its seed, and a fuzzer may choose
 * the numbers instead.
 */
#ifndef HAKMEM_TESTS_MODEL_H
#define HAKMEM_TESTS_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { MODEL_SLOTS = 1024 };

struct model_block {
    unsigned char *address; /* NULL: the slot is empty */
    size_t size;            /* as asked for; the pattern covers these bytes */
    size_t usable;          /* as malloc_usable_size said */
    size_t alignment;       /* as asked for */
    uint64_t stamp;
};

struct model_player {
    struct model_block blocks[MODEL_SLOTS];
    size_t live;       /* number of blocks with an address */
    size_t live_bytes; /* sum of their sizes */
    size_t byte_limit; /* no block is made that would exceed this */
    size_t slots;      /* how many of the slots are in play: 1 to MODEL_SLOTS */
    uint64_t steps;
    uint64_t last_number; /* the number of the step under way, for the report of a failure */
};

/* A player without blocks. byte_limit bounds its live bytes. */
void model_start(struct model_player *player, size_t byte_limit);

/* One operation, chosen by number alone. */
void model_step(struct model_player *player, uint64_t number);

/* Takes a random block away from the player, as one whole; address NULL when there is none. */
struct model_block model_give(struct model_player *player, uint64_t number);

/* Takes a block of another player: checks it, and keeps, resizes or frees it. */
void model_take(struct model_player *player, struct model_block block, uint64_t number);

/* Checks and frees all blocks. */
void model_end(struct model_player *player);

#endif
