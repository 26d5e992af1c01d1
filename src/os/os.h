/* The contract with the operating system: everything the allocator asks of it, and nothing else.
 * One file per system implements it (os_linux.c). None of these functions allocates; all may be
 * called from any thread at any time, and before libc has run its constructors.
 *
 * Address ranges are given in bytes. Unless stated otherwise both ends are multiples of the page
 * size, and failing leaves the range as it was. What free may lead to (reserve, commit, purge, unmap,
 * huge pages, clock, locks, the thread hook) keeps errno.
 */
#ifndef HAK_OS_OS_H
#define HAK_OS_OS_H

#include "base/atomics.h"
#include "base/attr.h"

/* Reads page size, limits and time source once. Must run before any other function here. */
void hak_os_init(void);

/* Page size in bytes: 4, 16 or 64 KiB. */
extern size_t hak_os_page_bytes;
HAK_INLINE size_t hak_os_page_size(void)
{
    return hak_os_page_bytes;
}

/* The soft limit on this process's address space in bytes, SIZE_MAX when there is none. */
size_t hak_os_address_limit(void);

enum hak_os_reserve { HAK_OS_NO_ACCESS, HAK_OS_READ_ZERO };

/* Reserves bytes of address space aligned to align (a power of two), with no memory behind it.
 * HAK_OS_READ_ZERO makes it readable as zeros. Returns NULL when the system refuses. */
void *hak_os_reserve(size_t bytes, size_t align, enum hak_os_reserve kind);

/* Makes a reserved range readable and writable; pages appear, zeroed, when touched.
 * False when a limit forbids it. */
bool hak_os_commit(void *p, size_t bytes);

/* Gives the pages back; the range stays usable. At once, and it reads as zeros afterwards; or, if lazy,
 * when the system needs memory, so that until it is written to again it reads as before or as zeros.
 * False when the system refused: the contents are then unchanged. */
bool hak_os_purge(void *p, size_t bytes, bool lazy);

/* Maps zeroed memory of its own, aligned to align (a power of two >= the page size), or NULL. */
void *hak_os_map(size_t bytes, size_t align);

/* Unmaps a range of a mapping made by hak_os_map or hak_os_reserve. False when the system could not (it
 * has too many mappings): the range is mapped still, but its pages have been given back. */
bool hak_os_unmap(void *p, size_t bytes);

/* Maps zeroed memory at an address that hak_os_unmap has freed. On failure *taken says whether
 * something else is there by now; otherwise memory is out. */
bool hak_os_map_again(void *p, size_t bytes, bool *taken);

/* Changes the length of a mapping in place; false when it cannot grow there. */
bool hak_os_resize(void *p, size_t old_bytes, size_t new_bytes);

/* Moves the pages of a mapping onto the start of the mapping at to, which it replaces up to
 * new_bytes. False when the system refused: both are then unchanged. */
bool hak_os_move(void *from, size_t old_bytes, void *to, size_t new_bytes);

/* Puts memory behind the pages at once, if the system can; errors are ignored. */
void hak_os_populate(void *p, size_t bytes);

/* Advises for (true) or against (false) huge pages; errors are ignored. */
void hak_os_huge_pages(void *p, size_t bytes, bool wanted);

/* Gives a mapping a name for /proc/self/smaps; errors are ignored. name: a string constant. */
void hak_os_name(void *p, size_t bytes, const char *name);

/* The NUMA node that the calling thread runs on, or -1 where memory need not be placed: there is one node,
 * or the process has a policy of its own. */
int hak_os_numa_node(void);

/* Asks for the pages of the range from that node, as long as it has some; errors are ignored. */
void hak_os_numa_place(void *p, size_t bytes, int node);

/* Milliseconds of a monotonic clock with the resolution of a scheduler tick; wraps after 49 days,
 * so only differences count. */
uint32_t hak_os_now_ms(void);

/* A mutex of four bytes that never allocates. Zero-initialized is unlocked. */
struct hak_lock {
    _Atomic uint32_t word;
};
void hak_lock_contended(struct hak_lock *lock);
void hak_lock_wake(struct hak_lock *lock);

HAK_INLINE bool hak_lock_try(struct hak_lock *lock)
{
    uint32_t unlocked = 0;
    return atomic_compare_exchange_strong_explicit(&lock->word, &unlocked, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

HAK_INLINE void hak_lock_acquire(struct hak_lock *lock)
{
    if (HAK_UNLIKELY(!hak_lock_try(lock)))
        hak_lock_contended(lock);
}

HAK_INLINE void hak_lock_release(struct hak_lock *lock)
{
    if (HAK_UNLIKELY(atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2))
        hak_lock_wake(lock);
}

/* Only for the child of a fork, where no other thread exists. */
HAK_INLINE void hak_lock_reset(struct hak_lock *lock)
{
    hak_store_relaxed(&lock->word, 0);
}

/* Tells the processor that this is a spin-wait loop. */
void hak_os_relax(void);

/* Calls hook(value) in every thread that called hak_os_thread_hook_arm(value) when it exits, as
 * late among the thread's destructors as the system allows. Arm may run with no memory left. Where the
 * system has no key to spare for it, threads exit without the hook. */
void hak_os_thread_hook_init(void (*hook)(void *));
void hak_os_thread_hook_arm(void *value);

/* Starts a thread that runs body, with every signal blocked and a small stack, and that nobody joins.
 * May allocate: to be called without a lock. False when the system refuses. */
bool hak_os_thread_start(void (*body)(void), const char *name);

enum { HAK_OS_FOREVER = -1 };

/* Sleeps while *word is expected, for at most ms milliseconds; may also return early. */
void hak_os_wait(_Atomic uint32_t *word, uint32_t expected, int ms);

/* Ends the sleep of one thread on word. */
void hak_os_wake(_Atomic uint32_t *word);

/* Lets other threads run. */
void hak_os_yield(void);

/* Registers the three fork handlers. */
void hak_os_fork_hooks(void (*prepare)(void), void (*parent)(void), void (*child)(void));

#endif
