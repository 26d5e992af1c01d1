/*
 * Outboxes and inboxes on top of all that exit.pml has: parcels that are handed over while heaps die,
 * their slabs are adopted and their ids come back. One outbox a thread; its parcel may be handed over
 * at any moment, and any thread may find the inbox full.
 *
 * A life's number is only ever compared with the present one, so a parcel has one bit for it: whether
 * that life goes on. A new life clears it wherever a parcel for the heap is.
 */

#define INITIAL_IDS 0
#define CLASSES 1
#include "protocol.pml"

typedef outbox_t {
    unsigned owner : 2;                     /* NOBODY: no outbox */
    unsigned blocks : 4;
    unsigned alive : 1;                     /* the owner's life that was read goes on */
    unsigned next_alive : 1                 /* the same for the life of the next parcel */
};

typedef inbox_t {
    unsigned open : 1;
    unsigned blocks : 4;                    /* in parcels of the present life */
    unsigned old_blocks : 4                 /* in parcels of earlier ones */
};

outbox_t out[THREADS];
inbox_t in[3];                              /* by heap id */
byte deferred[THREADS];                     /* the deferred maps */

#define map deferred[_pid]
#include "thread.pml"

#define OUT out[_pid]
#define IN_ANY(h) (in[h].blocks | in[h].old_blocks)

/* The word of a slab names another heap. */
#define OTHERS(s) ((slab[s].unit_map == 1 || slab[s].unit_map == 2) && slab[s].unit_map != me)

inline hak_inbox_start_life(h)
{
    in[h].old_blocks = in[h].old_blocks | in[h].blocks;
    in[h].blocks = 0;
    out[0].alive = out[0].alive && out[0].owner != h;
    out[1].alive = out[1].alive && out[1].owner != h;
    out[0].next_alive = out[0].next_alive && out[0].owner != h;
    out[1].next_alive = out[1].next_alive && out[1].owner != h;
}

inline inbox_birth()
{
    atomic { me == 0 && FREE_IDS != 0 ->
        pick(FREE_IDS, bits);
        live_ids = live_ids | bits;
        me = ID_OF(bits);
        bits = 0;
#ifndef MUT_LIFE_AT_EXIT
        hak_inbox_start_life(me);
#endif
    }
}

/* free of a block whose owner has an outbox, or gets one. */
inline inbox_free()
{
    atomic { prog != 0 && me != 0 ->
        pick(prog, bits);
        if
        :: OTHERS(SLAB_OF(bits)) && (OUT.owner == NOBODY || OUT.owner == slab[SLAB_OF(bits)].unit_map) ->
            s = SLAB_OF(bits);
            seen = slab[s].unit_map;
            prog = prog & ~bits
        :: else -> bits = 0
        fi
    }
    if
    :: bits == 0
    :: bits != 0 && OUT.owner == seen ->
       d_step { OUT.blocks = OUT.blocks | bits }
    :: bits != 0 && OUT.owner == NOBODY ->
       d_step { OUT.owner = seen; OUT.alive = 1 }      /* reads the life */
       d_step {
#ifdef MUT_OPEN_NO_LOOK
           OUT.blocks = bits;
#else
           if
           :: slab[s].unit_map == seen -> OUT.blocks = bits
           :: else -> map = map | bits; OUT.owner = NOBODY; OUT.alive = 0
           fi
#endif
       }
    fi;
    atomic { bits = 0; seen = 0; s = 0 }
}

/* Hands the parcel over, or defers its blocks if the inbox is closed or full. The outbox stays for the
 * next parcel, or is given up. */
inline hak_outbox_full()
{
    atomic { OUT.owner != NOBODY && OUT.blocks != 0 -> OUT.next_alive = 1 }     /* reads the life */
#ifdef MUT_PUSH_NOT_ATOMIC
    d_step { seen = in[OUT.owner].open }
#define INBOX_OPEN seen
#else
#define INBOX_OPEN in[OUT.owner].open
#endif
    atomic {
        if
        :: INBOX_OPEN && OUT.alive -> in[OUT.owner].blocks = in[OUT.owner].blocks | OUT.blocks
        :: INBOX_OPEN && !OUT.alive -> in[OUT.owner].old_blocks = in[OUT.owner].old_blocks | OUT.blocks
        :: map = map | OUT.blocks
        fi;
        OUT.blocks = 0;
        seen = 0;
        if
        :: OUT.alive = OUT.next_alive
        :: OUT.owner = NOBODY; OUT.alive = 0
        fi;
        OUT.next_alive = 0
    }
}

inline hak_outbox_close()
{
    atomic { OUT.owner != NOBODY && OUT.blocks == 0 -> OUT.owner = NOBODY; OUT.alive = 0 }
}

/* The owner takes all parcels, and trusts those of its present life. */
inline hak_inbox_receive()
{
    atomic { me != 0 && (IN_ANY(me) != 0 || !in[me].open) ->
        bits = in[me].blocks;
#ifdef MUT_TRUST_ANY_LIFE
        bits = bits | in[me].old_blocks;
#else
        map = map | in[me].old_blocks;
#endif
        in[me].blocks = 0;
        in[me].old_blocks = 0;
        in[me].open = 1;
    }
    d_step {
        assert(OF_SLAB(bits, 0) == 0 || (slab[0].owner == me && slab[0].kind == HAK_SLAB_OWNED));
        assert(OF_SLAB(bits, 1) == 0 || (slab[1].owner == me && slab[1].kind == HAK_SLAB_OWNED));
        mag = mag | bits;
        cached = cached | bits;
        bits = 0;
    }
}

/* By the owner, at exit and in a trim; by a sender that finds the inbox full. */
inline hak_inbox_close(h)
{
    atomic { me != 0 && in[h].open -> bits = IN_ANY(h) }
#ifdef MUT_CLOSE_NOT_ATOMIC
    d_step { map = map | bits; bits = 0; seen = IN_ANY(h) }
    d_step { in[h].open = 0; in[h].blocks = 0; in[h].old_blocks = 0; seen = 0 }
#else
    d_step {
        map = map | IN_ANY(h);
        bits = 0;
        in[h].open = 0;
        in[h].blocks = 0;
        in[h].old_blocks = 0;
    }
#endif
}

#ifdef MUT_EXIT_NO_CLOSE
#define CLOSED(h) true
#else
#define CLOSED(h) (!in[h].open)
#endif

inline inbox_exit()
{
    atomic { me != 0 && CLOSED(me) && OUT.owner == NOBODY && mag == 0 && map == 0 -> skip
#ifdef MUT_LIFE_AT_EXIT
        hak_inbox_start_life(me);
#endif
    }
    thread_exit()
}

active [THREADS] proctype thread()
{
    byte me, mag, vec, s, c, bits, seen;

idle:
    do
    :: inbox_birth()
    :: inbox_exit()
    :: thread_pop()
    :: thread_refill()
    :: thread_free()
    :: thread_flush()
    :: thread_drain()
    :: inbox_free()
    :: hak_outbox_full()
    :: hak_outbox_close()
    :: hak_inbox_receive()
    :: hak_inbox_close(1)
    :: hak_inbox_close(2)
    :: goto stop
    od;
stop:
end_stop:
    false
}

#define WAITING (out[0].blocks | out[1].blocks | IN_ANY(1) | IN_ANY(2) | deferred[0] | deferred[1])
#define IS_LIVE(h) (live_ids & (1 << (h)))

active proctype monitor()
{
end_monitor:
    do
    :: atomic { AT_REST(0) && AT_REST(1) ->
           assert(ALL_SLABS_AT_REST);
           assert(held == (prog | cached | WAITING));               /* no block is lost */
           assert(IS_LIVE(1) || (!in[1].open && IN_ANY(1) == 0));   /* none waits for nobody */
           assert(IS_LIVE(2) || (!in[2].open && IN_ANY(2) == 0))
       }
    od
}
