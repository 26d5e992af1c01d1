/*
 * HAKMEM_HARD_LIMIT ends allocations with ENOMEM before, and not long before, so much is held, in every
 * tier, and what was freed can be had again; HAKMEM_SOFT_LIMIT keeps little of what was freed.
 */
#include "support/pattern.h"
#include "support/proc.h"

#include "support/api.h"

#include <hakmem/hakmem.h>

enum { LIMIT_MIB = 64 };

static void **blocks;

static size_t exhaust(size_t size, size_t most)
{
    size_t count = 0;
    errno = 0;
    while (count < most && (blocks[count] = malloc(size)) != NULL)
        memset(blocks[count++], 1, size < 4096 ? size : 4096);
    return count;
}

static void release(size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

static void hard_limit(void)
{
    static const size_t sizes[] = {40, 1000, 20000, 200000, 3 << 20};
    size_t limit = (size_t)LIMIT_MIB << 20, most = 2 * limit / 40;
    blocks = calloc(most, sizeof *blocks);
    CHECK(blocks != NULL);
    size_t table = most * sizeof *blocks;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t count = exhaust(sizes[i], most);
        CHECK_THAT(count < most && errno == ENOMEM, "size %zu: no end", sizes[i]);
        CHECK_THAT(count * sizes[i] <= limit - table, "size %zu: %zu", sizes[i], count);
        CHECK_THAT(count * sizes[i] >= (limit - table) / 2, "size %zu: only %zu", sizes[i], count);
        release(count);
    }
    CHECK(opaque(malloc(opaque_size(limit))) == NULL && errno == ENOMEM);
    void *large = malloc(4 << 20);
    CHECK(large != NULL && opaque(realloc(large, opaque_size(limit))) == NULL);
    free(large);
    free(blocks);
}

/* Of 256 MiB that come and go, with a live MiB, little more than a burst is ever held. */
static void soft_limit(void)
{
    static void *burst[16 << 10];
    size_t before = proc_rss_kib(), peak = 0;
    for (int round = 0; round < 16; round++) {
        for (int i = 0; i < 16 << 10; i++) {
            burst[i] = malloc(1000);
            CHECK(burst[i] != NULL);
            memset(burst[i], 1, 1000);
        }
        for (int i = 0; i < 16 << 10; i++)
            free(burst[i]);
        for (int i = 0; i < 8; i++) { /* another tier, which has no use for the first one's pages */
            burst[i] = malloc(2 << 20);
            CHECK(burst[i] != NULL);
            memset(burst[i], 1, 2 << 20);
        }
        size_t now = proc_rss_kib();
        peak = now > peak ? now : peak;
        for (int i = 0; i < 8; i++)
            free(burst[i]);
    }
    CHECK_THAT(!PROC_RSS_TELLS || peak < before + (28 << 10), "%zu KiB, then %zu", before, peak);
}

int main(int argc, char **argv)
{
    reach_hakmem();
    CHECK(argc == 2);
    if (strcmp(argv[1], "hard") == 0)
        RUN(hard_limit);
    else
        RUN(soft_limit);
    return 0;
}
