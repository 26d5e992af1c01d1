/*
 * What the library says of itself: the summary at exit, malloc_stats and malloc_info.
 *
 * The figures come from hak_totals_read(); nothing is counted for them while the program runs.
 * Called by src/api only, from any thread.
 */
#ifndef HAK_REPORT_REPORT_H
#define HAK_REPORT_REPORT_H

#include "core/totals.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Keeps a copy of stderr for the summary when HAKMEM_VERBOSE asks for one: many programs close
 * stderr before the library's turn comes. Once, at start, after the options are loaded.
 */
void hak_report_start(void) __attribute__((cold));

/* Prints the summary if HAKMEM_VERBOSE asks for it. Allocates nothing. */
void hak_report_exit(void) __attribute__((cold));

/* Bytes of SuperSlabs that no block uses; 0 when the figures, read while others run, disagree. */
static inline uint64_t hak_report_unused(const struct hak_totals *totals)
{
    uint64_t all = totals->superslab_bytes;
    return all > totals->used_bytes ? all - totals->used_bytes : 0;
}

/* Prints every figure on a line of its own to fd. Allocates nothing. */
void hak_report_text(int fd) __attribute__((cold));

/* Writes the figures as XML in the manner of glibc's malloc_info. False on a write error. */
bool hak_report_xml(FILE *stream) __attribute__((cold));

#endif
