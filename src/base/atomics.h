/* Short names for the C11 atomics in use, so that every memory order is visible at the call. */
#ifndef HAK_BASE_ATOMICS_H
#define HAK_BASE_ATOMICS_H

#include <stdatomic.h>

#define hak_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define hak_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define hak_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define hak_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define hak_cas_acq_rel(p, expected, v) \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel, \
                                            memory_order_acquire)

#endif
