#include "config/options.h"
#include "config/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct hak_row *row_of(const char *name)
{
    for (int i = 0; i < HAK_OPTION_COUNT; i++)
        if (strcmp(hak_option_rows[i].name, name) == 0)
            return &hak_option_rows[i];
    fail_msg("no option %s", name);
    return NULL;
}

/* The value that text is read as, or -4711 when it is refused. */
static int64_t parsed(const char *name, const char *text)
{
    int64_t value = -4711;
    bool accepted = hak_row_parse(row_of(name), text, &value);
    assert_true(accepted || value == -4711);
    return value;
}

static void defaults_are_in_range_and_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < HAK_OPTION_COUNT + HAK_GATE_COUNT; i++) {
        const struct hak_row *row =
            i < HAK_OPTION_COUNT ? &hak_option_rows[i] : &hak_gate_rows[i - HAK_OPTION_COUNT];
        const int64_t values[] = {row->def, row->min, row->max};
        assert_true(row->min <= row->def && row->def <= row->max);
        for (int k = 0; k < 3; k++) {
            char text[HAK_ROW_TEXT];
            int64_t value = values[k] + 1;
            hak_row_format(row, values[k], text);
            if (!hak_row_parse(row, text, &value) || value != values[k])
                fail_msg("%s: %s does not read back", row->name, text);
        }
    }
}

static void values_beyond_the_range_are_refused(void **state)
{
    int64_t value = 0;
    (void)state;
    for (int i = 0; i < HAK_GATE_COUNT; i++) {
        char text[HAK_ROW_TEXT];
        hak_row_format(&hak_gate_rows[i], hak_gate_rows[i].max + 1, text);
        assert_false(hak_row_parse(&hak_gate_rows[i], text, &value));
        hak_row_format(&hak_gate_rows[i], hak_gate_rows[i].min - 1, text);
        assert_false(hak_row_parse(&hak_gate_rows[i], text, &value));
    }
    assert_int_equal(parsed("HAKMEM_DECAY_MS", "-2"), -4711);
    assert_int_equal(parsed("HAKMEM_DECAY_MS", "99999999999999999999"), -4711);
    assert_int_equal(parsed("HAKMEM_MAGAZINE_BYTES", "2M"), -4711);
    assert_int_equal(parsed("HAKMEM_LARGE_CACHE", "99999999999999G"), -4711);
}

static void sizes_have_suffixes(void **state)
{
    (void)state;
    assert_int_equal(parsed("HAKMEM_LARGE_CACHE", "0"), 0);
    assert_int_equal(parsed("HAKMEM_LARGE_CACHE", "4096"), 4096);
    assert_int_equal(parsed("HAKMEM_LARGE_CACHE", "3K"), 3 << 10);
    assert_int_equal(parsed("HAKMEM_LARGE_CACHE", "5M"), 5 << 20);
    assert_int_equal(parsed("HAKMEM_LARGE_CACHE", "1G"), 1 << 30);
}

static void nonsense_is_refused(void **state)
{
    static const char *const texts[] = {"", " ", "x", "1x", "1KK", "K", "--1", "1.5", "0x10z", "1 2"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(parsed("HAKMEM_LARGE_CACHE", texts[i]), -4711);
        assert_int_equal(parsed("HAKMEM_DECAY_MS", texts[i]), -4711);
        assert_int_equal(parsed("HAKMEM_CHECK", texts[i]), -4711);
        assert_int_equal(parsed("HAKMEM_THP", texts[i]), -4711);
    }
}

static void words_of_an_enum(void **state)
{
    (void)state;
    assert_int_equal(parsed("HAKMEM_THP", "never"), HAK_THP_NEVER);
    assert_int_equal(parsed("HAKMEM_THP", "auto"), HAK_THP_AUTO);
    assert_int_equal(parsed("HAKMEM_THP", "always"), HAK_THP_ALWAYS);
    assert_int_equal(parsed("HAKMEM_THP", "alway"), -4711);
    assert_int_equal(parsed("HAKMEM_THP", "never|auto"), -4711);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_in_range_and_read_back),
        cmocka_unit_test(values_beyond_the_range_are_refused),
        cmocka_unit_test(sizes_have_suffixes),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(words_of_an_enum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
