/*
 * How fast are data structures built up and torn down, as parsers and compilers do?
 *
 * THREADS (default 1), each ROUNDS times (default 40): a binary tree of depth 16 is built, a
 * quarter of it is rebuilt in place, and all of it is freed. Nodes are of 32, 48 or 64 B. A tree of
 * depth 18 is built first and lives until the end, as what a program keeps. An operation is one
 * node allocated and freed.
 */
#include "crew.h"

enum { DEPTH = 16, KEPT_DEPTH = 18 };

struct node {
    struct node *left, *right;
    uint64_t value;
};

static struct node *
build(unsigned depth, struct bench_random *random)
{
    uint64_t bits = bench_next(random);
    struct node *node = bench_malloc(32 + 16 * bench_scale((uint32_t)bits, 3));
    *node = (struct node){.value = bits};
    if (depth > 0) {
        node->left = build(depth - 1, random);
        node->right = build(depth - 1, random);
    }
    return node;
}

static void
tear_down(struct node *node)
{
    if (node != NULL) {
        tear_down(node->left);
        tear_down(node->right);
        free(node);
    }
}

static uint64_t
nodes_of(unsigned depth)
{
    return ((uint64_t)2 << depth) - 1;
}

static void
work(struct crew_member *member)
{
    struct node *kept = build(KEPT_DEPTH, &member->random);
    crew_ready(member);
    for (uint64_t i = 0; i < member->steps; i++) {
        struct node *tree = build(DEPTH, &member->random);
        tear_down(tree->left->right);
        tree->left->right = build(DEPTH - 2, &member->random);
        tear_down(tree);
    }
    crew_done(member, member->steps * (nodes_of(DEPTH) + nodes_of(DEPTH - 2)));
    tear_down(kept);
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[THREADS] [ROUNDS] [SEED]");
    uint64_t threads = bench_number_or(argc, argv, 1, "THREADS", 1, CREW_MAX, 1);
    uint64_t rounds = bench_number_or(argc, argv, 2, "ROUNDS", 1, 1000000000u, 40);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, rounds, seed, NULL, work);
    return 0;
}
