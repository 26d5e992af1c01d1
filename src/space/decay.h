/* When free memory goes back to the system: a pure policy, no lock, no clock, no system call.
 *
 * What is dirty and was needed by nobody during a whole interval is surplus. The interval is cut into
 * steps; for each of the last ones the least number of dirty units at any moment of it is kept. The
 * least of those is what stayed dirty all the time. So memory that is reused within the interval is
 * never given back, however often single units come and go, and what is beyond the demand goes even
 * while the heap is in churn, which a time since the last free would never allow.
 * (The low-water mark of a slab allocator's magazines over time: Bonwick and Adams, "Magazines and
 * Vmem", 2001, 3.4; here over a sliding window.)
 *
 * Bound: at any time, dirty <= what was taken within the last interval + slack + what became dirty
 * within the last interval. Where that is much more than is in use, the interval is a quarter.
 */
#ifndef HAK_SPACE_DECAY_H
#define HAK_SPACE_DECAY_H

#include "space/layout.h"

enum {
    HAK_DECAY_STEPS = 8,            /* of an interval */
    HAK_DECAY_SLACK = 8,            /* units that an active heap keeps beyond its demand, and */
    HAK_DECAY_SLACK_DIVISOR = 32,   /* this part of the units in use: demand is never quite steady */
    HAK_DECAY_MANY = 256,           /* dirty units that are never too many */
    HAK_DECAY_LATE_MS = 60000,      /* by which a thread may have read the clock earlier than another */
};

/* Owned by whoever counts the dirty units; all calls under his lock.
 *   low[i] <= the number of dirty units at every moment of step i */
struct hak_decay {
    uint32_t low[HAK_DECAY_STEPS + 1]; /* a ring: the present step and all whole ones */
    uint32_t step;                     /* the present one */
    uint32_t active;                   /* bit i: units came or went in the i-th step before it */
    uint32_t started_ms;               /* when the present step started */
};

/* Milliseconds of a step, for decay_ms >= 0. pressure: how many times faster than usual. */
HAK_INLINE uint32_t hak_decay_step_ms(int64_t decay_ms, uint32_t dirty, uint32_t used,
                                      uint32_t pressure)
{
    uint32_t step = (uint32_t)(decay_ms / HAK_DECAY_STEPS);
    if (dirty > HAK_DECAY_MANY && dirty / 2 > used)
        step /= 4;
    return pressure > 1 ? step / pressure : step;
}

/* Goes on to the step of now_ms; the number of dirty units has not changed since the last call.
 * Correct across the wrap of the clock and when another thread's now_ms was later. */
HAK_INLINE void hak_decay_advance(struct hak_decay *d, uint32_t now_ms, uint32_t step_ms,
                                  uint32_t dirty)
{
    uint32_t gone = now_ms - d->started_ms;
    if (gone > UINT32_MAX - HAK_DECAY_LATE_MS || gone < step_ms || gone == 0)
        return;
    uint32_t steps = step_ms == 0 ? UINT32_MAX : gone / step_ms;
    d->started_ms = steps > HAK_DECAY_STEPS ? now_ms : d->started_ms + steps * step_ms;
    for (uint32_t i = 0; i < steps && i <= HAK_DECAY_STEPS; i++) {
        d->step = (d->step + 1) % (HAK_DECAY_STEPS + 1);
        d->low[d->step] = dirty;
        d->active <<= 1;
    }
}

/* Notes that units came or went at the time of the last hak_decay_advance. */
HAK_INLINE void hak_decay_note(struct hak_decay *d, uint32_t dirty)
{
    d->active |= 1;
    if (dirty < d->low[d->step])
        d->low[d->step] = dirty;
}

/* How many units to give back now; used: units in use. */
HAK_INLINE uint32_t hak_decay_surplus(const struct hak_decay *d, uint32_t used)
{
    uint32_t least = d->low[0];
    for (unsigned i = 1; i <= HAK_DECAY_STEPS; i++)
        least = d->low[i] < least ? d->low[i] : least;
    if ((d->active & ((2u << HAK_DECAY_STEPS) - 1)) == 0)
        return least;
    uint32_t slack = HAK_DECAY_SLACK + used / HAK_DECAY_SLACK_DIVISOR;
    return least > slack ? least - slack : 0;
}

/* Accounts for n units that are dirty no more because they were given back. */
HAK_INLINE void hak_decay_purged(struct hak_decay *d, uint32_t n)
{
    for (unsigned i = 0; i <= HAK_DECAY_STEPS; i++)
        d->low[i] -= d->low[i] < n ? d->low[i] : n;
}

/* Whether a mapping freed at freed_ms is due at now_ms. decay_ms < 0: never; 0: at once. Correct
 * across the wrap of the millisecond clock. */
HAK_INLINE bool hak_decay_due(uint32_t freed_ms, uint32_t now_ms, int64_t decay_ms)
{
    uint32_t age = now_ms - freed_ms;
    bool later = age > UINT32_MAX - HAK_DECAY_LATE_MS; /* freed by another thread since the clock was read */
    return decay_ms >= 0 && (later ? decay_ms == 0 : age >= (uint64_t)decay_ms);
}

/* The tier of a SuperSlab with so many free units, given the tier that it has. Draining starts at
 * three quarters free and ends, by being allocated from, at half: the gap keeps a SuperSlab from
 * changing at every step. */
HAK_INLINE enum hak_tier hak_decay_tier(enum hak_tier now, unsigned free_units, unsigned units)
{
    if (free_units == units)
        return HAK_TIER_EMPTY;
    if (free_units * 4 >= units * 3)
        return HAK_TIER_DRAINING;
    if (free_units * 2 > units && now == HAK_TIER_DRAINING)
        return HAK_TIER_DRAINING;
    return HAK_TIER_HOT;
}

#endif
