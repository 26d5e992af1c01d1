#include "os/os.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

size_t hak_os_page_bytes;

static pthread_key_t thread_key;
static bool have_key;
static void (*thread_hook)(void *);

void hak_os_init(void)
{
    hak_os_page_bytes = getauxval(AT_PAGESZ);
    if (hak_os_page_bytes == 0)
        hak_os_page_bytes = 4096;
}

size_t hak_os_address_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return limit.rlim_cur;
}

static void *map_anonymous(size_t bytes, int prot, int flags)
{
    void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Maps bytes at an aligned address: the kernel often returns one by itself when its neighbour is
 * aligned, so the wasteful way (map more, cut both ends) is the second try. */
static void *map_aligned(size_t bytes, size_t align, int prot, int flags)
{
    void *p = NULL;
    if (align <= (1u << 16)) {
        p = map_anonymous(bytes, prot, flags);
        if (p == NULL || ((uintptr_t)p & (align - 1)) == 0)
            return p;
        munmap(p, bytes);
    }
    if (bytes > SIZE_MAX - align)
        return NULL;
    char *wide = map_anonymous(bytes + align, prot, flags);
    if (wide == NULL)
        return NULL;
    char *aligned = (char *)hak_round_up((uintptr_t)wide, align);
    size_t head = (size_t)(aligned - wide);
    if (head != 0)
        munmap(wide, head);
    if (align != head)
        munmap(aligned + bytes, align - head);
    return aligned;
}

void *hak_os_reserve(size_t bytes, size_t align, enum hak_os_reserve kind)
{
    int saved = errno;
    void *p = map_aligned(bytes, align, kind == HAK_OS_READ_ZERO ? PROT_READ : PROT_NONE,
                          MAP_NORESERVE);
    errno = saved;
    return p;
}

bool hak_os_commit(void *p, size_t bytes)
{
    int saved = errno;
    bool done = mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0;
    errno = saved;
    return done;
}

bool hak_os_purge(void *p, size_t bytes, bool lazy)
{
    int saved = errno;
    bool done = madvise(p, bytes, lazy ? MADV_FREE : MADV_DONTNEED) == 0;
    errno = saved;
    return done;
}

void *hak_os_map(size_t bytes, size_t align)
{
    return map_aligned(bytes, align, PROT_READ | PROT_WRITE, 0);
}

bool hak_os_unmap(void *p, size_t bytes)
{
    int saved = errno;
    bool done = munmap(p, bytes) == 0;
    if (!done)
        madvise(p, bytes, MADV_DONTNEED);
    errno = saved;
    return done;
}

bool hak_os_map_again(void *p, size_t bytes, bool *taken)
{
    void *got = mmap(p, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    *taken = got == MAP_FAILED ? errno == EEXIST : got != p;
    if (got != p && got != MAP_FAILED) /* a kernel that takes the address for a hint */
        munmap(got, bytes);
    return got == p;
}

bool hak_os_resize(void *p, size_t old_bytes, size_t new_bytes)
{
    return mremap(p, old_bytes, new_bytes, 0) != MAP_FAILED;
}

bool hak_os_move(void *from, size_t old_bytes, void *to, size_t new_bytes)
{
    return mremap(from, old_bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

void hak_os_populate(void *p, size_t bytes)
{
    static _Atomic bool refused; /* by an older kernel */
    int saved = errno;
    if (!hak_load_relaxed(&refused) && madvise(p, bytes, MADV_POPULATE_WRITE) != 0)
        hak_store_relaxed(&refused, errno == EINVAL);
    errno = saved;
}

void hak_os_huge_pages(void *p, size_t bytes, bool wanted)
{
    int saved = errno;
    madvise(p, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    errno = saved;
}

void hak_os_name(void *p, size_t bytes, const char *name)
{
    enum { SET_VMA = 0x53564d41, ANON_NAME = 0 }; /* PR_SET_VMA, PR_SET_VMA_ANON_NAME since Linux 5.17 */
    int saved = errno;
    prctl(SET_VMA, ANON_NAME, p, bytes, name);
    errno = saved;
}

enum { POLICY_DEFAULT = 0, POLICY_PREFERRED = 1, MEMS_ALLOWED = 4, NODES_MAX = 1024 };

struct node_mask {
    unsigned long words[NODES_MAX / (8 * sizeof(long))];
};

/* Whether there is more than one node, asked once: 1 + the answer. */
static _Atomic int numa_asked;

static bool many_nodes(void)
{
    struct node_mask mask = {{0}};
    int policy = POLICY_DEFAULT;
    unsigned nodes = 0;
    if (syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) != 0 || policy != POLICY_DEFAULT ||
        syscall(SYS_get_mempolicy, NULL, mask.words, (unsigned long)NODES_MAX, NULL, MEMS_ALLOWED) != 0)
        return false;
    for (unsigned i = 0; i < NODES_MAX / (8 * sizeof(long)); i++)
        for (unsigned long word = mask.words[i]; word != 0; word &= word - 1)
            nodes++;
    return nodes > 1;
}

int hak_os_numa_node(void)
{
    int saved = errno;
    unsigned node = 0;
    if (hak_load_relaxed(&numa_asked) == 0)
        hak_store_relaxed(&numa_asked, 1 + many_nodes());
    bool placed = hak_load_relaxed(&numa_asked) == 2 && syscall(SYS_getcpu, NULL, &node, NULL) == 0 &&
                  node < NODES_MAX;
    errno = saved;
    return placed ? (int)node : -1;
}

void hak_os_numa_place(void *p, size_t bytes, int node)
{
    const unsigned bits = 8 * sizeof(long);
    struct node_mask mask = {{0}};
    int saved = errno;
    mask.words[(unsigned)node / bits] = 1ul << ((unsigned)node % bits);
    syscall(SYS_mbind, p, bytes, POLICY_PREFERRED, mask.words, (unsigned long)NODES_MAX, 0);
    errno = saved;
}

uint32_t hak_os_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

void hak_os_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The three-state futex mutex of Drepper, "Futexes are tricky": 0 free, 1 held, 2 held with
 * waiters. A short spin first, because the critical sections here are tens of instructions. */
void hak_lock_contended(struct hak_lock *lock)
{
    for (int spin = 0; spin < 64; spin++) {
        hak_os_relax();
        if (hak_load_relaxed(&lock->word) == 0 && hak_lock_try(lock))
            return;
    }
    int saved = errno;
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
        syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    errno = saved;
}

void hak_lock_wake(struct hak_lock *lock)
{
    int saved = errno;
    syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

/* POSIX runs the destructors of all keys up to PTHREAD_DESTRUCTOR_ITERATIONS times while any of
 * them sets a value again. Asking for two more rounds lets other destructors use the heap first. */
struct exit_round {
    void *value;
    int rounds_left;
};
static __thread struct exit_round exit_round __attribute__((tls_model("initial-exec")));

static void thread_exit(void *round)
{
    struct exit_round *r = round;
    if (r->rounds_left-- > 0 && pthread_setspecific(thread_key, r) == 0)
        return;
    thread_hook(r->value);
}

void hak_os_thread_hook_init(void (*hook)(void *))
{
    thread_hook = hook;
    have_key = pthread_key_create(&thread_key, thread_exit) == 0;
}

void hak_os_thread_hook_arm(void *value)
{
    exit_round.value = value;
    exit_round.rounds_left = 2;
    int saved = errno;
    if (have_key)
        pthread_setspecific(thread_key, &exit_round);
    errno = saved;
}

struct start {
    void (*body)(void);
    const char *name;
};
static struct start start; /* of the one thread that is started at a time */

static void *thread_main(void *unused)
{
    (void)unused;
    struct start mine = start;
    prctl(PR_SET_NAME, mine.name);
    mine.body();
    return NULL;
}

/* By pthread_create and not by clone: setuid must find the thread, a stack protector its canary. The mask
 * is that of pthread_sigmask, which leaves libc's own signals open for the same reason. */
bool hak_os_thread_start(void (*body)(void), const char *name)
{
    enum { STACK_BYTES = 256 << 10 };
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attr;
    int saved = errno;
    start = (struct start){body, name};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int error = pthread_create(&thread, &attr, thread_main, NULL);
    if (error == EINVAL) { /* thread-local storage alone is larger than that */
        pthread_attr_destroy(&attr);
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        error = pthread_create(&thread, &attr, thread_main, NULL);
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return error == 0;
}

void hak_os_wait(_Atomic uint32_t *word, uint32_t expected, int ms)
{
    struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, ms < 0 ? NULL : &timeout, NULL, 0);
    errno = saved;
}

void hak_os_wake(_Atomic uint32_t *word)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

void hak_os_yield(void)
{
    sched_yield();
}

void hak_os_fork_hooks(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    pthread_atfork(prepare, parent, child);
}
