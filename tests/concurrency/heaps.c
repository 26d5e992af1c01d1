/*
 * Heaps shared by threads: all allocate from all heaps, and free, resize or hand on what they got;
 * heaps change hands and are destroyed by others than their makers, with blocks in use; many heaps come
 * and go at the same time; forks happen meanwhile.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

#include <sys/wait.h>

enum { THREADS = 4, HEAPS = 3 };

static int rounds;
static struct hakmem_heap *shared[HEAPS];
static struct ring rings[THREADS];
static atomic_int ready, done;

static struct hakmem_heap *new_heap(void)
{
    struct hakmem_heap *heap = hakmem_heap_new("threads", 0);
    CHECK(heap != NULL);
    return heap;
}

static struct parcel parcel_in(struct hakmem_heap *heap, struct rng *rng, unsigned owner, int i)
{
    size_t size = rng_mixed_size(rng) / 4 + 1;
    struct parcel parcel = {hakmem_heap_malloc(heap, size), size, (uint64_t)owner << 48 | (uint64_t)i};
    CHECK(parcel.block != NULL);
    pattern_fill(parcel.block, size, parcel.stamp);
    return parcel;
}

static void end_parcel(struct parcel *parcel, struct rng *rng)
{
    struct hakmem_heap *heap = hakmem_heap_of(parcel->block);
    if (rng_below(rng, 8) == 0) {
        parcel_resize(parcel, rng_mixed_size(rng) / 4 + 1);
        CHECK(hakmem_heap_of(parcel->block) == heap);
    }
    parcel_check(parcel);
    if (rng_below(rng, 2) == 0)
        free(parcel->block);
    else
        hakmem_heap_free(heap, parcel->block);
}

/* Sends to the next thread and receives from the one before. */
static void *share(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number + 100};
    struct parcel parcel;
    for (int i = 0; i < 2000 * rounds; i++) {
        struct hakmem_heap *heap = shared[rng_below(&rng, HEAPS)];
        parcel = parcel_in(heap, &rng, (unsigned)number, i);
        if (rng_below(&rng, 3) == 0 || !ring_send(&rings[number], parcel))
            end_parcel(&parcel, &rng);
        while (ring_receive(&rings[(number + 1) % THREADS], &parcel))
            end_parcel(&parcel, &rng);
    }
    atomic_fetch_add(&done, 1);
    while (atomic_load(&done) < THREADS)
        sched_yield();
    while (ring_receive(&rings[(number + 1) % THREADS], &parcel))
        end_parcel(&parcel, &rng);
    return NULL;
}

static void threads_share_heaps(void)
{
    for (int i = 0; i < HEAPS; i++)
        shared[i] = new_heap();
    crew_run(THREADS, share);
    for (int i = 0; i < HEAPS; i++) {
        struct hakmem_heap_stats stats = {.size = sizeof stats};
        CHECK(hakmem_heap_stats_get(shared[i], &stats) == 0);
        CHECK_THAT(stats.blocks == 0 && stats.used_bytes == 0, "%llu blocks of %llu bytes left",
                   (unsigned long long)stats.blocks, (unsigned long long)stats.used_bytes);
        hakmem_heap_destroy(shared[i]);
    }
}

enum { BATCH = 60 };

struct estate {
    struct hakmem_heap *heap;
    struct parcel parcels[BATCH];
};

/* Makes a heap with blocks and sends it on; frees some of what comes and destroys the rest. */
static void *pass_on(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number + 200};
    struct parcel letter;
    int received = 0;
    for (int sent = 0; sent < 150 * rounds || received < 150 * rounds;) {
        if (sent < 150 * rounds) {
            struct estate *estate = malloc(sizeof *estate);
            CHECK(estate != NULL);
            estate->heap = new_heap();
            for (int i = 0; i < BATCH; i++)
                estate->parcels[i] = parcel_in(estate->heap, &rng, (unsigned)number, i);
            while (!ring_send(&rings[number], (struct parcel){estate, 0, 0}))
                sched_yield();
            sent++;
        }
        while (ring_receive(&rings[(number + 1) % THREADS], &letter)) {
            struct estate *estate = letter.block;
            for (int i = 0; i < BATCH; i += 1 + (int)rng_below(&rng, 3))
                end_parcel(&estate->parcels[i], &rng);
            hakmem_heap_destroy(estate->heap);
            free(estate);
            received++;
        }
        sched_yield();
    }
    return NULL;
}

static void heaps_change_hands(void)
{
    uint64_t before = bytes_in_use();
    crew_run(THREADS, pass_on);
    check_settled(before);
}

/* Each thread has so many heaps at a time, with so many blocks. */
enum { LIVE = 100, BLOCKS = 5 };

static void *come_and_go(void *argument)
{
    struct hakmem_heap *heaps[LIVE] = {0};
    struct rng rng = {(uint64_t)(intptr_t)argument + 300};
    for (int i = 0; i < 2000 * rounds; i++) {
        struct hakmem_heap **slot = &heaps[rng_below(&rng, LIVE)];
        if (*slot != NULL)
            hakmem_heap_destroy(*slot);
        *slot = new_heap();
        for (int k = 0; k < BLOCKS; k++)
            CHECK(hakmem_heap_malloc(*slot, rng_between(&rng, 1, 2000)) != NULL);
    }
    for (int i = 0; i < LIVE; i++)
        if (heaps[i] != NULL)
            hakmem_heap_destroy(heaps[i]);
    return NULL;
}

/* What was mapped is bounded by the heaps that lived at once: 4 KiB of metadata for each, a unit for each
 * block (32 to a SuperSlab), and what the allocator keeps back. */
static void heaps_leave_nothing(void)
{
    struct hakmem_stats first = {.size = sizeof first}, then = {.size = sizeof then};
    uint64_t before = bytes_in_use();
    CHECK(hakmem_stats_get(&first) == 0);
    for (int i = 0; i < 4; i++)
        crew_run(THREADS, come_and_go);
    CHECK(hakmem_stats_get(&then) == 0);
    check_settled(before);
    CHECK_THAT(then.metadata_bytes <= first.metadata_bytes + THREADS * LIVE * 4096 + (1 << 20) &&
                   then.superslabs <= first.superslabs + THREADS * LIVE * BLOCKS / 32 + 24,
               "metadata %llu, then %llu; SuperSlabs %llu, then %llu",
               (unsigned long long)first.metadata_bytes, (unsigned long long)then.metadata_bytes,
               (unsigned long long)first.superslabs, (unsigned long long)then.superslabs);
}

static void *churn(void *argument)
{
    struct rng rng = {(uint64_t)(intptr_t)argument + 400};
    while (atomic_load(&done) == 0) {
        struct hakmem_heap *heap = new_heap();
        for (int i = 0; i < 20; i++) {
            struct parcel parcel = parcel_in(shared[0], &rng, 0, i);
            CHECK(hakmem_heap_malloc(heap, parcel.size) != NULL);
            end_parcel(&parcel, &rng);
        }
        hakmem_heap_destroy(heap);
        atomic_store(&ready, 1);
    }
    return NULL;
}

static void forks_meanwhile(void)
{
    struct crew crew;
    struct rng rng = {1};
    shared[0] = new_heap();
    atomic_store(&done, 0);
    crew_start(&crew, THREADS - 1, churn);
    while (atomic_load(&ready) == 0)
        sched_yield();
    for (int i = 0; i < 20 * rounds; i++) {
        struct parcel kept = parcel_in(shared[0], &rng, 1, i);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);
            struct parcel parcel = parcel_in(shared[0], &rng, 2, i);
            end_parcel(&kept, &rng);
            end_parcel(&parcel, &rng);
            hakmem_heap_destroy(shared[0]);
            hakmem_heap_destroy(new_heap());
            _exit(0);
        }
        end_parcel(&kept, &rng);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_THAT(status == 0, "status %#x", (unsigned)status);
    }
    atomic_store(&done, 1);
    crew_join(&crew);
    hakmem_heap_destroy(shared[0]);
}

int main(int argc, char **argv)
{
    rounds = scale_of(argc, argv);
    reach_hakmem();
    RUN(threads_share_heaps);
    RUN(heaps_change_hands);
    RUN(heaps_leave_nothing);
    RUN(forks_meanwhile);
    return 0;
}
