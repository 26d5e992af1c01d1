/* Whether memory never used before is taken so fast that it should be there before it is touched: a pure
 * policy, no lock, no clock, no system call. Faults for whole slabs cost less than one for each page; but
 * what a slow program has not touched yet it may never touch.
 */
#ifndef HAK_SPACE_GROWTH_H
#define HAK_SPACE_GROWTH_H

#include "base/attr.h"

enum {
    HAK_GROWTH_MS = 8,     /* an interval */
    HAK_GROWTH_UNITS = 32, /* taken in an interval that make it a fast one: 256 MiB a second */
};

/* All calls under one lock. */
struct hak_growth {
    uint32_t started_ms; /* the present interval */
    uint32_t units;      /* taken in it */
    bool fast;           /* the one before was */
};

/* Notes n fresh units taken at now_ms; whether they should be populated. Correct across the wrap of the
 * clock. */
HAK_INLINE bool hak_growth_note(struct hak_growth *g, uint32_t now_ms, uint32_t n)
{
    uint32_t passed = now_ms - g->started_ms;
    if (passed >= HAK_GROWTH_MS) {
        g->fast = passed < 2 * HAK_GROWTH_MS && g->units >= HAK_GROWTH_UNITS;
        g->started_ms = now_ms;
        g->units = 0;
    }
    g->units += n;
    return g->fast;
}

#endif
