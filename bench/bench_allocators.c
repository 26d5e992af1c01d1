/*
 * How fast are the typical patterns of programs, one scenario at a time?
 *
 * An operation is one malloc with its free, except in "realloc", where it is one realloc, and in
 * "string", where it is one string made. One thread, random replacement in a working set, so that a
 * block lives through many others. The scenarios are rows of a table at the end of this file.
 */
#include "common.h"

#include <getopt.h>

struct scenario {
    const char *name;
    void (*run)(const struct scenario *, struct bench_random *, uint64_t iterations);
    uint32_t slots;
    uint32_t size_min, size_max; /* bytes */
    bool every_page;             /* write to each 4 KiB, as a reader of a file into a buffer does */
};

static void **slots;

static void
replace(uint32_t slot, size_t size, bool every_page)
{
    free(slots[slot]);
    unsigned char *block = bench_malloc(size);
    if (every_page) {
        for (size_t at = 0; at < size; at += 4096) {
            *(volatile unsigned char *)(block + at) = (unsigned char)at;
        }
    }
    bench_touch(block, size);
    slots[slot] = block;
}

static void
run_range(const struct scenario *scenario, struct bench_random *random, uint64_t iterations)
{
    uint32_t span = scenario->size_max - scenario->size_min + 1;
    for (uint64_t i = 0; i < iterations; i++) {
        uint64_t bits = bench_next(random);
        uint32_t slot = bench_scale((uint32_t)(bits >> 32), scenario->slots);
        size_t size = scenario->size_min + bench_scale((uint32_t)bits, span);
        replace(slot, size, scenario->every_page);
    }
}

static void
run_mixed(const struct scenario *scenario, struct bench_random *random, uint64_t iterations)
{
    static const uint32_t sizes[] = {16, 512, 8 << 10, 128 << 10, 1 << 10};
    for (uint64_t i = 0; i < iterations; i++) {
        uint64_t bits = bench_next(random);
        uint32_t slot = bench_scale((uint32_t)(bits >> 32), scenario->slots);
        uint32_t kind = bench_scale((uint32_t)bits, sizeof sizes / sizeof sizes[0]);
        replace(slot, sizes[kind], scenario->every_page);
    }
}

/* Buffers that grow by half until they pass size_max and then start anew, as a vector does. */
static void
run_realloc(const struct scenario *scenario, struct bench_random *random, uint64_t iterations)
{
    size_t *sizes = bench_table(scenario->slots * sizeof *sizes);
    for (uint64_t i = 0; i < iterations; i++) {
        uint32_t slot = bench_scale((uint32_t)(bench_next(random) >> 32), scenario->slots);
        size_t size = sizes[slot] + sizes[slot] / 2;
        if (size < scenario->size_min || size > scenario->size_max) {
            free(slots[slot]);
            slots[slot] = NULL;
            size = scenario->size_min;
        }
        void *grown = realloc(slots[slot], size);
        if (grown == NULL) {
            bench_fail("realloc to %zu bytes failed", size);
        }
        bench_touch(grown, size);
        slots[slot] = grown;
        sizes[slot] = size;
    }
    munmap(sizes, scenario->slots * sizeof *sizes);
}

/* Two strings out of the working set are joined; one of them is replaced by the result, and by a
 * short new string once the result is too long. */
static void
run_string(const struct scenario *scenario, struct bench_random *random, uint64_t iterations)
{
    static const char text[] = "the quick brown fox jumps over the lazy dog";
    uint32_t span = sizeof text - scenario->size_min;
    for (uint64_t i = 0; i < iterations; i++) {
        uint64_t bits = bench_next(random);
        char **left = (char **)&slots[bench_scale((uint32_t)(bits >> 32), scenario->slots)];
        char *right = slots[bench_scale((uint32_t)bits, scenario->slots)];
        size_t left_length = *left != NULL ? strlen(*left) : 0;
        size_t right_length = right != NULL ? strlen(right) : 0;
        size_t length = left_length + right_length;
        char *made;
        if (left_length == 0 || right_length == 0 || length >= scenario->size_max) {
            length = scenario->size_min + bench_scale((uint32_t)(bits >> 16), span);
            made = bench_malloc(length + 1);
            memcpy(made, text + sizeof text - 1 - length, length);
        } else {
            made = bench_malloc(length + 1);
            memcpy(made, *left, left_length);
            memcpy(made + left_length, right, right_length);
        }
        made[length] = '\0';
        free(*left);
        *left = made;
    }
}

static const struct scenario scenarios[] = {
    {"mixed", run_mixed, 256, 16, 128 << 10, false},
    {"json", run_range, 32, 64 << 10, 64 << 10, true},
    {"tiny", run_range, 4096, 8, 128, false},
    {"mid", run_range, 512, 1025, 32 << 10, false},
    {"large", run_range, 32, 64 << 10, 1 << 20, false},
    {"realloc", run_realloc, 64, 16, 256 << 10, false},
    {"string", run_string, 2048, 3, 256, false},
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

static const struct scenario *
find_scenario(const char *name)
{
    char names[128] = "";
    for (int i = 0; i < SCENARIOS; i++) {
        if (strcmp(scenarios[i].name, name) == 0) {
            return &scenarios[i];
        }
        strcat(strcat(names, i == 0 ? "" : ", "), scenarios[i].name);
    }
    bench_usage("--scenario must be one of %s, not \"%s\"", names, name);
}

int
main(int argc, char **argv)
{
    static const struct option options[] = {{"scenario", required_argument, NULL, 's'},
                                            {"iterations", required_argument, NULL, 'i'},
                                            {"seed", required_argument, NULL, 'r'},
                                            {NULL, 0, NULL, 0}};
    const char *usage = "--scenario NAME --iterations N [--seed S]";
    const struct scenario *scenario = NULL;
    uint64_t iterations = 0, seed = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 's') {
            scenario = find_scenario(optarg);
        } else if (option == 'i') {
            iterations = bench_number("--iterations", optarg, 1, 1000000000000u);
        } else if (option == 'r') {
            seed = bench_number("--seed", optarg, 0, UINT64_MAX);
        } else {
            bench_usage("usage: %s %s", program_invocation_short_name, usage);
        }
    }
    if (scenario == NULL || iterations == 0 || optind != argc) {
        bench_usage("usage: %s %s", program_invocation_short_name, usage);
    }
    struct bench_random random = bench_random_start(seed);
    slots = bench_table(scenario->slots * sizeof *slots);
    scenario->run(scenario, &random, 4 * (uint64_t)scenario->slots);
    double start = bench_now();
    scenario->run(scenario, &random, iterations);
    double end = bench_now();
    for (uint32_t i = 0; i < scenario->slots; i++) {
        free(slots[i]);
    }
    bench_report(iterations, end - start);
    return 0;
}
