/* The scavenger: gives back what no thread comes by to give back, from a thread of its own that is
 * started when there is enough of it, and sleeps untimed when there is nothing to do.
 *
 *   OFF -> NONE            the library's constructors have run, and the option is not off
 *   NONE -> STARTING       the alarm was seen by a thread with a heap, outside all locks
 *   STARTING -> AWAKE      or REFUSED: then threads go on purging as they come by, which is all there is;
 *   NONE -> REFUSED        an allocation failed
 *   AWAKE <-> ASLEEP       nothing changed for more than the whole time; the alarm wakes it
 *   AWAKE -> NONE          no thread has a heap any more, so it may be all that keeps the process
 *   any -> NONE            in the child of a fork
 */
#ifndef HAK_CORE_SCAVENGER_H
#define HAK_CORE_SCAVENGER_H

#include "space/shared_pool.h"

/* Lets it start. Called once, by a constructor, when the options are loaded. */
void hak_scavenger_allow(void);

/* Starts or wakes it. */
void hak_scavenger_call(void);

/* Raises the alarm when it sleeps, or when there may be much to give back inside slabs in use. */
void hak_scavenger_tick(void);

/* Memory ran out: a thread that is not there yet would take of the little that is left. */
void hak_scavenger_refuse(void);

/* Ends it. */
void hak_scavenger_stop(void);

void hak_scavenger_fork_child(void);

/* In any thread with a heap, outside all locks, and where its own slow path is done. */
HAK_INLINE void hak_scavenger_check(void)
{
    if (HAK_UNLIKELY(hak_load_relaxed(&hak_pool_alarm)))
        hak_scavenger_call();
}

/* Purges inside slabs in use, at once and everywhere. Returns the bytes of pages, which may have had no
 * memory behind them. */
size_t hak_scavenge_slabs_now(void);

/* Gives back free units and cached mappings, if they are worth a system call each. */
void hak_scavenge_free_now(void);

/* What the scavenger's thread does at each of its wakes; true when there was a change. For tests too. */
bool hak_scavenger_pass(uint32_t now_ms);

#endif
