#include "os/pressure.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char root[] = "/tmp/hakmem-pressure-XXXXXX";
static char proc[100], cgroup[100];

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const char *folder, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s%s", folder, name);
    mkdir(path, 0700);
}

static int make_system(void **state)
{
    (void)state;
    if (mkdtemp(root) == NULL)
        return 1;
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(cgroup, sizeof cgroup, "%s/cgroup", root);
    make_folder(proc, "");
    make_folder(proc, "/self");
    make_folder(proc, "/pressure");
    make_folder(cgroup, "");
    make_folder(cgroup, "/box");
    return 0;
}

static int remove_system(void **state)
{
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void figures_become_levels(void **state)
{
    (void)state;
    assert_int_equal(hak_os_pressure_of(0, UINT64_MAX, 0), 0);
    assert_int_equal(hak_os_pressure_of(79, 100, 0), 0);
    assert_int_equal(hak_os_pressure_of(1000 - 150, 1000, 0), 1);
    assert_int_equal(hak_os_pressure_of(1000 - 90, 1000, 0), 2);
    assert_int_equal(hak_os_pressure_of(1000 - 10, 1000, 0), 3);
    assert_int_equal(hak_os_pressure_of(2000, 1000, 0), 3);
    assert_int_equal(hak_os_pressure_of(0, UINT64_MAX, 1), 1);
    assert_int_equal(hak_os_pressure_of(0, UINT64_MAX, 5), 2);
    assert_int_equal(hak_os_pressure_of(0, UINT64_MAX, 20), 3);
}

static void nothing_to_read_is_no_pressure(void **state)
{
    (void)state;
    errno = 4711;
    assert_int_equal(hak_os_pressure("/nonexistent", "/nonexistent"), 0);
    assert_int_equal(hak_os_pressure(proc, cgroup), 0);
    assert_int_equal(errno, 4711);
}

static void the_group_of_the_process_is_looked_at(void **state)
{
    (void)state;
    write_file(proc, "/self/cgroup", "5:cpu:/other\n0::/box\n");
    write_file(cgroup, "/box/memory.current", "950\n");
    write_file(cgroup, "/box/memory.high", "max\n");
    write_file(cgroup, "/box/memory.max", "max\n");
    assert_int_equal(hak_os_pressure(proc, cgroup), 0);
    write_file(cgroup, "/box/memory.max", "2000\n");
    assert_int_equal(hak_os_pressure(proc, cgroup), 0);
    write_file(cgroup, "/box/memory.high", "1000\n");
    assert_int_equal(hak_os_pressure(proc, cgroup), 2);
}

static void stalls_count_those_of_the_group_first(void **state)
{
    (void)state;
    write_file(cgroup, "/box/memory.high", "max\n");
    write_file(cgroup, "/box/memory.max", "max\n");
    write_file(proc, "/pressure/memory", "some avg10=33.10 avg60=0.00\nfull avg10=0.00\n");
    assert_int_equal(hak_os_pressure(proc, cgroup), 3);
    write_file(cgroup, "/box/memory.pressure", "some avg10=1.50 avg60=0.00\nfull avg10=0.00\n");
    assert_int_equal(hak_os_pressure(proc, cgroup), 1);
}

static void nonsense_is_no_pressure(void **state)
{
    (void)state;
    write_file(proc, "/self/cgroup", "0:nothing");
    write_file(proc, "/pressure/memory", "some avg10=99999999999999999999999999");
    assert_int_equal(hak_os_pressure(proc, cgroup), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_become_levels),
        cmocka_unit_test(nothing_to_read_is_no_pressure),
        cmocka_unit_test(the_group_of_the_process_is_looked_at),
        cmocka_unit_test(stalls_count_those_of_the_group_first),
        cmocka_unit_test(nonsense_is_no_pressure),
    };
    return cmocka_run_group_tests(tests, make_system, remove_system);
}
