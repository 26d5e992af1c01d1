/*
 * After a test, with every thread of it gone: nothing that was freed may still count as used.
 */
#ifndef HAKMEM_TESTS_SETTLE_H
#define HAKMEM_TESTS_SETTLE_H

#include "support/api.h"

static inline uint64_t bytes_in_use(void)
{
    struct hakmem_stats stats = {.size = sizeof stats};
    CHECK(hakmem_stats_get(&stats) == 0);
    return stats.used_bytes + stats.large_bytes;
}

/*
 * before: bytes_in_use() when the test began. The slack is what the thread that checks may still
 * have in its own caches.
 */
static inline void check_settled(uint64_t before)
{
    enum { SLACK = 2 << 20 };
    uint64_t now = bytes_in_use();
    CHECK_THAT(now <= before + SLACK, "%llu bytes in use before, %llu after",
               (unsigned long long)before, (unsigned long long)now);
}

#endif
