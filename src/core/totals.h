/* The figures of the process, derived from the slabs at read time; nothing is counted while it runs
 * but what the slow paths count under their locks. Bytes unless named otherwise. */
#ifndef HAK_CORE_TOTALS_H
#define HAK_CORE_TOTALS_H

#include <stdint.h>

struct hak_totals {
    uint64_t superslab_bytes; /* SuperSlabs that hold a unit in use */
    uint64_t slab_bytes;      /* slabs and page runs */
    uint64_t used_bytes;      /* blocks in use, those in thread caches included */
    uint64_t large_bytes;
    uint64_t large_count;
    uint64_t metadata_bytes;
    uint64_t heaps_live, heaps_made;
    uint64_t superslabs, superslabs_peak; /* mapped now; at the most */
    uint64_t units_free;
    uint64_t purges, purged_bytes;
    uint64_t slabs_made;
    uint64_t unreached_bytes; /* in caches of other threads' heaps */
};

/* Thread-safe; a moment's view that need not be consistent while other threads allocate. */
void hak_totals_read(struct hak_totals *out);

#endif
