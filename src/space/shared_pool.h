/* The process's stock of units and orphaned slabs. Serves the stages behind a heap's warm pool:
 *   1  an orphan of the class: a slab with live blocks whose thread has exited (adoption)
 *   2  free units of SuperSlabs that are in use: those with memory behind them first, out of the
 *      fullest SuperSlab, and out of DRAINING and EMPTY ones only when the HOT ones have none
 *   3  a new SuperSlab
 * One lock, held for tens of instructions and never across a system call of the purge.
 */
#ifndef HAK_SPACE_SHARED_POOL_H
#define HAK_SPACE_SHARED_POOL_H

#include "space/region.h"

enum { HAK_POOL_CLASSES = 128 };

struct hak_pool_totals {
    uint64_t superslabs, superslabs_peak, superslabs_empty;
    uint64_t units_free, units_dirty;
    uint64_t purges, purged_bytes;
};

void hak_pool_acquire(void); /* the lock; src/README.md has its rank */
void hak_pool_release(void);
void hak_pool_fork_child(void);

/* Stages 2 and 3: n contiguous units (1..16), the descriptor of the first. *zeroed tells whether
 * they read as zeros. NULL (ENOMEM) when memory is out. The caller sets their unit-map words and
 * descriptors. Takes the lock. */
struct hak_slab *hak_pool_take_units(unsigned n, enum hak_use use, bool *zeroed);

/* Gives n units back; their unit-map words are 0 by then. touched: memory may be behind them.
 * Takes the lock. */
void hak_pool_give_units(struct hak_slab *first, unsigned n, bool touched);

/* Extends the run of n units by more units behind it, if these are free. Takes the lock. */
bool hak_pool_extend_units(struct hak_slab *first, unsigned n, unsigned more);

/* The list of orphans of a size class. All three under the lock, which the caller holds. */
void hak_pool_push_orphan(struct hak_slab *slab);
struct hak_slab *hak_pool_first_orphan(unsigned size_class); /* the others by next */
void hak_pool_remove_orphan(struct hak_slab *slab);

/* One thread purges at a time, and no fork comes between: the purge lock, ranked before the pool's.
 * False when another thread has it and wait does not say to wait for it. */
bool hak_purge_begin(bool wait);
void hak_purge_end(void);

/* Purges what is due at now_ms, at most max_superslabs of them; all that is dirty if everything.
 * Returns the bytes given back; 0 at once when another thread purges, unless everything. Takes both locks,
 * that of the pool not across the system calls. */
size_t hak_pool_purge(uint32_t now_ms, unsigned max_superslabs, bool everything);

/* Whether hak_pool_purge has something due: one relaxed load, no lock. */
bool hak_pool_purge_pending(void);

/* Unmaps the SuperSlabs that are all free, for when address space is what is missing; they are mapped
 * again before a new one is taken. Returns the bytes. Takes the lock, also across system calls. */
size_t hak_pool_release_empty(void);

/* Takes back the advice for huge pages of a SuperSlab of which pages are to be purged, if wanted; whether it
 * has none now. Takes the lock. */
bool hak_pool_unhuge(struct hak_superslab *ss, bool wanted);

/* Units in use, about. No lock. */
uint32_t hak_pool_units_used(void);

/* How short of memory the system is, from 0 to 3: the decay is 2 to that power times as fast. */
void hak_pool_set_pressure(unsigned level);

/* The number of times that units came or went; wraps. No lock. */
uint32_t hak_pool_changes(void);

/* The alarm: there is something to give back and nobody who would. Raised only while it is armed. */
extern _Atomic uint32_t hak_pool_armed, hak_pool_alarm;

HAK_INLINE void hak_pool_raise(void)
{
    if (HAK_UNLIKELY(hak_load_relaxed(&hak_pool_armed)))
        hak_store_relaxed(&hak_pool_alarm, 1);
}

void hak_pool_totals_read(struct hak_pool_totals *out);

#endif
