#include "space/region.h"

#include "base/check.h"
#include "os/os.h"
#include "space/metadata.h"
#include "space/unit_map.h"

enum { UNITS_STEP = 1 << 17 }; /* the units' descriptors are committed by this many bytes */

struct hak_space hak_space;

static size_t metadata_bytes(size_t region_bytes)
{
    size_t superslabs = region_bytes >> HAK_SUPERSLAB_SHIFT;
    return hak_round_up(hak_space.superslabs_offset + superslabs * sizeof(struct hak_superslab),
                        HAK_UNIT_BYTES);
}

/* Commits the header, the boot arena, the descriptors of all SuperSlabs and those of the units of the
 * first one that is not all metadata. */
static struct hak_region *region_new(size_t bytes)
{
    char *base = hak_os_reserve(bytes, bytes, HAK_OS_NO_ACCESS);
    if (base == NULL)
        return NULL;
    hak_space.superslabs_offset = HAK_REGION_UNITS_OFFSET +
                                  (bytes >> HAK_UNIT_SHIFT) * sizeof(struct hak_slab);
    size_t all = metadata_bytes(bytes);
    uint32_t first = (uint32_t)(all >> HAK_SUPERSLAB_SHIFT);
    size_t units = hak_round_up(HAK_REGION_UNITS_OFFSET +
                                    (size_t)(first + 1) * HAK_UNITS * sizeof(struct hak_slab),
                                HAK_UNIT_BYTES);
    size_t superslabs = hak_space.superslabs_offset & ~(HAK_UNIT_BYTES - 1);
    if (!hak_os_commit(base, units) || !hak_os_commit(base + superslabs, all - superslabs)) {
        hak_os_unmap(base, bytes);
        return NULL;
    }
    hak_os_huge_pages(base, bytes, false);
    hak_os_name(base, bytes, "hakmem");
    struct hak_region *region = (void *)base;
    region->superslabs = (uint32_t)(bytes >> HAK_SUPERSLAB_SHIFT);
    region->first = first;
    hak_store_relaxed(&region->next, first);
    region->units_end = base + units;
    region->older = hak_space.region;
    hak_store_release(&hak_space.region, region);
    hak_space.reserved_bytes += bytes;
    return region;
}

static size_t default_bytes(size_t address_limit)
{
    size_t bytes = (size_t)1 << HAK_REGION_SHIFT_MAX;
    while (address_limit != SIZE_MAX && bytes > address_limit / 16)
        bytes >>= 1;
    return bytes;
}

bool hak_region_init(size_t bytes, size_t address_limit)
{
    size_t least = (size_t)1 << HAK_REGION_SHIFT_MIN;
    size_t most = (size_t)1 << HAK_REGION_SHIFT_MAX;
    if (bytes == 0)
        bytes = default_bytes(address_limit);
    bytes = bytes < least ? least : bytes > most ? most : (size_t)1 << hak_log2(bytes);
    struct hak_region *region = NULL;
    for (; bytes >= least && region == NULL; bytes >>= 1) {
        hak_space.region_mask = bytes - 1;
        region = region_new(bytes);
    }
    if (region == NULL)
        return false;
    /* A thirty-second of the region for metadata, where that is not a matter of scarcity. */
    size_t spare = (hak_space.region_mask + 1) / 32;
    if (address_limit == SIZE_MAX && spare >= HAK_SUPERSLAB_BYTES) {
        region->superslabs -= (uint32_t)(spare >> HAK_SUPERSLAB_SHIFT);
        hak_metadata_reserve((char *)region + hak_space.region_mask + 1 - spare, spare);
    }
    size_t header = hak_round_up(sizeof *region, HAK_CACHE_LINE);
    hak_metadata_adopt((char *)region + header, HAK_REGION_UNITS_OFFSET - header);
    return true;
}

static bool commit_units(struct hak_region *region, uintptr_t superslab)
{
    char *need = (char *)(hak_unit_of(superslab) + HAK_UNITS);
    if (need <= region->units_end)
        return true;
    size_t bytes = hak_round_up((size_t)(need - region->units_end), UNITS_STEP);
    size_t most = (size_t)((char *)region + hak_space.superslabs_offset - region->units_end);
    if (bytes > most)
        bytes = hak_round_up(most, hak_os_page_size());
    if (!hak_os_commit(region->units_end, bytes))
        return false;
    region->units_end += bytes;
    return true;
}

struct hak_superslab *hak_region_take_superslab(void)
{
    struct hak_region *region = hak_load_relaxed(&hak_space.region);
    if (region->next == region->superslabs)
        region = region_new(hak_space.region_mask + 1);
    if (region == NULL)
        return NULL;
    uintptr_t base = (uintptr_t)region + ((uintptr_t)region->next << HAK_SUPERSLAB_SHIFT);
    uintptr_t hidden_end = (uintptr_t)region + metadata_bytes(hak_space.region_mask + 1);
    uint32_t hidden = base < hidden_end ? (uint32_t)((hidden_end - base) >> HAK_UNIT_SHIFT) : 0;
    struct hak_superslab *ss = hak_superslab_of(base);
    size_t skip = (size_t)hidden << HAK_UNIT_SHIFT;
    HAK_ASSERT(hidden < HAK_UNITS);
    if (!commit_units(region, base) || !hak_unit_map_prepare(base, HAK_SUPERSLAB_BYTES) ||
        !hak_os_commit((char *)base + skip, HAK_SUPERSLAB_BYTES - skip))
        return NULL;
    /* The first one, which small programs get along with, is not worth the question. */
    int node = region->next == region->first ? -1 : hak_os_numa_node();
    if (node >= 0)
        hak_os_numa_place((char *)base + skip, HAK_SUPERSLAB_BYTES - skip, node);
    ss->reserved = (uint32_t)(((uint64_t)1 << hidden) - 1);
    hak_store_release(&region->next, region->next + 1);
    return ss;
}
