/*
 * Owners that do not look into their inbox: one that sleeps, ones that die while blocks are on the
 * way to them and whose ids come back, and two that flood each other.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

enum { FLOOD = 300000, FLOOD_SIZE = 64, TINY = 1024 };

static void *flood[FLOOD];
static pthread_barrier_t barrier;
static int rounds;

static void meet(void)
{
    int result = pthread_barrier_wait(&barrier);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void fill_flood(int n)
{
    for (int i = 0; i < n; i++) {
        flood[i] = malloc(FLOOD_SIZE);
        CHECK(flood[i] != NULL);
        memset(flood[i], i, FLOOD_SIZE);
    }
}

static void free_flood(int n, uint64_t seed)
{
    struct rng rng = {seed};
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(&rng, (uint64_t)i + 1);
        void *kept = flood[i];
        flood[i] = flood[j];
        flood[j] = kept;
    }
    for (int i = 0; i < n; i++)
        free(flood[i]);
}

/* Fills the flood and sleeps; awake again, allocates and frees as if nothing had been. */
static void *sleeper(void *argument)
{
    fill_flood(FLOOD);
    meet();
    meet();
    for (int round = 0; round < 3; round++) {
        fill_flood(FLOOD / 10);
        meet();
        meet();
    }
    return argument;
}

static uint64_t slab_bytes(void)
{
    struct hakmem_stats stats = {.size = sizeof stats};
    CHECK(hakmem_stats_get(&stats) == 0);
    return stats.slab_bytes;
}

/* In a random order: a few blocks that are kept back would keep every slab. */
static void sleeping_owner_keeps_nothing_back(void)
{
    enum { KEPT = 1 << 20, SLABS_KEPT = 2 << 20 };
    pthread_t thread;
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    uint64_t used = bytes_in_use(), slabs = slab_bytes();
    CHECK(pthread_create(&thread, NULL, sleeper, NULL) == 0);
    meet();
    CHECK(bytes_in_use() >= used + (uint64_t)FLOOD * FLOOD_SIZE);
    free_flood(FLOOD, 1);
    CHECK_THAT(bytes_in_use() <= used + KEPT, "%llu bytes in use before, %llu after",
               (unsigned long long)used, (unsigned long long)bytes_in_use());
    hakmem_purge();
    CHECK_THAT(slab_bytes() <= slabs + SLABS_KEPT, "%llu bytes of slabs before, %llu after",
               (unsigned long long)slabs, (unsigned long long)slab_bytes());
    meet();
    for (int round = 0; round < 3; round++) {
        meet();
        free_flood(FLOOD / 10, (uint64_t)round);
        meet();
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
    check_settled(used);
}

enum { SENDERS = 2, OWNERS = 2, PARCELS = 2000 };

/* From each owner's place to each sender; one owner after the other has the place. */
static struct ring rings[OWNERS][SENDERS];
static atomic_int places;

/* One life: allocates, sends, and ends with blocks of its own on the way back to it. */
static void *short_life(void *argument)
{
    int place = (int)(intptr_t)argument % OWNERS;
    struct rng rng = {(uint64_t)(intptr_t)argument + 5};
    for (int i = 0; i < PARCELS; i++) {
        struct parcel parcel =
            parcel_make(rng_between(&rng, 1, i % 2 ? 64 : TINY), (unsigned)place, (uint64_t)i);
        while (!ring_send(&rings[place][i % SENDERS], parcel))
            sched_yield();
    }
    return NULL;
}

static void lives(int place)
{
    for (int i = 0; i < rounds; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, short_life, (void *)(intptr_t)(i * OWNERS + place)) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    atomic_fetch_sub(&places, 1);
}

/* Allocates as well, so that it adopts slabs of the dead and has an inbox itself. */
static void send_back(int sender)
{
    struct rng rng = {(uint64_t)sender + 77};
    for (bool any = true; any || atomic_load(&places) > 0;) {
        any = false;
        for (int place = 0; place < OWNERS; place++) {
            struct parcel parcel, mine = parcel_make(rng_between(&rng, 1, TINY), 99, 1);
            if (ring_receive(&rings[place][sender], &parcel)) {
                parcel_free(&parcel);
                any = true;
            }
            parcel_free(&mine);
        }
        if (!any)
            sched_yield();
    }
}

static void *place_or_sender(void *argument)
{
    int number = (int)(intptr_t)argument;
    if (number < OWNERS)
        lives(number);
    else
        send_back(number - OWNERS);
    return NULL;
}

static void owners_die_and_their_ids_come_back(void)
{
    uint64_t before = bytes_in_use();
    atomic_store(&places, OWNERS);
    crew_run(OWNERS + SENDERS, place_or_sender);
    check_settled(before);
}

enum { LEFT = 100, LEFT_SIZE = 512 };

static unsigned char *left[LEFT];

static void *leave(void *argument)
{
    for (int i = 0; i < LEFT; i++) {
        left[i] = malloc(LEFT_SIZE);
        CHECK(left[i] != NULL);
        memset(left[i], 1, LEFT_SIZE);
    }
    meet();
    meet();
    return argument;
}

/* A few blocks wait in an outbox while their owner dies, their slab is adopted, and another thread gets
 * the owner's id. What this one is sent must not bring those along. (A debug build looks.) */
static void parcel_that_outlives_its_owner(void)
{
    enum { EARLY = 10, MINE = 2000 };
    static unsigned char *mine[MINE];
    uint64_t before = bytes_in_use();
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    for (int life = 0; life < 2; life++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
        meet();
        for (int i = 0; i < (life == 0 ? EARLY : LEFT); i++)
            free(left[i]);
        meet();
        CHECK(pthread_join(thread, NULL) == 0);
        for (int i = 0; life == 0 && i < MINE; i++) {
            mine[i] = malloc(LEFT_SIZE);
            CHECK(mine[i] != NULL);
            memset(mine[i], 2, LEFT_SIZE);
        }
        for (int i = EARLY; life == 0 && i < LEFT; i++)
            CHECK(left[i][0] == 1 && left[i][LEFT_SIZE - 1] == 1);
        for (int i = EARLY; life == 0 && i < LEFT; i++)
            free(left[i]);
    }
    for (int i = 0; i < MINE; i++) {
        CHECK(mine[i][0] == 2 && mine[i][LEFT_SIZE - 1] == 2);
        free(mine[i]);
    }
    CHECK(pthread_barrier_destroy(&barrier) == 0);
    check_settled(before);
}

enum { BATCH = 5000 };

static struct parcel batches[2][BATCH];

/* Each fills a batch, then frees the other's while that one frees this one's. */
static void *exchange(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct rng rng = {(uint64_t)number + 3};
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < BATCH; i++)
            batches[number][i] = parcel_make(rng_between(&rng, 1, round % 2 ? 200 : TINY),
                                             (unsigned)number, (uint64_t)i);
        meet();
        for (int i = 0; i < BATCH; i++)
            parcel_free(&batches[1 - number][i]);
        meet();
    }
    return NULL;
}

static void both_directions_at_once(void)
{
    uint64_t before = bytes_in_use();
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    crew_run(2, exchange);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
    check_settled(before);
}

enum { MANY_OWNERS = 24, EACH = 2000, SIZES = 32 };

static void *owned[MANY_OWNERS][EACH];

static void *one_of_many(void *argument)
{
    int number = (int)(intptr_t)argument;
    for (int round = 0; round < rounds / 4; round++) {
        for (int i = 0; i < EACH; i++) {
            size_t size = (size_t)(i % SIZES + 1) * (TINY / SIZES);
            owned[number][i] = malloc(size);
            CHECK(owned[number][i] != NULL);
            memset(owned[number][i], number, size);
        }
        meet();
        meet();
    }
    return NULL;
}

/* More heaps and classes than a thread can have outboxes for, or bytes in them. */
static void one_sender_to_many_owners(void)
{
    struct crew crew;
    uint64_t before = bytes_in_use();
    CHECK(pthread_barrier_init(&barrier, NULL, MANY_OWNERS + 1) == 0);
    crew_start(&crew, MANY_OWNERS, one_of_many);
    for (int round = 0; round < rounds / 4; round++) {
        meet();
        for (int i = 0; i < MANY_OWNERS * EACH; i++)
            free(round % 2 ? owned[i % MANY_OWNERS][i / MANY_OWNERS] : owned[i / EACH][i % EACH]);
        meet();
    }
    crew_join(&crew);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
    check_settled(before);
}

int main(int argc, char **argv)
{
    rounds = 20 * scale_of(argc, argv);
    reach_hakmem();
    RUN(sleeping_owner_keeps_nothing_back);
    RUN(owners_die_and_their_ids_come_back);
    RUN(parcel_that_outlives_its_owner);
    RUN(both_directions_at_once);
    RUN(one_sender_to_many_owners);
    return 0;
}
