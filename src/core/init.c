/* The start of the process's allocator, at the first call that needs memory, and the fork hooks. */
#include "base/names.h"
#include "config/options.h"
#include "core/heap.h"
#include "core/scavenger.h"
#include "core/user_heap.h"
#include "large/large.h"
#include "os/os.h"
#include "space/metadata.h"
#include "space/quarantine.h"
#include "space/shared_pool.h"
#include "tiny/size_class.h"

static struct hak_lock init_lock;
static _Atomic uint32_t ready;

/* Below this limit on address space a table of all of it is out of the question. */
static const size_t ABSOLUTE_MAP_FROM = (size_t)1 << 37;

static bool start(void)
{
    hak_os_init();
    hak_options_load();
    hak_size_class_init();
    size_t limit = hak_os_address_limit();
    /* Each step once, also when a later one failed and the start is tried again. */
    if (hak_space.region == NULL && !hak_region_init(hak_options.reserve, limit))
        return false;
    if (!hak_unit_map_init(limit < ABSOLUTE_MAP_FROM))
        return false;
    hak_os_thread_hook_init(hak_heap_thread_exit);
    return true;
}

bool hak_init(void)
{
    if (HAK_LIKELY(hak_load_acquire(&ready)))
        return true;
    hak_lock_acquire(&init_lock);
    if (!hak_load_relaxed(&ready) && start())
        hak_store_release(&ready, 1);
    hak_lock_release(&init_lock);
    return hak_load_relaxed(&ready);
}

/* All locks in the order of their ranks; src/README.md has the list. */
static void fork_prepare(void)
{
    hak_lock_acquire(&init_lock);
    hak_heap_fork_prepare();
    hak_user_heap_fork_prepare();
    hak_quarantine_fork_prepare();
    hak_large_acquire();
    hak_purge_begin(true);
    hak_pool_acquire();
    hak_unit_map_fork_prepare();
    hak_metadata_fork_prepare();
}

static void fork_parent(void)
{
    hak_metadata_fork_release();
    hak_unit_map_fork_release();
    hak_pool_release();
    hak_purge_end();
    hak_large_release();
    hak_quarantine_fork_release();
    hak_user_heap_fork_parent();
    hak_heap_fork_parent();
    hak_lock_release(&init_lock);
}

static void fork_child(void)
{
    hak_lock_reset(&init_lock);
    hak_metadata_fork_child();
    hak_unit_map_fork_child();
    hak_pool_fork_child();
    hak_large_fork_child();
    hak_quarantine_fork_child();
    hak_user_heap_fork_child();
    hak_heap_fork_child();
    hak_scavenger_fork_child();
}

/* Registering may allocate, so it cannot be a part of hak_init. Before constructors run a process
 * has one thread, and a fork needs no hooks then. */
__attribute__((constructor(101), cold)) static void register_fork_hooks(void)
{
    hak_os_fork_hooks(fork_prepare, fork_parent, fork_child);
}
