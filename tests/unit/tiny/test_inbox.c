#include "tiny/inbox.h"

#include "config/options.h"
#include "core/core.h"
#include "core/heap.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct hak_heap unused_heap;

static void classes_of_one_heap_have_different_places(void **state)
{
    (void)state;
    for (uint32_t id = 1; id <= HAK_ID_LAST; id += id < 1000 ? 1 : 997) {
        uint64_t places = 0;
        for (uint32_t c = 0; c < HAK_TINY_CLASSES; c++) {
            struct hak_outbox *box = hak_outbox_at(&unused_heap, id << 8 | c);
            assert_in_range(box - unused_heap.out.at, 0, HAK_OUTBOXES - 1);
            places |= (uint64_t)1 << (box - unused_heap.out.at);
        }
        assert_int_equal(__builtin_popcountll(places), HAK_TINY_CLASSES);
    }
}

enum { SIZE = 64, PARCELS = 200, BLOCKS = PARCELS * HAK_PARCEL_BLOCKS };

static void *blocks[BLOCKS + 1];
static struct hak_heap *owner;
static pthread_barrier_t barrier;

/* The one step between two meetings is the other thread's. */
static void *own(void *unused)
{
    for (int i = 0; i <= BLOCKS; i++)
        blocks[i] = hak_malloc(SIZE);
    owner = hak_tls_heap;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    while (hak_load_relaxed(&owner->in.head) != 0)
        blocks[0] = hak_malloc(SIZE); /* until a magazine is empty */
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static uintptr_t came(void)
{
    return hak_load_relaxed(&owner->in.head) & HAK_INBOX_COUNT;
}

static void free_parcels(int from, int to)
{
    for (int i = from * HAK_PARCEL_BLOCKS; i < to * HAK_PARCEL_BLOCKS; i++)
        hak_free(blocks[i]);
}

static void an_inbox_fills_closes_opens_and_ends_closed(void **state)
{
    (void)state;
    pthread_t thread;
    assert_true(hak_init());
    int limit = (int)(hak_options.remote_bytes / HAK_PARCEL_BLOCK_BYTES);
    assert_in_range(limit, 1, PARCELS / 5);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, own, NULL), 0);
    pthread_barrier_wait(&barrier);

    uint64_t life = hak_load_relaxed(&owner->in.life);
    hak_free(blocks[BLOCKS]); /* the first of its like goes to the deferred map */
    free_parcels(0, 1);
    assert_int_equal(came(), 1);
    free_parcels(1, limit + 5); /* full, and counting */
    assert_int_equal(came(), limit + 5);
    free_parcels(limit + 5, 4 * limit);
    assert_int_equal(came(), 4 * limit);
    free_parcels(4 * limit, 4 * limit + 1); /* the owner sleeps */
    assert_int_equal(hak_load_relaxed(&owner->in.head), HAK_INBOX_CLOSED);
    pthread_barrier_wait(&barrier);

    pthread_barrier_wait(&barrier); /* the owner has looked into it */
    free_parcels(4 * limit + 1, 4 * limit + 3);
    assert_int_equal(came(), 2);
    pthread_barrier_wait(&barrier);

    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(hak_load_relaxed(&owner->in.head), HAK_INBOX_CLOSED);
    assert_int_equal(hak_load_relaxed(&owner->in.life), life);
    free_parcels(4 * limit + 3, PARCELS);
    assert_int_equal(hak_load_relaxed(&owner->in.head), HAK_INBOX_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_of_one_heap_have_different_places),
        cmocka_unit_test(an_inbox_fills_closes_opens_and_ends_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
