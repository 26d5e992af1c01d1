#include "fake_os.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct fake_os fake_os = {.node = -1};

void hak_os_init(void) {}

size_t hak_os_page_bytes = 4096;

size_t hak_os_address_limit(void)
{
    return SIZE_MAX;
}

void *hak_os_reserve(size_t bytes, size_t align, enum hak_os_reserve kind)
{
    (void)kind;
    char *p = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : (void *)hak_round_up((uintptr_t)p, align);
}

bool hak_os_commit(void *p, size_t bytes)
{
    (void)p, (void)bytes;
    return true;
}

bool hak_os_purge(void *p, size_t bytes, bool lazy)
{
    if (fake_os.refuse_purge)
        return false;
    fake_os.purges++;
    fake_os.lazy_purges += lazy;
    fake_os.purged_bytes += bytes;
    fake_os.last_purged = p;
    memset(p, lazy ? 0xee : 0, bytes);
    return true;
}

bool hak_os_unmap(void *p, size_t bytes)
{
    return madvise(p, bytes, MADV_DONTNEED) == 0;
}

bool hak_os_map_again(void *p, size_t bytes, bool *taken)
{
    (void)p, (void)bytes;
    *taken = false;
    return true;
}

void hak_os_huge_pages(void *p, size_t bytes, bool wanted)
{
    (void)p, (void)bytes, (void)wanted;
}

void hak_os_populate(void *p, size_t bytes)
{
    (void)p;
    fake_os.populated_bytes += bytes;
}

void hak_os_name(void *p, size_t bytes, const char *name)
{
    (void)p, (void)bytes, (void)name;
}

int hak_os_numa_node(void)
{
    return fake_os.node;
}

void hak_os_numa_place(void *p, size_t bytes, int node)
{
    fake_os.places++;
    fake_os.last_placed = p;
    fake_os.last_placed_bytes = bytes;
    fake_os.last_node = node;
}

uint32_t hak_os_now_ms(void)
{
    return fake_os.now_ms;
}

void hak_lock_contended(struct hak_lock *lock)
{
    (void)lock;
    abort(); /* one thread */
}

void hak_lock_wake(struct hak_lock *lock)
{
    (void)lock;
}

void hak_os_relax(void) {}
