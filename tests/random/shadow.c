#include "shadow.h"

#include "support/check.h"

#include <stdatomic.h>
#include <sys/mman.h>

/* Addresses have 47 bits: 16 choose a root slot, 15 a leaf, 16 a place in the leaf's 64 KiB. */
enum {
    GRANULE_SHIFT = 3,
    LEAF_SHIFT = 16,
    BRANCH_BITS = 15,
    ROOT_SLOTS = 1 << 16,
    LEAF_WORDS = 1 << (LEAF_SHIFT - GRANULE_SHIFT - 6),
};

typedef _Atomic uint64_t leaf_words[LEAF_WORDS];
typedef leaf_words branch_leaves[1 << BRANCH_BITS];

static branch_leaves *_Atomic root[ROOT_SLOTS];

/* The leaf of an address. A branch is 32 MiB of address space, of which few pages are touched. */
static _Atomic uint64_t *leaf_of(uintptr_t address)
{
    uintptr_t slot = address >> (LEAF_SHIFT + BRANCH_BITS);
    CHECK_THAT(slot < ROOT_SLOTS, "%#zx is not an address of user space", (size_t)address);
    branch_leaves *branch = atomic_load(&root[slot]);
    if (branch == NULL) {
        void *fresh = mmap(NULL, sizeof *branch, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(fresh != MAP_FAILED);
        if (atomic_compare_exchange_strong(&root[slot], &branch, (branch_leaves *)fresh))
            branch = fresh;
        else
            munmap(fresh, sizeof *branch);
    }
    return (*branch)[(address >> LEAF_SHIFT) & ((1u << BRANCH_BITS) - 1)];
}

/* Flips the bits of a block, word by word, each of which must be as expected before. */
static void flip(const void *block, size_t size, int was_live)
{
    uintptr_t granule = (uintptr_t)block >> GRANULE_SHIFT;
    uintptr_t end = ((uintptr_t)block + size + 7) >> GRANULE_SHIFT;
    while (granule < end) {
        unsigned first = granule % 64;
        uintptr_t last = (granule | 63) < end - 1 ? (granule | 63) : end - 1;
        uint64_t mask = (~(uint64_t)0 >> (63 - last % 64)) & (~(uint64_t)0 << first);
        _Atomic uint64_t *word = leaf_of(granule << GRANULE_SHIFT);
        word += granule % (LEAF_WORDS * 64) / 64;
        uint64_t before = atomic_fetch_xor_explicit(word, mask, memory_order_relaxed);
        CHECK_THAT((before & mask) == (was_live ? mask : 0), "%p of %zu bytes: %s", block, size,
                   was_live ? "not all of it was live" : "overlaps a live block");
        granule = last + 1;
    }
}

void shadow_add(const void *block, size_t size)
{
    flip(block, size, 0);
}

void shadow_remove(const void *block, size_t size)
{
    flip(block, size, 1);
}
