/*
 * Allocation before main (preinit array, constructors of every priority), in atexit handlers and
 * in destructors. The blocks live across the borders and are freed on the other side.
 *
 * main returns 3; only the last destructor, if everything before it ran, makes that 0.
 */
#include "support/pattern.h"

#include "support/api.h"

enum { STAGES = 4, PER_STAGE = 200 };

static void *blocks[STAGES][PER_STAGE];
static int exit_steps;

static size_t size_of(int i)
{
    static const size_t sizes[] = {8, 48, 500, 1024, 9000, 70000, 2000000};
    return i < 195 ? sizes[i % 5] : sizes[2 + i % 5];
}

static void allocate_stage(int stage)
{
    for (int i = 0; i < PER_STAGE; i++) {
        blocks[stage][i] = i % 2 ? malloc(size_of(i)) : calloc(1, size_of(i));
        CHECK(blocks[stage][i] != NULL);
        pattern_fill(blocks[stage][i], size_of(i), (uint64_t)(stage * 1000 + i));
    }
}

static void free_stage(int stage)
{
    for (int i = 0; i < PER_STAGE; i++) {
        uint64_t stamp = (uint64_t)(stage * 1000 + i);
        CHECK(pattern_first_difference(blocks[stage][i], size_of(i), stamp) == size_of(i));
        free(blocks[stage][i]);
    }
}

/* Before every constructor of this program; with a dynamic loader, after those of libraries. */
static void before_constructors(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    (void)environment;
    allocate_stage(0);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) =
    before_constructors;

__attribute__((constructor(101))) static void early_constructor(void)
{
    allocate_stage(1);
}

__attribute__((constructor)) static void late_constructor(void)
{
    allocate_stage(2);
    free_stage(1);
}

/* Enough handlers that libc has to allocate room for them. */
enum { HANDLERS = 100 };

static void exit_handler(void)
{
    exit_steps++;
    void *block = malloc(size_of(exit_steps));
    CHECK(block != NULL);
    pattern_fill(block, size_of(exit_steps), 9);
    free(block);
    if (exit_steps == HANDLERS)
        free_stage(0);
}

__attribute__((destructor)) static void first_destructor(void)
{
    CHECK_THAT(exit_steps == HANDLERS, "%d of %d handlers ran", exit_steps, HANDLERS);
    allocate_stage(3);
}

__attribute__((destructor(101))) static void last_destructor(void)
{
    free_stage(3);
    check_passed("exit");
    _exit(0);
}

int main(void)
{
    reach_hakmem();
    free_stage(2);
    for (int i = 0; i < HANDLERS; i++)
        CHECK(atexit(exit_handler) == 0);
    /* A status that only last_destructor turns into success. */
    return 3;
}
