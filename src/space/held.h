/* The bytes that the process holds through the allocator, and the limits on them: units in use or dirty,
 * large blocks, cached mappings. Metadata is not counted; it is a few percent of that. Threads that
 * allocate at the same moment may pass the hard limit by what they ask for together.
 */
#ifndef HAK_SPACE_HELD_H
#define HAK_SPACE_HELD_H

#include "base/atomics.h"
#include "base/attr.h"
#include "config/options.h"

extern _Atomic size_t hak_held_bytes;

/* change: wraps for what is less. */
HAK_INLINE void hak_held_add(size_t change)
{
    atomic_fetch_add_explicit(&hak_held_bytes, change, memory_order_relaxed);
}

/* Whether the hard limit lets so much more be held. */
HAK_INLINE bool hak_held_allows(size_t more)
{
    size_t limit = hak_options.hard_limit, held = hak_load_relaxed(&hak_held_bytes);
    return limit == 0 || (held <= limit && more <= limit - held);
}

/* Whether there is more than the soft limit says. */
HAK_INLINE bool hak_held_too_much(void)
{
    size_t limit = hak_options.soft_limit;
    return limit != 0 && hak_load_relaxed(&hak_held_bytes) > limit;
}

#endif
