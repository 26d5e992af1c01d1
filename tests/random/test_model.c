/*
 * Runs the model with one or more threads that pass blocks to each other through mailboxes.
 *
 *   test_model [THREADS [STEPS [SEED]]]     STEPS a thread; SEED 0 takes one from the clock
 *
 * A failure is followed by the arguments that repeat it. With one thread the run is the same each
 * time; with more, the seed fixes what each thread does but not how they interleave.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/api.h"

#include "model.h"

#include <stdatomic.h>
#include <time.h>

enum { MAILBOXES = 64, BYTE_LIMIT = 128 << 20 };

/* A letter is posted by an exchange and owned by whoever exchanges it out. */
struct letter {
    struct model_block block;
};

static struct letter *_Atomic mailboxes[MAILBOXES];
static struct model_player *players;
static int threads;
static unsigned long steps;
static unsigned long long seed;

/* Letters come from the allocator under test as well: 40 bytes that change hands. */
static void post(struct model_player *player, struct rng *rng)
{
    struct letter *letter = malloc(sizeof *letter);
    CHECK(letter != NULL);
    letter->block = model_give(player, rng_next(rng));
    struct letter *found = atomic_exchange_explicit(&mailboxes[rng_below(rng, MAILBOXES)], letter,
                                                    memory_order_acq_rel);
    if (found == NULL)
        return;
    if (found->block.address != NULL)
        model_take(player, found->block, rng_next(rng));
    free(found);
}

static void *play(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct model_player *player = &players[number];
    struct rng rng = {seed * 1000003 + (uint64_t)number};
    model_start(player, (size_t)BYTE_LIMIT / (size_t)threads);
    for (unsigned long i = 0; i < steps; i++) {
        model_step(player, rng_next(&rng));
        if (threads > 1 && rng_below(&rng, 4) == 0)
            post(player, &rng);
    }
    model_end(player);
    return NULL;
}

static void empty_mailboxes(void)
{
    model_start(&players[0], (size_t)BYTE_LIMIT);
    for (int i = 0; i < MAILBOXES; i++) {
        struct letter *letter = atomic_exchange(&mailboxes[i], NULL);
        if (letter == NULL)
            continue;
        if (letter->block.address != NULL)
            model_take(&players[0], letter->block, (uint64_t)i);
        free(letter);
    }
    model_end(&players[0]);
}

static void check_settled(void)
{
#ifdef TEST_HAKMEM_NAMES
    enum { SLACK = 4 << 20 };
    struct hakmem_stats stats = {.size = sizeof stats};
    CHECK(hakmem_stats_get(&stats) == 0);
    CHECK_THAT(stats.used_bytes + stats.large_bytes < SLACK, "%llu bytes in use with no block live",
               (unsigned long long)(stats.used_bytes + stats.large_bytes));
#endif
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atoi(argv[1]) : 1;
    steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 200000;
    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (threads < 1 || threads > CREW_MAX || steps == 0) {
        fprintf(stderr, "usage: %s [THREADS [STEPS [SEED]]], THREADS 1 to %d, STEPS at least 1\n",
                argv[0], CREW_MAX);
        return 2;
    }
    if (seed == 0)
        seed = (unsigned long long)time(NULL);
    printf("to repeat: test_model %d %lu %llu\n", threads, steps, seed);
    fflush(stdout);
    reach_hakmem();
    players = calloc((size_t)threads, sizeof *players);
    CHECK(players != NULL);
    crew_run(threads, play);
    empty_mailboxes();
    free(players);
    check_settled();
    return 0;
}
