#include "space/decay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { INTERVAL = 800, STEP = INTERVAL / HAK_DECAY_STEPS, USED = 1000 };
enum { SLACK = HAK_DECAY_SLACK + USED / HAK_DECAY_SLACK_DIVISOR };

static struct hak_decay decay;
static uint32_t now, dirty;

static void change(int by)
{
    hak_decay_advance(&decay, now, STEP, dirty);
    dirty += (uint32_t)by;
    hak_decay_note(&decay, dirty);
}

/* What a purge at this time would give back; it is given back. */
static uint32_t purge(void)
{
    hak_decay_advance(&decay, now, STEP, dirty);
    uint32_t n = hak_decay_surplus(&decay, USED);
    assert_true(n <= dirty);
    dirty -= n;
    hak_decay_purged(&decay, n);
    return n;
}

static int start_at(uint32_t ms)
{
    decay = (struct hak_decay){.started_ms = ms};
    now = ms;
    dirty = 0;
    return 0;
}

static void a_burst_is_gone_after_the_interval_and_not_before(void **state)
{
    (void)state;
    start_at(12345);
    change(5000);
    for (uint32_t t = 0; t < INTERVAL; t += 10, now += 10)
        assert_int_equal(purge(), 0);
    now += 2 * STEP;
    assert_int_equal(purge() + dirty, 5000);
    assert_int_equal(dirty, 0);
}

static void what_is_reused_within_the_interval_stays(void **state)
{
    (void)state;
    start_at(0);
    for (int cycle = 0; cycle < 100; cycle++) {
        change(300);
        now += INTERVAL / 4;
        assert_int_equal(purge(), 0);
        change(-300);
        now += INTERVAL / 4;
        assert_int_equal(purge(), 0);
    }
}

static void what_is_beyond_the_demand_goes_even_in_churn(void **state)
{
    (void)state;
    start_at(0);
    change(2000); /* once; from now on only 300 of them come and go */
    uint32_t gone = 0;
    for (int cycle = 0; cycle < 100; cycle++) {
        change(-300);
        now += 1;
        change(300);
        now += 30;
        gone += purge();
    }
    assert_int_equal(gone, 2000 - 300 - SLACK);
    assert_int_equal(dirty, 300 + SLACK);
}

static void an_idle_heap_keeps_nothing(void **state)
{
    (void)state;
    start_at(0);
    change(SLACK);
    now += INTERVAL / 2;
    assert_int_equal(purge(), 0);
    now += INTERVAL * 2;
    assert_int_equal(purge(), SLACK);
}

static void demand_that_wavers_within_the_slack_costs_nothing(void **state)
{
    (void)state;
    start_at(0);
    change(SLACK);
    uint32_t gone = 0;
    for (int i = 0; i < 10000; i++, now += 7) {
        change(i % 2 ? SLACK / 2 : -SLACK / 2);
        gone += purge();
    }
    assert_int_equal(gone, 0);
}

static void a_long_silence_counts_as_what_it_was(void **state)
{
    (void)state;
    start_at(0);
    change(100);
    now += 1000 * INTERVAL; /* nobody called; nothing came or went */
    change(50);             /* the hundred were not needed, these have just come */
    now += STEP;
    assert_int_equal(purge(), 100 - SLACK);
    now += 3 * INTERVAL;
    assert_int_equal(purge(), 50 + SLACK);
}

static void the_clock_may_wrap_and_threads_may_have_read_it_earlier(void **state)
{
    (void)state;
    start_at(UINT32_MAX - INTERVAL / 2);
    change(500);
    for (int i = 0; i < 12; i++) {
        now += STEP;
        purge();
        now -= 3; /* another thread, a moment late */
        purge();
        now += 3;
    }
    assert_int_equal(dirty, 0);
}

static void the_clock_may_start_anywhere(void **state)
{
    (void)state;
    for (uint64_t uptime = 1; uptime < UINT32_MAX - 2 * HAK_DECAY_LATE_MS; uptime = uptime * 3 + 1) {
        start_at(0);
        now = (uint32_t)uptime;
        change(500);
        for (int i = 0; i < HAK_DECAY_STEPS + 3; i++) {
            now += STEP;
            purge();
        }
        assert_int_equal(dirty, 0);
    }
}

static void pressure_and_excess_shorten_the_step(void **state)
{
    (void)state;
    assert_int_equal(hak_decay_step_ms(800, 10, 1000, 1), 100);
    assert_int_equal(hak_decay_step_ms(800, 10, 1000, 4), 25);
    assert_int_equal(hak_decay_step_ms(800, HAK_DECAY_MANY, 0, 1), 100);
    assert_int_equal(hak_decay_step_ms(800, 3000, 1000, 1), 25);
    assert_int_equal(hak_decay_step_ms(3, 0, 0, 4), 0);
    start_at(7);
    change(100);
    for (int i = 0; i <= HAK_DECAY_STEPS + 1; i++) {
        now++;
        hak_decay_advance(&decay, now, 0, dirty);
    }
    assert_int_equal(hak_decay_surplus(&decay, 0), 100);
}

static void mappings_are_due_by_age(void **state)
{
    (void)state;
    assert_false(hak_decay_due(100, 599, 500));
    assert_true(hak_decay_due(100, 600, 500));
    assert_false(hak_decay_due(100, UINT32_MAX / 4, -1));
    assert_true(hak_decay_due(100, 100, 0));
    assert_false(hak_decay_due(100, 90, 500)); /* freed since the clock was read */
    assert_true(hak_decay_due(UINT32_MAX - 99, 400, 500));
}

static void tiers_do_not_flutter(void **state)
{
    (void)state;
    assert_int_equal(hak_decay_tier(HAK_TIER_HOT, 23, 32), HAK_TIER_HOT);
    assert_int_equal(hak_decay_tier(HAK_TIER_HOT, 24, 32), HAK_TIER_DRAINING);
    assert_int_equal(hak_decay_tier(HAK_TIER_DRAINING, 17, 32), HAK_TIER_DRAINING);
    assert_int_equal(hak_decay_tier(HAK_TIER_DRAINING, 16, 32), HAK_TIER_HOT);
    assert_int_equal(hak_decay_tier(HAK_TIER_HOT, 32, 32), HAK_TIER_EMPTY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_gone_after_the_interval_and_not_before),
        cmocka_unit_test(what_is_reused_within_the_interval_stays),
        cmocka_unit_test(what_is_beyond_the_demand_goes_even_in_churn),
        cmocka_unit_test(an_idle_heap_keeps_nothing),
        cmocka_unit_test(demand_that_wavers_within_the_slack_costs_nothing),
        cmocka_unit_test(a_long_silence_counts_as_what_it_was),
        cmocka_unit_test(the_clock_may_wrap_and_threads_may_have_read_it_earlier),
        cmocka_unit_test(the_clock_may_start_anywhere),
        cmocka_unit_test(pressure_and_excess_shorten_the_step),
        cmocka_unit_test(mappings_are_due_by_age),
        cmocka_unit_test(tiers_do_not_flutter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
