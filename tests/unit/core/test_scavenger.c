/* Purge inside slabs in use, pass by pass, with a clock of its own and no thread. */
#include "core/scavenger.h"

#include "config/options.h"
#include "core/core.h"
#include "core/heap.h"
#include "large/large.h"
#include "os/os.h"
#include "tiny/magazine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { BLOCKS = 2000, SIZE = 512, KEPT = 100, STEP = 201 };

static unsigned char *blocks[BLOCKS];
static uint32_t now;

static size_t resident_pages(void)
{
    size_t resident = 0;
    for (int i = 0; i < BLOCKS; i++) {
        uintptr_t page = (uintptr_t)blocks[i] & ~(uintptr_t)4095;
        unsigned char in_core;
        if (page != (i == 0 ? 0 : (uintptr_t)blocks[i - 1] & ~(uintptr_t)4095))
            resident += mincore((void *)page, 1, &in_core) == 0 && (in_core & 1);
    }
    return resident;
}

static bool pass(void)
{
    now += STEP;
    return hak_scavenger_pass(now);
}

static int settle(void **state)
{
    (void)state;
    hak_options.idle_return_ms = 1000;
    for (int i = 0; i < 20 && pass(); i++)
        continue;
    return 0;
}

static void fill(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = hak_malloc(SIZE);
        assert_non_null(blocks[i]);
        memset(blocks[i], i, SIZE);
    }
}

/* Frees all but every KEPT-th; what the caches hold goes back as at the end of a thread. */
static void free_most(void)
{
    for (int i = 0; i < BLOCKS; i++)
        if (i % KEPT != 0)
            hak_free(blocks[i]);
    hak_heap_flush(hak_tls_heap);
}

static void free_kept(void)
{
    for (int i = 0; i < BLOCKS; i += KEPT) {
        for (int j = 0; j < SIZE; j++)
            assert_int_equal(blocks[i][j], i & 0xff);
        hak_free(blocks[i]);
    }
    hak_heap_flush(hak_tls_heap);
}

static void free_pages_of_slabs_in_use_go_after_three_passes(void **state)
{
    (void)state;
    fill();
    free_most();
    size_t before = resident_pages();
    assert_true(before > 100);
    pass();
    pass();
    assert_int_equal(resident_pages(), before);
    pass();
    assert_in_range(resident_pages(), BLOCKS / KEPT, 2 * BLOCKS / KEPT);
    free_kept();
}

static void a_slab_in_use_by_its_owner_keeps_its_pages(void **state)
{
    (void)state;
    fill();
    free_most();
    size_t before = resident_pages();
    for (int i = 0; i < 20; i++) {
        static void *more[BLOCKS - BLOCKS / KEPT];
        for (int j = 0; j < BLOCKS - BLOCKS / KEPT; j++)
            more[j] = hak_malloc(SIZE);
        if (i % 2)
            pass();
        for (int j = 0; j < BLOCKS - BLOCKS / KEPT; j++)
            hak_free(more[j]);
        hak_heap_flush(hak_tls_heap);
        if (i % 2 == 0)
            pass();
    }
    assert_true(resident_pages() >= before / 4);
    free_kept();
}

static void it_comes_to_rest(void **state)
{
    (void)state;
    fill();
    free_most();
    int passes = 0;
    while (pass())
        assert_true(++passes < 20);
    for (int i = 0; i < 5; i++)
        assert_false(pass());
    free_kept();
}

static void at_once_when_asked(void **state)
{
    (void)state;
    fill();
    free_most();
    assert_true(hak_trim(0));
    assert_in_range(resident_pages(), BLOCKS / KEPT, 2 * BLOCKS / KEPT);
    assert_false(hak_trim(0));
    free_kept();
}

static void mappings_go_within_the_time_whatever_the_decay(void **state)
{
    (void)state;
    struct hak_large_totals totals;
    hak_options.decay_ms = 100000;
    hak_free(hak_malloc(8 << 20));
    hak_large_totals_read(&totals);
    assert_true(totals.cached_bytes >= 8 << 20);
    now = hak_os_now_ms();
    for (int i = 0; i < 5; i++)
        pass();
    hak_large_totals_read(&totals);
    hak_options.decay_ms = 500;
    assert_int_equal(totals.cached_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(free_pages_of_slabs_in_use_go_after_three_passes, settle),
        cmocka_unit_test_setup(a_slab_in_use_by_its_owner_keeps_its_pages, settle),
        cmocka_unit_test_setup(it_comes_to_rest, settle),
        cmocka_unit_test_setup(at_once_when_asked, settle),
        cmocka_unit_test_setup(mappings_go_within_the_time_whatever_the_decay, settle),
    };
    hak_free(hak_malloc(1)); /* a heap */
    hak_store_relaxed(&hak_pool_armed, 0); /* no thread */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
