#include "base/print.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void format_returns_the_length(void **state)
{
    char out[32];
    (void)state;
    assert_int_equal(hak_format(out, sizeof out, "%s %zu", "abc", (size_t)12), 6);
    assert_string_equal(out, "abc 12");
}

static void format_cuts_and_terminates(void **state)
{
    char out[5] = "xxxx";
    (void)state;
    assert_int_equal(hak_format(out, sizeof out, "%s", "0123456789"), 4);
    assert_string_equal(out, "0123");
    assert_int_equal(hak_format(out, 1, "%d", 77), 0);
    assert_string_equal(out, "");
}

static void print_writes_the_whole_text(void **state)
{
    int ends[2];
    char got[HAK_PRINT_MAX * 2];
    char longest[HAK_PRINT_MAX * 2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    errno = 4711;
    hak_print(ends[1], "%s=%d\n", "answer", 42);
    assert_int_equal(errno, 4711);
    assert_int_equal(read(ends[0], got, sizeof got), 10);
    assert_memory_equal(got, "answer=42\n", 10);
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    hak_print(ends[1], "%s", longest);
    ssize_t length = read(ends[0], got, sizeof got);
    assert_true(length >= HAK_PRINT_MAX - 1 && length <= HAK_PRINT_MAX);
    close(ends[0]);
    close(ends[1]);
}

static void print_to_a_closed_fd_is_no_error(void **state)
{
    (void)state;
    errno = 4712;
    hak_print(-1, "lost");
    hak_print_raw(-1, "lost", 4);
    assert_int_equal(errno, 4712);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_returns_the_length),
        cmocka_unit_test(format_cuts_and_terminates),
        cmocka_unit_test(print_writes_the_whole_text),
        cmocka_unit_test(print_to_a_closed_fd_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
