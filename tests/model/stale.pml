/*
 * A heap whose vector has a slab that others may steal at any moment: which looks at it and which
 * writes to it are safe without a claim. Threads as in refill.pml, one class, one slab.
 */

#define FRESH_SLABS 1
#define HEAP_IDS 6
#define INITIAL_IDS 6
#define CLASSES 1
#include "protocol.pml"
#include "thread.pml"

active [3] proctype thread()
{
    byte me = (_pid < 2 -> _pid + 1 : 0);
    byte mag, map, vec, s, c, bits, seen;

idle:
    do
    :: thread_pop()
    :: thread_refill()
    :: thread_free()
    :: thread_flush()
    :: thread_drain()
    :: thread_move_item()
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
    :: atomic { AT_REST(0) && AT_REST(1) && AT_REST(2) -> assert(ALL_SLABS_AT_REST) }
    od
}
