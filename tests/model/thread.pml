/*
 * What a thread does, from the outside: each inline here is one option of its loop. A heap is the
 * thread's locals me (its id, 0: a thread without a heap), mag (magazines), map (deferred map) and
 * vec (vector of slabs, by class). s, c, bits and seen are scratch and zero between operations.
 */

/* Between operations, or gone to sleep for ever. */
#define AT_REST(t) (thread[t]@idle || thread[t]@stop || thread[t]@end_stop)

#define MAG_HAS(s, c) (OF_SLAB(mag, s) != 0 && slab[s].class == (c))
#define MAG_EMPTY(c) (!MAG_HAS(0, c) && !MAG_HAS(1, c))

/* malloc from the magazine. */
inline thread_pop()
{
    atomic { mag != 0 ->
        pick(mag, bits);
        mag = mag & ~bits;
        cached = cached & ~bits;
        prog = prog | bits;
        bits = 0;
    }
}

/* malloc with an empty magazine: one of the heap's slabs (whichever), or one from the pool. */
inline thread_refill()
{
    atomic { me != 0 && (MAG_EMPTY(0) || (CLASSES == 2 && MAG_EMPTY(1))) ->
        if
        :: MAG_EMPTY(0) -> c = 0
        :: CLASSES == 2 && MAG_EMPTY(1) -> c = 1
        fi;
        if
        :: VEC_OF(vec, c) != 0 -> pick(VEC_OF(vec, c), seen); s = seen - 1; seen = 1
        :: seen = 0
        fi;
    }
    if
    :: seen -> hak_slab_claim(s, c, seen)
    :: else -> hak_slab_acquire(s, c, seen)
    fi;
    if
    :: seen -> hak_slab_take(s, c, bits, seen)
    :: else
    fi;
    atomic { s = 0; c = 0 }
}

/* free of any block that the program holds, whoever allocated it. */
inline thread_free()
{
    atomic { prog != 0 ->
        pick(prog, bits);
        prog = prog & ~bits;
        s = SLAB_OF(bits);
    }
    atomic {
        if
        :: slab[s].unit_map == me && me != 0 ->
            /* A word that matches is never left over from an earlier heap of the same id. */
            assert(slab[s].owner == me && slab[s].kind == HAK_SLAB_OWNED);
            mag = mag | bits;
            cached = cached | bits;
            bits = 0
        :: else ->
            if
            :: me != 0 -> map = map | bits; bits = 0
            :: else -> bits = OF_SLAB(bits, s)
            fi
        fi
    }
    if
    :: bits != 0 -> give_back(s, bits, seen)   /* a thread without a heap has no map */
    :: else
    fi;
    atomic { seen = 0; s = 0 }
}

inline choose_slab(mask)
{
    if
    :: OF_SLAB(mask, 0) != 0 -> s = 0
    :: OF_SLAB(mask, 1) != 0 -> s = 1
    fi;
    bits = OF_SLAB(mask, s);
}

inline thread_flush()
{
    atomic { mag != 0 ->
        choose_slab(mag);
        if
        :: skip
        :: bits == ALL_FREE -> bits = 1         /* the oldest half stays */
        fi;
        mag = mag & ~TO_MASK(bits, s);
        cached = cached & ~TO_MASK(bits, s);
    }
    hak_magazine_flush(s, bits, seen);
    atomic { seen = 0; s = 0 }
}

inline thread_drain()
{
    atomic { map != 0 ->
        choose_slab(map);
        map = map & ~TO_MASK(bits, s);
    }
    give_back(s, bits, seen);
    atomic { seen = 0; s = 0 }
}

/* Birth: any id that is not in use. */
inline thread_birth()
{
    atomic { me == 0 && FREE_IDS != 0 ->
        pick(FREE_IDS, bits);
        live_ids = live_ids | bits;
        me = ID_OF(bits);
        bits = 0;
    }
}

/* Thread exit, once flushes and drains have emptied the magazines and the map. */
inline thread_exit()
{
    atomic { me != 0 && mag == 0 && map == 0 -> s = 0 }
    do
    :: s < 2 && VEC_ANY(vec, s) -> hak_slab_abandon(s); s++
    :: s < 2 && !VEC_ANY(vec, s) -> s++
    :: s == 2 -> break
    od;
    atomic {
        assert(slab[0].owner != me && slab[1].owner != me);
        live_ids = live_ids & ~(1 << me);
        me = 0;
        vec = 0;
        s = 0;
    }
}

/* ---- looking at a slab of the vector that others may steal at any moment --------------------- */

/* Moves an item of the vector, whose slab may be stolen at any moment: written under a claim. */
inline thread_move_item()
{
    atomic { VEC_OF(vec, 0) != 0 -> pick(VEC_OF(vec, 0), seen); s = seen - 1; seen = 0 }
#ifdef MUT_POSITION_UNCLAIMED
    if
    :: d_step { slab[s].owner == me -> seen = 0 };
       d_step { slab[s].position = me }
    :: d_step { slab[s].owner != me -> vec = vec & ~VEC_BIT(0, s) }
    fi;
#else
    hak_slab_claim(s, 0, seen);
    if
    :: seen != 0 ->
       d_step { slab[s].position = me };
       d_step {
           slab[s].busy = 0;
           slab[s].used = slab[s].used - K;
           slab[s].kept = (slab[s].used == 0);
       }
    :: else
    fi;
#endif
    atomic { seen = 0; s = 0 }
}
