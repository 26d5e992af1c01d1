/* When free memory goes back to the system: a pure policy, no state, no clock of its own.
 *
 * A unit waits decay_ms after the SuperSlab's last free before it is purged, so that memory in
 * steady use is never given back and faulted in again, and a burst is gone after that time.
 */
#ifndef HAK_SPACE_DECAY_H
#define HAK_SPACE_DECAY_H

#include "space/layout.h"

/* Whether units freed last at freed_ms are due at now_ms. decay_ms < 0: never; 0: at once. Correct
 * across the wrap of the millisecond clock. */
HAK_INLINE bool hak_decay_due(uint32_t freed_ms, uint32_t now_ms, int64_t decay_ms)
{
    uint32_t age = now_ms - freed_ms;
    bool later = age > UINT32_MAX - 60000; /* freed by another thread since the clock was read */
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
