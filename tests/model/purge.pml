/*
 * Purge against all that exit.pml has: two threads that are born, exit and adopt, and PURGERS that
 * purge any slab at any time. With HEAP_IDS 2 one thread at a time has a heap; the other frees
 * remotely. FRESH_SLABS is 1 or 3, a mask like HEAP_IDS.
 */

#define INITIAL_IDS 0
#define CLASSES 1
#include "protocol.pml"
#include "thread.pml"

active [2] proctype thread()
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

active [PURGERS] proctype purger()
{
    byte s, bits, seen;

idle:
    do
    :: atomic { true ->
           if
           :: s = 0
           :: FRESH_SLABS == 3 -> s = 1
           fi
       }
       if
       :: hak_slab_purge_owned(s, bits, seen)
       :: hak_slab_purge_orphan(s, bits, seen)
       :: hak_pool_purge(s)
       fi;
       atomic { s = 0; seen = 0 }
    :: goto stop
    od;
stop:
end_stop:
    false
}

#define PURGER_AT_REST(t) (purger[t]@idle || purger[t]@stop || purger[t]@end_stop)

active proctype monitor()
{
end_monitor:
    do
    :: atomic { AT_REST(0) && AT_REST(1) && PURGER_AT_REST(2) && PURGER_AT_REST(1 + PURGERS)
           -> assert(ALL_SLABS_AT_REST) }
    od
}
