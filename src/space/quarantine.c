#include "space/quarantine.h"

#include "os/os.h"
#include "space/shared_pool.h"
#include "space/unit_map.h"

enum {
    QUARANTINE_UNITS = 256, /* 16 MiB of addresses */
    ENTRIES = 256,
};

struct entry {
    struct hak_slab *first;
    uint16_t units;
    bool purged;
};

/* Rank: before that of the shared pool. */
static struct {
    struct hak_lock lock;
    struct entry ring[ENTRIES];
    uint32_t oldest, count, units;
    uint32_t unpurged; /* the newest so many entries */
} quarantine;

static struct entry *entry_at(uint32_t i)
{
    return &quarantine.ring[(quarantine.oldest + i) % ENTRIES];
}

/* Gives the oldest entry to the pool. Under the lock. */
static void let_go(void)
{
    struct entry out = *entry_at(0);
    quarantine.oldest = (quarantine.oldest + 1) % ENTRIES;
    quarantine.count--;
    quarantine.units -= out.units;
    if (quarantine.unpurged > quarantine.count)
        quarantine.unpurged = quarantine.count;
    hak_unit_map_set(hak_slab_base(out.first), out.units, 0);
    hak_pool_give_units(out.first, out.units, !out.purged);
}

void hak_quarantine_put(struct hak_slab *first, unsigned n)
{
    hak_unit_map_set(hak_slab_base(first), n, HAK_WORD_GONE);
    hak_lock_acquire(&quarantine.lock);
    while (quarantine.count == ENTRIES || quarantine.units + n > QUARANTINE_UNITS)
        let_go();
    *entry_at(quarantine.count) = (struct entry){first, (uint16_t)n, false};
    quarantine.count++;
    quarantine.unpurged++;
    quarantine.units += n;
    hak_lock_release(&quarantine.lock);
}

void hak_quarantine_purge(void)
{
    hak_lock_acquire(&quarantine.lock);
    for (uint32_t i = quarantine.count - quarantine.unpurged, next; i < quarantine.count; i = next) {
        struct hak_slab *first = entry_at(i)->first;
        struct hak_superslab *ss = hak_slab_superslab(first);
        unsigned units = 0;
        for (next = i; next < quarantine.count; next++) { /* neighbours go by one system call */
            struct entry *entry = entry_at(next);
            if (entry->first != first + units || hak_slab_superslab(entry->first) != ss)
                break;
            units += entry->units;
        }
        hak_pool_unhuge(ss, true); /* or the kernel would fill the hole again */
        bool purged = hak_os_purge((void *)hak_slab_base(first), (size_t)units << HAK_UNIT_SHIFT,
                                   false);
        for (uint32_t k = i; k < next; k++)
            entry_at(k)->purged = purged;
    }
    quarantine.unpurged = 0;
    hak_lock_release(&quarantine.lock);
}

void hak_quarantine_flush(void)
{
    hak_lock_acquire(&quarantine.lock);
    while (quarantine.count != 0)
        let_go();
    hak_lock_release(&quarantine.lock);
}

void hak_quarantine_fork_prepare(void)
{
    hak_lock_acquire(&quarantine.lock);
}

void hak_quarantine_fork_release(void)
{
    hak_lock_release(&quarantine.lock);
}

void hak_quarantine_fork_child(void)
{
    hak_lock_reset(&quarantine.lock);
}
