/*
 * After a burst with every thread asleep the freed memory is back in time: the real clock, so not for
 * CI. 1.2 GiB on 4 threads, half of it freed by another thread than the one that allocated it.
 */
#include "support/crew.h"
#include "support/proc.h"
#include "support/rng.h"

#include "support/api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 4, WAIT_MS = 1500 };

static size_t bytes_each = (size_t)300 << 20;
static int largest_shift;

struct load {
    void **blocks;
    size_t count;
};
static struct load loads[THREADS];
static pthread_barrier_t phase;
static _Atomic int over;

/* Its own table, so that the test's bookkeeping is not a part of what is measured. */
static void *pages(size_t bytes)
{
    size_t *p = opaque(calloc(1, bytes));
    CHECK(p != NULL);
    return p;
}

static void *worker(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct load *mine = &loads[number], *other = &loads[(number + 1) % THREADS];
    struct rng rng = {(uint64_t)number + 1};
    size_t sum = 0, capacity = bytes_each / 64;
    mine->blocks = pages(capacity * sizeof *mine->blocks);
    mine->count = 0;
    while (sum < bytes_each && mine->count < capacity) {
        size_t size = rng_between(&rng, 16, (size_t)1 << rng_between(&rng, 6, (size_t)largest_shift));
        void *block = malloc(size);
        CHECK(block != NULL);
        memset(block, 1, size);
        mine->blocks[mine->count++] = block;
        sum += size;
    }
    pthread_barrier_wait(&phase);
    for (size_t i = 0; i < mine->count; i += 2)
        free(mine->blocks[i]);
    for (size_t i = 1; i < other->count; i += 2)
        free(other->blocks[i]);
    pthread_barrier_wait(&phase);
    free(mine->blocks);
    pthread_barrier_wait(&phase);
    while (!atomic_load(&over)) /* asleep, in no call of the library */
        usleep(20000);
    return NULL;
}

static void burst(int shift, size_t allowed_kib)
{
    struct crew crew;
    largest_shift = shift;
    atomic_store(&over, 0);
    pthread_barrier_init(&phase, NULL, THREADS + 1);
    size_t before = proc_rss_kib();
    crew_start(&crew, THREADS, worker);
    pthread_barrier_wait(&phase);
    size_t peak = proc_rss_kib();
    pthread_barrier_wait(&phase);
    pthread_barrier_wait(&phase);
    usleep(WAIT_MS * 1000);
    size_t after = proc_rss_kib();
    printf("blocks to %zu KiB: %zu KiB before, %zu at the peak, %zu after %d ms\n",
           ((size_t)1 << shift) / 1024, before, peak, after, WAIT_MS);
    fflush(stdout);
    CHECK_THAT(!PROC_RSS_TELLS || after <= before + allowed_kib, "%zu KiB before, %zu after", before,
               after);
    atomic_store(&over, 1);
    crew_join(&crew);
}

static void small_blocks(void)
{
    burst(10, 8 << 10);
}

/* Caches of mid blocks and runs of four threads come on top. */
static void blocks_of_every_tier(void)
{
    burst(21, 16 << 10);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        bytes_each = strtoul(argv[1], NULL, 10) << 20;
    reach_hakmem();
    printf("%d threads, %zu MiB each\n", THREADS, bytes_each >> 20); /* libc's own pages, before it counts */
    fflush(stdout);
    RUN(small_blocks);
    RUN(blocks_of_every_tier);
    return 0;
}
