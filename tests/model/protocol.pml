/*
 * The ownership protocol of a slab, in the names of the code. refill.pml, exit.pml, purge.pml and
 * stale.pml include it and put a few threads around it. docs/protocol.md is the same in prose.
 *
 * Granularity. An `atomic` or `d_step` holds at most one access that another thread can tell apart:
 * one operation on the state word, or one on remote_bits, free_bits or the unit map. Purely local
 * steps, ghost variables and accesses that the pool lock or the busy bit protects are glued to it.
 * A CAS loop that reloads after a failure is one step, with its condition tested at the moment of
 * its success: the loads before it have no effect.
 *
 * A mutant is one seeded bug, chosen by -DMUT_...; run.py checks that each of them is found.
 */

#define BLOCKS 2                            /* in each of at most two slabs */
#define K 2                                 /* blocks that a refill asks for */

#ifdef MUT_USED_NARROW
#define USED_LIMIT (BLOCKS + K)
#else
#define USED_LIMIT 15                       /* of the field below */
#endif

#define HAK_SLAB_NONE 0
#define HAK_SLAB_OWNED 1
#define HAK_SLAB_ORPHAN 2

#define NOBODY 0                            /* owner and unit map word of no slab */
#define ORPHANED 3                          /* unit map word of an orphan; heap ids are 1 and 2 */

#define ALL_FREE 3                          /* both bits of a slab */
#define BLOCK_BITS(s) (ALL_FREE << ((s) * BLOCKS))
#define OF_SLAB(mask, s) (((mask) >> ((s) * BLOCKS)) & ALL_FREE)
#define TO_MASK(bits, s) ((bits) << ((s) * BLOCKS))
#define COUNT(bits) (((bits) & 1) + (((bits) >> 1) & 1))
#define LOWEST(mask) ((mask) & (0 - (mask)))
#define ABOVE(mask, bit) ((mask) & ~(2 * (bit) - 1))
#define SLAB_OF(bit) ((bit) > ALL_FREE -> 1 : 0)
#define VEC_BIT(c, s) (1 << (2 * (c) + (s)))
#define VEC_OF(vec, c) (((vec) >> (2 * (c))) & 3)
#define VEC_ANY(vec, s) ((vec) & (VEC_BIT(0, s) | VEC_BIT(1, s)))

typedef slab_t {
    unsigned owner : 2;                     /* state word: owner, used, kind, busy */
    unsigned used : 4;
    unsigned kind : 2;
    unsigned busy : 1;
    unsigned class : 1;
    unsigned free_bits : 2;
    unsigned remote_bits : 2;
    unsigned unit_map : 2;
    unsigned position : 2;                  /* in a vector; here just: who wrote it last */
    unsigned kept : 1                       /* ghost: its owner saw used == 0 and kept it */
};

slab_t slab[2];

bit pool_lock;
byte pool_units = FRESH_SLABS;              /* slabs whose units the pool has to give */
byte pool_orphan;                           /* slabs in the list of orphans */
byte live_ids = INITIAL_IDS;                /* bit h: heap id h is in use */
byte prog;                                  /* the program's blocks: any thread frees any */

/* Ghost: every block that is in a magazine, in a deferred map, in flight or in the program. */
byte held;

/* The blocks in all magazines; of a mid slab this is its bitmap of cached blocks. */
byte cached;

#define HELD(s) OF_SLAB(held, s)
#define USED_BOUNDS_HELD(s) (slab[s].used >= COUNT(HELD(s)))

/* What must be true of a slab whenever no thread is inside an operation. */
#define SLAB_AT_REST(s) ( \
    slab[s].used == COUNT(HELD(s)) && !slab[s].busy \
    && (slab[s].kind == HAK_SLAB_NONE \
        || ((slab[s].free_bits | slab[s].remote_bits) == (ALL_FREE & ~HELD(s)) \
            && (slab[s].free_bits & slab[s].remote_bits) == 0)) \
    && (slab[s].kind != HAK_SLAB_NONE || (slab[s].owner == NOBODY && slab[s].used == 0 \
        && slab[s].unit_map == NOBODY && (pool_units & (1 << s)) && !(pool_orphan & (1 << s)))) \
    && (slab[s].kind != HAK_SLAB_ORPHAN || (slab[s].owner == NOBODY && slab[s].used > 0 \
        && slab[s].unit_map == ORPHANED && (pool_orphan & (1 << s)) && !(pool_units & (1 << s)))) \
    && (slab[s].kind != HAK_SLAB_OWNED || ((live_ids & (1 << slab[s].owner)) \
        && slab[s].unit_map == slab[s].owner && slab[s].position == slab[s].owner \
        && !((pool_units | pool_orphan) & (1 << s)) \
        && (slab[s].used > 0 || slab[s].kept))))

#define ALL_SLABS_AT_REST (SLAB_AT_REST(0) && (FRESH_SLABS == 1 || SLAB_AT_REST(1)))

/* ---- helpers of the models, not of the protocol --------------------------------------------- */

/* Any one bit of a mask that is not zero. */
inline pick(mask, bit_)
{
    bit_ = LOWEST(mask);
    do
    :: break
    :: ABOVE(mask, bit_) != 0 -> bit_ = LOWEST(ABOVE(mask, bit_))
    od
}

inline lock_pool()
{
    atomic { !pool_lock -> pool_lock = 1 }
}

/* ---- handing on a slab that became empty ---------------------------------------------------- */

/* Gives the units of a slab that was taken out of use to the pool. No list has it yet. */
inline hak_slab_retire(s)
{
#ifdef MUT_POOL_BEFORE_MAP
    atomic { !pool_lock -> pool_units = pool_units | (1 << s) }
    d_step { slab[s].unit_map = NOBODY }
#else
    d_step { slab[s].unit_map = NOBODY };
    atomic { !pool_lock -> pool_units = pool_units | (1 << s) }
#endif
}

#if defined(MUT_STEAL_NO_RECHECK)
#define MAY_STEAL(s) true
#elif defined(MUT_STEAL_BUSY)
#define MAY_STEAL(s) (slab[s].kind == HAK_SLAB_OWNED && slab[s].used == 0)
#else
#define MAY_STEAL(s) (slab[s].kind == HAK_SLAB_OWNED && slab[s].used == 0 && !slab[s].busy)
#endif

/* CAS {any owner, OWNED, used 0, not busy} -> {NONE}. The winner alone retires it. */
inline hak_slab_steal(s)
{
    if
    :: d_step { MAY_STEAL(s) ->
           assert(HELD(s) == 0);
           slab[s].kind = HAK_SLAB_NONE;
           slab[s].owner = NOBODY;
           slab[s].kept = 0;
       }
       hak_slab_retire(s)
    :: d_step { !MAY_STEAL(s) -> skip }
    fi
}

#ifdef MUT_ORPHAN_ZERO_NO_LOCK
#define LOCK_FOR_ORPHAN skip
#define UNLOCK_FOR_ORPHAN skip
#else
#define LOCK_FOR_ORPHAN lock_pool()
#define UNLOCK_FOR_ORPHAN pool_lock = 0
#endif

/* An orphan was seen with used 0: re-check under the pool lock, unlink it, take it out of use. */
inline hak_slab_emptied_orphan(s)
{
    LOCK_FOR_ORPHAN;
    if
    :: d_step { slab[s].kind == HAK_SLAB_ORPHAN && slab[s].used == 0 && !slab[s].busy ->
           assert(HELD(s) == 0);
           assert(pool_orphan & (1 << s));
           pool_orphan = pool_orphan & ~(1 << s);
           slab[s].kind = HAK_SLAB_NONE;
           UNLOCK_FOR_ORPHAN;
       }
       hak_slab_retire(s)
    :: d_step { !(slab[s].kind == HAK_SLAB_ORPHAN && slab[s].used == 0 && !slab[s].busy) ->
           UNLOCK_FOR_ORPHAN;
       }
    fi
}

/* `seen` is the kind that the operation saw which brought used to zero; NONE: it was not zero. */
inline hak_slab_emptied(s, seen)
{
    if
    :: seen == HAK_SLAB_OWNED -> hak_slab_steal(s)
    :: seen == HAK_SLAB_ORPHAN -> hak_slab_emptied_orphan(s)
    :: else
    fi
}

/* ---- free: the slow half of it -------------------------------------------------------------- */

/* A slab's word of a deferred map, or one block of a thread without a heap: OR, then subtract. */
inline give_back(s, bits, seen)
{
#ifdef MUT_SUB_BEFORE_OR
    d_step {
        slab[s].used = slab[s].used - COUNT(bits);
        seen = (slab[s].used == 0 && !slab[s].busy -> slab[s].kind : HAK_SLAB_NONE);
    }
    d_step {
        assert(((slab[s].remote_bits | slab[s].free_bits) & bits) == 0);
        slab[s].remote_bits = slab[s].remote_bits | bits;
        held = held & ~TO_MASK(bits, s);
        bits = 0;
    }
#else
    d_step {
        /* No false alarm of the double-free check. */
        assert(((slab[s].remote_bits | slab[s].free_bits) & bits) == 0);
        assert((HELD(s) & bits) == bits);
        slab[s].remote_bits = slab[s].remote_bits | bits;
        held = held & ~TO_MASK(bits, s);
    }
    d_step {
        assert(slab[s].used >= COUNT(bits) && slab[s].kind != HAK_SLAB_NONE);
        slab[s].used = slab[s].used - COUNT(bits);
        assert(USED_BOUNDS_HELD(s));
        seen = (slab[s].used == 0 && !slab[s].busy -> slab[s].kind : HAK_SLAB_NONE);
        slab[s].kept = 0;
        bits = 0;
    }
#endif
    hak_slab_emptied(s, seen)
}

/* The owner gives blocks back: no busy bit, since it only adds free bits. */
inline hak_magazine_flush(s, bits, seen)
{
    d_step {
        assert(((slab[s].remote_bits | slab[s].free_bits) & bits) == 0);
        assert((HELD(s) & bits) == bits);
        slab[s].free_bits = slab[s].free_bits | bits;
        held = held & ~TO_MASK(bits, s);
    }
    atomic {
        assert(slab[s].kind == HAK_SLAB_OWNED && slab[s].owner == me);
        assert(slab[s].used >= COUNT(bits));
        slab[s].used = slab[s].used - COUNT(bits);
        assert(USED_BOUNDS_HELD(s));
        bits = 0;
        if
        :: slab[s].used == 0 && !slab[s].busy -> seen = HAK_SLAB_OWNED
        :: slab[s].used == 0 -> slab[s].kept = !slab[s].busy; seen = HAK_SLAB_NONE
        :: slab[s].used != 0 -> seen = HAK_SLAB_NONE
        fi
    }
    if
    :: seen != HAK_SLAB_NONE -> hak_slab_steal(s)
    :: else
    fi
}

/* ---- malloc: the slow half of it ------------------------------------------------------------ */

#ifdef MUT_REFILL_NO_BUSY
#define REFILL_BUSY 0
#else
#define REFILL_BUSY 1
#endif

/* Ghost: a claim that was won, and whether the slab had a free block at that moment. */
#define WON(s) ((slab[s].free_bits | slab[s].remote_bits) != 0 -> 2 : 1)

/*
 * CAS {me, OWNED, not busy, used u} -> {.., busy, used u + K}. An entry of the vector is stale when
 * the slab is not the heap's any more, and also when it is the heap's again with another class.
 */
inline hak_slab_claim(s, c, won)
{
    d_step {
        if
#ifdef MUT_CLAIM_NO_CLASS
        :: slab[s].owner != me ->
#else
        :: slab[s].owner != me || slab[s].class != c ->
#endif
            vec = vec & ~VEC_BIT(c, s);
            won = 0
        :: else ->
            if
            :: slab[s].busy && REFILL_BUSY -> won = 0
            :: else ->
                assert(slab[s].kind == HAK_SLAB_OWNED);
                slab[s].busy = slab[s].busy | REFILL_BUSY;
                assert(slab[s].used + K <= USED_LIMIT);
                slab[s].used = slab[s].used + K;
                slab[s].kept = 0;
                won = WON(s)
            fi
        fi
    }
}

/* Takes up to K blocks of a slab that the caller has claimed for class c, and ends the claim. */
inline hak_slab_take(s, c, bits, won)
{
    if
    :: slab[s].free_bits != 0
#ifndef MUT_NO_MERGE
#ifdef MUT_MERGE_NOT_ATOMIC
    :: d_step { slab[s].free_bits == 0 -> bits = slab[s].remote_bits };
       d_step { slab[s].free_bits = bits; slab[s].remote_bits = 0; bits = 0 }
#else
    :: d_step { slab[s].free_bits == 0 ->
           slab[s].free_bits = slab[s].remote_bits;
           slab[s].remote_bits = 0;
       }
#endif
#else
    :: slab[s].free_bits == 0
#endif
    fi;
    /* A magazine with room for one block is as good as one with room for K. */
    atomic {
        if
        :: bits = slab[s].free_bits
        :: slab[s].free_bits == ALL_FREE -> bits = 1
        fi;
        slab[s].free_bits = slab[s].free_bits & ~bits;
        assert((HELD(s) & bits) == 0);      /* no block is handed out twice */
        assert(bits != 0 || won == 1);      /* a free block is found, be it a remote one */
        won = 0;
        assert(slab[s].class == c && slab[s].owner == me);
        held = held | TO_MASK(bits, s);
        mag = mag | TO_MASK(bits, s);
        cached = cached | TO_MASK(bits, s);
    }
    d_step {
        assert(slab[s].used >= K);
        slab[s].busy = slab[s].busy & ~REFILL_BUSY;
#ifndef MUT_RELEASE_KEEPS_K
        slab[s].used = slab[s].used - (K - COUNT(bits));
#endif
        assert(USED_BOUNDS_HELD(s));
        slab[s].kept = (slab[s].used == 0);
        bits = 0;
    }
}

/* Orphans that a heap may adopt for class c: one that a purger has is left alone. */
#ifdef MUT_ADOPT_BUSY
#define ADOPTABLE(s, c) ((pool_orphan & (1 << (s))) && slab[s].class == (c))
#else
#define ADOPTABLE(s, c) ((pool_orphan & (1 << (s))) && slab[s].class == (c) && !slab[s].busy)
#endif
#define ADOPTABLE_SET(c) ((ADOPTABLE(0, c) -> 1 : 0) | (ADOPTABLE(1, c) -> 2 : 0))

/*
 * A slab for the class, already claimed: an orphan, or made of fresh units; won is 0 if there is
 * neither. Taking the lock, popping and the CAS are one step: nobody can tell them apart.
 */
inline hak_slab_acquire(s, c, won)
{
    if
    :: atomic { !pool_lock && ADOPTABLE_SET(c) != 0 ->
           pool_lock = 1;
           pick(ADOPTABLE_SET(c), won);
           pool_orphan = pool_orphan & ~won;
           s = won - 1;
           slab[s].owner = me;
           slab[s].kind = HAK_SLAB_OWNED;
           slab[s].busy = slab[s].busy | REFILL_BUSY;
#ifdef MUT_ADOPT_STORE
           slab[s].used = K;
#else
           assert(slab[s].used + K <= USED_LIMIT);
           slab[s].used = slab[s].used + K; /* a CAS: drains go on */
#endif
           won = WON(s);
       }
       d_step { slab[s].unit_map = me; pool_lock = 0 }
    :: atomic { !pool_lock && pool_units != 0 ->
           pick(pool_units, won);
           pool_units = pool_units & ~won;
           s = won - 1;
           assert(slab[s].kind == HAK_SLAB_NONE && slab[s].used == 0 && HELD(s) == 0);
           slab[s].class = c;
           slab[s].free_bits = ALL_FREE;
           slab[s].remote_bits = 0;
       }
       d_step { slab[s].unit_map = me };
       d_step {
           slab[s].owner = me;
           slab[s].kind = HAK_SLAB_OWNED;
           slab[s].busy = REFILL_BUSY;
           slab[s].used = K;
           won = WON(s);
       }
    :: atomic { !pool_lock && ADOPTABLE_SET(c) == 0 && pool_units == 0 -> won = 0 }
    fi;
    d_step {
        if
        :: won -> vec = vec | VEC_BIT(c, s); slab[s].position = me
        :: else
        fi
    }
}

/* ---- birth and death of a heap -------------------------------------------------------------- */

#define FREE_IDS (HEAP_IDS & ~live_ids)
#define ID_OF(bit) ((bit) == 4 -> 2 : 1)

#ifdef MUT_EXIT_IGNORES_BUSY
#define EXIT_CAS(s) (slab[s].owner == me)
#else
#define EXIT_CAS(s) (slab[s].owner == me && !slab[s].busy)
#endif

/* One slab of the vector of a heap that ends; magazines and deferred map are empty by now. */
inline hak_slab_abandon(s)
{
    lock_pool();
    if
    :: d_step { slab[s].owner != me -> pool_lock = 0 }
    :: d_step { EXIT_CAS(s) && slab[s].used == 0 ->
           assert(HELD(s) == 0);
           slab[s].owner = NOBODY;
           slab[s].kind = HAK_SLAB_NONE;
           slab[s].kept = 0;
           pool_lock = 0;
       }
       hak_slab_retire(s)
    :: d_step { EXIT_CAS(s) && slab[s].used != 0 ->
           slab[s].owner = NOBODY;
           slab[s].kind = HAK_SLAB_ORPHAN;
       }
#ifdef MUT_ID_EARLY
       live_ids = live_ids & ~(1 << me);
#endif
       d_step {
           slab[s].unit_map = ORPHANED;
           pool_orphan = pool_orphan | (1 << s);
           pool_lock = 0;
       }
    /* Busy by a purger: wait with the pool lock held. */
    fi
}

/* ---- purge: anyone, at any time ------------------------------------------------------------- */

/* The owner may be at any point of a flush, anyone of a drain; none of them clears a free bit. */
inline hak_slab_purge_pages(s, bits)
{
    d_step { bits = slab[s].free_bits };
    d_step { bits = bits | slab[s].remote_bits };
    d_step {
        assert((HELD(s) & bits) == 0);      /* madvise: these blocks lose their contents */
        bits = 0;
    }
}

/*
 * Ends a purger's claim. Whoever made used zero meanwhile saw the busy bit and left the slab, so
 * the purger hands it on. Busy freezes owner and kind: seen is the kind that was claimed.
 */
inline hak_slab_purge_release(s, seen)
{
#ifdef MUT_PURGE_LOCK_IN_BUSY
    lock_pool();
#endif
    d_step {
        slab[s].busy = 0;
        seen = (slab[s].used == 0 -> slab[s].kind : HAK_SLAB_NONE);
#ifdef MUT_PURGE_LOCK_IN_BUSY
        pool_lock = 0;
#endif
#ifdef MUT_PURGE_NO_HAND_ON
        seen = HAK_SLAB_NONE;
#endif
    }
}

inline hak_slab_purge_owned(s, bits, seen)
{
    if
    :: d_step { slab[s].kind == HAK_SLAB_OWNED && !slab[s].busy -> slab[s].busy = 1 }
       hak_slab_purge_pages(s, bits);
       hak_slab_purge_release(s, seen);
       if
       :: seen == HAK_SLAB_OWNED -> hak_slab_steal(s)
       :: else -> assert(seen == HAK_SLAB_NONE)
       fi
    :: d_step { !(slab[s].kind == HAK_SLAB_OWNED && !slab[s].busy) -> skip }
    fi
}

#ifdef MUT_PURGE_STEAL_ONLY
#define hak_purge_hand_on hak_slab_steal
#else
#define hak_purge_hand_on hak_slab_emptied_orphan
#endif

/* The pool lock keeps the orphan from being adopted between the look at it and the claim. */
inline hak_slab_purge_orphan(s, bits, seen)
{
    lock_pool();
    if
    :: d_step { (pool_orphan & (1 << s)) && !slab[s].busy ->
           assert(slab[s].kind == HAK_SLAB_ORPHAN);
           slab[s].busy = 1;
           pool_lock = 0;
       }
       hak_slab_purge_pages(s, bits);
       hak_slab_purge_release(s, seen);
       if
       :: seen == HAK_SLAB_ORPHAN -> hak_purge_hand_on(s)
       :: else -> assert(seen == HAK_SLAB_NONE)
       fi
    :: d_step { else -> pool_lock = 0 }
    fi
}

/* Free units are out of the pool's mask while they are purged, so that nobody is given them. */
inline hak_pool_purge(s)
{
    atomic { !pool_lock && (pool_units & (1 << s)) -> pool_units = pool_units & ~(1 << s) }
    d_step { assert(HELD(s) == 0 && slab[s].kind == HAK_SLAB_NONE) };
    atomic { !pool_lock -> pool_units = pool_units | (1 << s) }
}
