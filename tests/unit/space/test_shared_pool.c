#include "space/shared_pool.h"

#include "config/options.h"
#include "fake_os.h"
#include "space/held.h"
#include "space/unit_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 400, DECAY = 800 };

static struct hak_slab *held[MANY];

static struct hak_slab *take(enum hak_use use, bool *zeroed)
{
    struct hak_slab *slab = hak_pool_take_units(1, use, zeroed);
    assert_non_null(slab);
    return slab;
}

static void take_all(int n)
{
    for (int i = 0; i < n; i++) {
        bool zeroed;
        held[i] = take(HAK_USE_DENSE, &zeroed);
        memset((void *)hak_slab_base(held[i]), 0xab, 64);
    }
}

static void give_all(int n)
{
    for (int i = 0; i < n; i++)
        hak_pool_give_units(held[i], 1, true);
}

static struct hak_pool_totals totals(void)
{
    struct hak_pool_totals out;
    hak_pool_totals_read(&out);
    return out;
}

static int fresh(void **state)
{
    (void)state;
    hak_options.decay_ms = DECAY;
    hak_options.purge = HAK_PURGE_DONTNEED;
    fake_os.refuse_purge = false;
    hak_pool_purge(fake_os.now_ms, UINT32_MAX, true);
    fake_os = (struct fake_os){.now_ms = fake_os.now_ms + 10 * DECAY, .node = -1};
    return 0;
}

/* Lets ms pass with a look for what is due at every tenth of them. */
static void pass(uint32_t ms)
{
    for (uint32_t t = 0; t < ms; t += 10) {
        fake_os.now_ms += 10;
        hak_pool_purge(fake_os.now_ms, 4, false);
    }
}

static void a_burst_goes_back_within_the_interval_and_a_quarter(void **state)
{
    (void)state;
    take_all(MANY);
    give_all(MANY);
    assert_int_equal(totals().units_dirty, MANY);
    pass(DECAY + DECAY / 4);
    assert_int_equal(totals().units_dirty, 0);
    /* The units, and a page of descriptors for each two SuperSlabs. */
    size_t units = (size_t)MANY << HAK_UNIT_SHIFT;
    assert_in_range(fake_os.purged_bytes, units, units + MANY / HAK_UNITS * 4096);
    size_t calls = fake_os.purges;
    pass(10 * DECAY);
    assert_int_equal(fake_os.purges, calls);
}

static void reuse_costs_no_call(void **state)
{
    (void)state;
    for (int cycle = 0; cycle < 100; cycle++) {
        take_all(MANY);
        pass(30);
        give_all(MANY);
        pass(30);
    }
    assert_int_equal(fake_os.purges, 0);
}

static void churn_keeps_no_more_than_its_demand(void **state)
{
    (void)state;
    take_all(MANY);
    give_all(MANY);
    for (int cycle = 0; cycle < 200; cycle++) {
        take_all(20);
        pass(10);
        give_all(20);
    }
    assert_true(totals().units_dirty <= 20 + HAK_UNITS);
}

static void zeros_are_promised_only_where_they_are(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        hak_options.purge = lazy ? HAK_PURGE_FREE : HAK_PURGE_DONTNEED;
        take_all(MANY);
        give_all(MANY);
        bool zeroed;
        struct hak_slab *dirty = take(HAK_USE_DENSE, &zeroed);
        assert_false(zeroed);
        hak_pool_give_units(dirty, 1, true);
        hak_pool_purge(0, UINT32_MAX, true);
        assert_int_equal(totals().units_dirty, 0);
        for (int i = 0; i < MANY; i++) {
            held[i] = take(HAK_USE_DENSE, &zeroed);
            if (zeroed)
                assert_int_equal(*(char *)hak_slab_base(held[i]), 0);
            assert_int_equal(zeroed, !lazy);
        }
        assert_true(lazy == 0 || fake_os.lazy_purges > 0);
        give_all(MANY);
    }
    /* Given back for good, they read as zeros again. */
    hak_options.purge = HAK_PURGE_DONTNEED;
    hak_pool_purge(0, UINT32_MAX, true);
    bool zeroed;
    struct hak_slab *slab = take(HAK_USE_DENSE, &zeroed);
    assert_true(zeroed);
    hak_pool_give_units(slab, 1, true);
}

static void a_refusing_system_ends_no_loop(void **state)
{
    (void)state;
    take_all(MANY);
    give_all(MANY);
    fake_os.refuse_purge = true;
    assert_int_equal(hak_pool_purge(0, UINT32_MAX, true), 0);
    assert_int_equal(totals().units_dirty, MANY);
    pass(3 * DECAY);
    assert_int_equal(totals().units_dirty, MANY);
    fake_os.refuse_purge = false;
    take_all(MANY);
    give_all(MANY);
    hak_pool_purge(0, UINT32_MAX, true);
    assert_int_equal(totals().units_dirty, 0);
}

static void decay_can_be_off_and_at_once(void **state)
{
    (void)state;
    hak_options.decay_ms = -1;
    take_all(MANY);
    give_all(MANY);
    pass(10 * DECAY);
    assert_int_equal(totals().units_dirty, MANY);
    hak_options.decay_ms = 0;
    hak_pool_purge(fake_os.now_ms, UINT32_MAX, false);
    assert_int_equal(totals().units_dirty, 0);
}

static void runs_come_from_the_other_end(void **state)
{
    (void)state;
    bool zeroed;
    struct hak_slab *slab = take(HAK_USE_SPARSE, &zeroed), *run = take(HAK_USE_RUN, &zeroed);
    assert_ptr_equal(hak_slab_superslab(slab), hak_slab_superslab(run));
    assert_true(run > slab);
    hak_pool_give_units(slab, 1, true);
    hak_pool_give_units(run, 1, true);
    assert_ptr_equal(take(HAK_USE_RUN, &zeroed), run);
    assert_ptr_equal(take(HAK_USE_SPARSE, &zeroed), slab);
    hak_pool_give_units(slab, 1, true);
    hak_pool_give_units(run, 1, true);
}

static void new_superslabs_are_placed_where_the_thread_runs(void **state)
{
    (void)state;
    struct hak_superslab *ss = hak_region_take_superslab();
    assert_non_null(ss);
    assert_int_equal(fake_os.places, 0); /* one node: nothing to be said */
    for (int node = 0; node < 3; node++) {
        fake_os.node = node;
        ss = hak_region_take_superslab();
        assert_non_null(ss);
        assert_int_equal(fake_os.places, node + 1);
        assert_int_equal(fake_os.last_node, node);
        assert_ptr_equal(fake_os.last_placed, (void *)hak_superslab_base(ss));
        assert_int_equal(fake_os.last_placed_bytes, HAK_SUPERSLAB_BYTES);
    }
}

static void the_hard_limit_counts_what_is_held(void **state)
{
    (void)state;
    bool zeroed;
    size_t before = hak_load_relaxed(&hak_held_bytes);
    hak_options.hard_limit = before + 3 * HAK_UNIT_BYTES;
    for (int i = 0; i < 3; i++)
        held[i] = take(HAK_USE_DENSE, &zeroed);
    assert_null(hak_pool_take_units(1, HAK_USE_DENSE, &zeroed));
    give_all(3); /* dirty: held still, and to be had again */
    assert_int_equal(hak_load_relaxed(&hak_held_bytes), before + 3 * HAK_UNIT_BYTES);
    held[0] = take(HAK_USE_DENSE, &zeroed);
    hak_pool_give_units(held[0], 1, true);
    hak_pool_purge(0, UINT32_MAX, true);
    assert_int_equal(hak_load_relaxed(&hak_held_bytes), before);
    assert_null(hak_pool_take_units(4, HAK_USE_RUN, &zeroed));
    hak_options.hard_limit = 0;
}

static void it_works_at_any_uptime(void **state)
{
    (void)state;
    for (uint64_t uptime = 1 << 20; uptime < UINT32_MAX; uptime *= 2) {
        fake_os.now_ms = (uint32_t)uptime;
        take_all(MANY);
        give_all(MANY);
        pass(2 * DECAY);
        assert_int_equal(totals().units_dirty, 0);
    }
}

static void pressure_makes_decay_faster(void **state)
{
    (void)state;
    hak_pool_set_pressure(3);
    take_all(MANY);
    give_all(MANY);
    pass(DECAY / 4);
    hak_pool_set_pressure(0);
    assert_int_equal(totals().units_dirty, 0);
}

/* Takes n units at `pace` of them a millisecond, or one in so many when it is negative. */
static size_t populated_by(int n, int pace)
{
    bool zeroed;
    size_t before = fake_os.populated_bytes;
    for (int i = 0; i < n; i++) {
        held[i] = take(HAK_USE_DENSE, &zeroed);
        fake_os.now_ms += pace < 0 ? (uint32_t)-pace : (i + 1) % pace == 0;
    }
    size_t bytes = fake_os.populated_bytes - before;
    give_all(n);
    hak_pool_purge(fake_os.now_ms, UINT32_MAX, true);
    return bytes;
}

static void only_fast_growth_is_populated(void **state)
{
    (void)state;
    assert_int_equal(populated_by(MANY, -1), 0);
    fake_os.now_ms += 1000;
    size_t bytes = populated_by(MANY, 8); /* 50 ms, all but the first interval */
    assert_true(bytes >= (size_t)(MANY - 80) << 16 && bytes < (size_t)MANY << 16);
    fake_os.now_ms += 1000;
    assert_int_equal(populated_by(40, 8), 0); /* a short burst ends before it is known as one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_burst_goes_back_within_the_interval_and_a_quarter, fresh),
        cmocka_unit_test_setup(reuse_costs_no_call, fresh),
        cmocka_unit_test_setup(churn_keeps_no_more_than_its_demand, fresh),
        cmocka_unit_test_setup(zeros_are_promised_only_where_they_are, fresh),
        cmocka_unit_test_setup(a_refusing_system_ends_no_loop, fresh),
        cmocka_unit_test_setup(decay_can_be_off_and_at_once, fresh),
        cmocka_unit_test_setup(runs_come_from_the_other_end, fresh),
        cmocka_unit_test_setup(new_superslabs_are_placed_where_the_thread_runs, fresh),
        cmocka_unit_test_setup(the_hard_limit_counts_what_is_held, fresh),
        cmocka_unit_test_setup(pressure_makes_decay_faster, fresh),
        cmocka_unit_test_setup(it_works_at_any_uptime, fresh),
        cmocka_unit_test_setup(only_fast_growth_is_populated, fresh),
    };
    if (!hak_region_init(1 << 28, SIZE_MAX) || !hak_unit_map_init(true))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
