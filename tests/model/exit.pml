/*
 * Birth, thread exit, adoption and reuse of heap ids, on top of all that refill.pml has. Threads
 * start without a heap. HEAP_IDS and FRESH_SLABS are masks: with HEAP_IDS 2 there is one id, so
 * that every birth reuses it; with FRESH_SLABS 1 there is one slab.
 */

#define INITIAL_IDS 0
#define CLASSES 1
#include "protocol.pml"
#include "thread.pml"

active [THREADS] proctype thread()
{
    byte me, mag, map, vec, s, c, bits, seen;

idle:
    do
    :: thread_birth()
    :: thread_exit()
    :: thread_pop()
    :: thread_refill()
    :: thread_free()
    :: thread_flush()
    :: thread_drain()
    :: goto stop
    od;
stop:
end_stop:
    false
}

active proctype monitor()
{
end_monitor:
    do
#if THREADS == 3
    :: atomic { AT_REST(0) && AT_REST(1) && AT_REST(2) -> assert(ALL_SLABS_AT_REST) }
#else
    :: atomic { AT_REST(0) && AT_REST(1) -> assert(ALL_SLABS_AT_REST) }
#endif
    od
}
