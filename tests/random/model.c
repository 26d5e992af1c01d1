#include "model.h"

#include "support/pattern.h"
#include "support/rng.h"

#include "shadow.h"

#include "support/api.h"

#include "in_heaps.h"

static size_t pick_size(struct rng *rng)
{
    uint64_t pick = rng_below(rng, 4096);
    if (pick < 40)
        return 0;
    if (pick < 2600)
        return rng_between(rng, 1, 256);
    if (pick < 3400)
        return rng_between(rng, 257, 1024);
    if (pick < 3900)
        return rng_between(rng, 1025, 32u << 10);
    if (pick < 4070)
        return rng_between(rng, (32u << 10) + 1, 1u << 20);
    if (pick < 4084)
        return rng_between(rng, (1u << 20) + 1, 6u << 20);
    if (pick < 4095)
        return rng_between(rng, 1025, 4096);
    return rng_between(rng, 6u << 20, 40u << 20);
}

static size_t pick_alignment(struct rng *rng)
{
    uint64_t pick = rng_below(rng, 64);
    if (pick < 56)
        return (size_t)8 << rng_below(rng, 10);
    if (pick < 62)
        return (size_t)8192 << rng_below(rng, 6);
    return (size_t)1 << rng_between(rng, 19, 24);
}

static size_t natural_alignment(size_t size)
{
    return size >= 16 ? 16 : 8;
}

/* Everything that must hold of a block that was just handed out; enters it into the reference. */
static void accept(struct model_player *player, struct model_block *block, void *address,
                   size_t size, size_t alignment)
{
    CHECK_THAT(address != NULL, "size %zu, alignment %zu, step %llu", size, alignment,
               (unsigned long long)player->steps);
    CHECK_THAT((uintptr_t)address % alignment == 0, "%p, alignment %zu", address, alignment);
    CHECK_THAT((uintptr_t)address % natural_alignment(size) == 0, "%p, size %zu", address, size);
    block->address = address;
    block->size = size;
    block->alignment = alignment;
    block->usable = malloc_usable_size(address);
    CHECK_THAT(block->usable >= size, "%zu usable of %zu", block->usable, size);
    shadow_add(address, block->usable);
    block->stamp = player->last_number ^ player->steps;
    player->live++;
    player->live_bytes += size;
}

static void check_contents(const struct model_block *block)
{
    size_t at = pattern_first_difference(block->address, block->size, block->stamp);
    CHECK_THAT(at == block->size, "%p of %zu bytes: byte %zu differs", (void *)block->address,
               block->size, at);
    size_t usable = malloc_usable_size(block->address);
    CHECK_THAT(usable == block->usable, "usable size %zu, was %zu", usable, block->usable);
}

/* Now and then the whole usable size is written, which the pattern alone does not do. */
static void stamp(struct model_block *block, struct rng *rng)
{
    if (block->usable > block->size && rng_below(rng, 4) == 0)
        memset(block->address + block->size, 0xee, block->usable - block->size);
    pattern_fill(block->address, block->size, block->stamp);
}

static void forget(struct model_player *player, struct model_block *block)
{
    shadow_remove(block->address, block->usable);
    player->live--;
    player->live_bytes -= block->size;
}

static void step_free(struct model_player *player, struct model_block *block, struct rng *rng)
{
    check_contents(block);
    forget(player, block);
    int marked = (int)rng_below(rng, 1000) + 1;
    errno = marked;
    uint64_t how = rng_below(rng, 16);
    if (how == 0 && has_sized_free() && block->alignment == 1)
        free_sized(block->address, block->size);
    else if (how == 0 && has_sized_free())
        free_aligned_sized(block->address, block->alignment, block->size);
    else if (how == 1)
        CHECK(opaque(realloc(block->address, opaque_size(0))) == NULL);
    else
        free(block->address);
    CHECK_THAT(errno == marked, "errno %d after free", errno);
    block->address = NULL;
}

static void step_realloc(struct model_player *player, struct model_block *block, struct rng *rng)
{
    size_t size = pick_size(rng);
    if (rng_below(rng, 2))
        size = block->size + rng_below(rng, block->size / 4 + 16);
    if (size == 0 || player->live_bytes - block->size + size > player->byte_limit)
        return step_free(player, block, rng);
    check_contents(block);
    struct model_block old = *block;
    forget(player, block);
    void *address = rng_below(rng, 8) ? realloc(old.address, size)
                                      : reallocarray(old.address, 1, size);
    accept(player, block, address, size, 1);
    size_t kept = size < old.size ? size : old.size;
    size_t at = pattern_prefix_difference(address, kept, old.size, old.stamp);
    CHECK_THAT(at == kept, "%zu to %zu: byte %zu lost", old.size, size, at);
    stamp(block, rng);
}

static void step_allocate(struct model_player *player, struct model_block *block, struct rng *rng)
{
    size_t size = pick_size(rng);
    if (player->live_bytes + size > player->byte_limit)
        size %= 512;
    uint64_t how = rng_below(rng, 100);
    void *address = NULL;
    size_t alignment = how >= 60 && how < 75 ? pick_alignment(rng) : 1;
    if (how < 60) {
        address = malloc(size);
    } else if (how < 65) {
        address = memalign(alignment, size);
    } else if (how < 70) {
        address = aligned_alloc(alignment, size);
    } else if (how < 75) {
        /* pick_alignment() gives no less than a pointer's size. */
        CHECK(posix_memalign(&address, alignment, size) == 0);
    } else if (how < 80) {
        address = realloc(NULL, size);
    } else {
        address = rng_below(rng, 2) ? calloc(1, size) : calloc(size, 1);
        CHECK(address != NULL);
        size_t at = first_nonzero(address, size);
        CHECK_THAT(at == size, "calloc of %zu: byte %zu is not zero", size, at);
    }
    accept(player, block, address, size, alignment);
    CHECK_THAT(alignment > 16 || size <= 128 || (block->usable - size) * 8 <= size ||
                   any_allocator(),
               "%zu usable of %zu: over 12.5 %% waste", block->usable, size);
    stamp(block, rng);
}

/* The pool shrinks and grows by phases of about 16,000 steps, so that memory drains as well. */
static void change_phase(struct model_player *player, struct rng *rng)
{
    static const size_t slots[] = {1, 16, 128, 512, MODEL_SLOTS};
    player->slots = slots[rng_below(rng, 5)];
    for (size_t i = player->slots; i < MODEL_SLOTS; i++)
        if (player->blocks[i].address != NULL)
            step_free(player, &player->blocks[i], rng);
}

void model_start(struct model_player *player, size_t byte_limit)
{
    memset(player, 0, sizeof *player);
    player->byte_limit = byte_limit;
    player->slots = MODEL_SLOTS;
}

void model_step(struct model_player *player, uint64_t number)
{
    struct rng rng = {number};
    player->last_number = number;
    player->steps++;
    uint64_t what = rng_below(&rng, 16384);
    if (what == 0)
        return change_phase(player, &rng);
    if (what < 4) {
        int trimmed = malloc_trim(rng_below(&rng, 2) << 20);
        CHECK_THAT(trimmed == 0 || trimmed == 1, "malloc_trim gave %d", trimmed);
        return;
    }
    if (what < 8) {
        errno = 0;
        size_t impossible = opaque_size((size_t)PTRDIFF_MAX + rng_below(&rng, 4096) + 1);
        CHECK(opaque(malloc(impossible)) == NULL && errno == ENOMEM);
        return;
    }
    struct model_block *block = &player->blocks[rng_below(&rng, player->slots)];
    if (block->address == NULL)
        step_allocate(player, block, &rng);
    else if (rng_below(&rng, 4) == 0)
        step_realloc(player, block, &rng);
    else if (rng_below(&rng, 16) == 0)
        check_contents(block);
    else
        step_free(player, block, &rng);
}

struct model_block model_give(struct model_player *player, uint64_t number)
{
    struct model_block given = {0};
    for (size_t i = 0; i < 8 && player->live > 0; i++) {
        struct model_block *block = &player->blocks[(number + i * 131) % player->slots];
        if (block->address == NULL)
            continue;
        given = *block;
        block->address = NULL;
        player->live--;
        player->live_bytes -= given.size;
        break;
    }
    return given;
}

void model_take(struct model_player *player, struct model_block block, uint64_t number)
{
    struct rng rng = {number};
    struct model_block *slot = &player->blocks[rng_below(&rng, player->slots)];
    player->last_number = number;
    if (slot->address != NULL)
        step_free(player, slot, &rng);
    check_contents(&block);
    *slot = block;
    player->live++;
    player->live_bytes += block.size;
    uint64_t what = rng_below(&rng, 4);
    if (what < 2)
        step_free(player, slot, &rng);
    else if (what == 2)
        step_realloc(player, slot, &rng);
}

void model_end(struct model_player *player)
{
    struct rng rng = {player->steps};
    for (size_t i = 0; i < MODEL_SLOTS; i++)
        if (player->blocks[i].address != NULL)
            step_free(player, &player->blocks[i], &rng);
    CHECK_THAT(player->live == 0 && player->live_bytes == 0, "%zu blocks of %zu bytes left",
               player->live, player->live_bytes);
}
