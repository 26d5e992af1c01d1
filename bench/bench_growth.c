/*
 * How fast do buffers grow by realloc?
 *
 * KIND is vector (doubles, 64 B to 256 KiB) or string (grows by 1 … 64 B, to 8 KiB); THREADS
 * (default 1), OPS reallocs each (default 100,000). Each thread has 64 buffers that grow in turns,
 * so that none is always at the end of its memory; one that is full is freed and starts anew. Each
 * growth writes what is new. An operation is one realloc.
 */
#include "crew.h"

enum { BUFFERS = 64 };

struct kind {
    const char *name;
    size_t first, last; /* bytes */
    bool doubles;
};

static const struct kind kinds[] = {{"vector", 64, 256 << 10, true},
                                    {"string", 16, 8 << 10, false}};

static void
work(struct crew_member *member)
{
    const struct kind *kind = member->shared;
    unsigned char *buffers[BUFFERS] = {NULL};
    size_t sizes[BUFFERS] = {0};
    crew_ready(member);
    for (uint64_t i = 0; i < member->steps; i++) {
        uint64_t bits = bench_next(&member->random);
        uint32_t which = bench_scale((uint32_t)(bits >> 32), BUFFERS);
        size_t size = kind->doubles ? 2 * sizes[which] : sizes[which] + 1 + (bits & 63);
        if (sizes[which] == 0 || size > kind->last) {
            free(buffers[which]);
            buffers[which] = NULL;
            sizes[which] = 0;
            size = kind->first;
        }
        buffers[which] = realloc(buffers[which], size);
        if (buffers[which] == NULL) {
            bench_fail("realloc to %zu bytes failed", size);
        }
        memset(buffers[which] + sizes[which], (int)size, size - sizes[which]);
        bench_keep(buffers[which]);
        sizes[which] = size;
    }
    crew_done(member, member->steps);
    for (int i = 0; i < BUFFERS; i++) {
        free(buffers[i]);
    }
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 1, 4, "vector|string [THREADS] [OPS] [SEED]");
    const struct kind *kind = strcmp(argv[1], "string") == 0 ? &kinds[1] : &kinds[0];
    if (strcmp(argv[1], kind->name) != 0) {
        bench_usage("KIND must be vector or string, not \"%s\"", argv[1]);
    }
    uint64_t threads = bench_number_or(argc, argv, 2, "THREADS", 1, CREW_MAX, 1);
    uint64_t steps = bench_number_or(argc, argv, 3, "OPS", 1, 1000000000000u, 100000);
    uint64_t seed = bench_number_or(argc, argv, 4, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, steps, seed, (void *)kind, work);
    return 0;
}
