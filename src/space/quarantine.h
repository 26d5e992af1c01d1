/* Units of destroyed user heaps, kept from being used again for a while: until then their words in the
 * unit map say HAK_WORD_GONE, so a pointer into them that is freed or passed to realloc is found out. The
 * last QUARANTINE_UNITS units are kept, without memory behind them.
 *
 * Called by whoever destroys a heap; thread-safe. The lock is held across the purge of what came in, so
 * that nothing leaves meanwhile: only other destroyers and a fork wait for it.
 */
#ifndef HAK_SPACE_QUARANTINE_H
#define HAK_SPACE_QUARANTINE_H

#include "space/layout.h"

/* Takes n units of one slab or run, whose state is 0 and of which no block is in use; what has been
 * here longest makes room and goes to the shared pool. */
void hak_quarantine_put(struct hak_slab *first, unsigned n);

/* Gives the memory of all units back to the system. */
void hak_quarantine_purge(void);

/* Gives all units to the shared pool. */
void hak_quarantine_flush(void);

void hak_quarantine_fork_prepare(void);
void hak_quarantine_fork_release(void);
void hak_quarantine_fork_child(void);

#endif
