/*
 * The library's first and last words in a process. Allocation does not wait for any of this: the
 * first malloc may come earlier, from the dynamic loader, and the last free later.
 */
#include "api/sanitizer.h"
#include "config/options.h"
#include "core/scavenger.h"
#include "report/report.h"

#include <stdlib.h>
#include <unistd.h>

/* 101 is the first priority that is not the implementation's: before the program's constructors. */
enum { FIRST = 101 };

__attribute__((constructor(FIRST), cold)) static void library_start(void)
{
    hak_sanitizer_refuse();
    hak_options_load();
    if (hak_options.help) {
        hak_options_help();
        _exit(EXIT_SUCCESS);
    }
    hak_report_start();
    hak_scavenger_allow();
}

/* Destructors run in the opposite order, so this one is the last of the library. */
__attribute__((destructor(FIRST), cold)) static void library_end(void)
{
    hak_report_exit();
}
