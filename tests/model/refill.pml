/*
 * Refill, flush, remote free, drain and steal. HEAPS of the THREADS have a heap for ever; the
 * others never have one and free remotely without a map, like a thread after its exit hook.
 */

#define FRESH_SLABS 3                       /* a mask: both slabs */
#define HEAP_IDS 6                          /* a mask: ids 1 and 2 */
#define INITIAL_IDS ((2 << HEAPS) - 2)
#include "protocol.pml"
#include "thread.pml"

active [THREADS] proctype thread()
{
    byte me = (_pid < HEAPS -> _pid + 1 : 0);
    byte mag, map, vec, s, c, bits, seen;

idle:
    do
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
