/* An operating system for tests of src/space: memory is real, the clock stands until it is set, and
 * what was asked for is counted. */
#ifndef HAKMEM_TESTS_FAKE_OS_H
#define HAKMEM_TESTS_FAKE_OS_H

#include "os/os.h"

struct fake_os {
    uint32_t now_ms;
    bool refuse_purge;
    size_t purges, purged_bytes, lazy_purges;
    void *last_purged;
    int node; /* of the calling thread, or -1 */
    size_t populated_bytes;
    size_t places;
    void *last_placed;
    size_t last_placed_bytes;
    int last_node;
};
extern struct fake_os fake_os;

#endif
