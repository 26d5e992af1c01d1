/*
 * What glibc's malloc has beyond allocation: statistics and tuning. The man pages say what the
 * functions mean; src/report has the texts.
 */
#include "hakmem/hakmem.h"

#include "base/names.h"
#include "core/core.h"
#include "core/totals.h"
#include "report/report.h"
#include "space/layout.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <unistd.h>

/*
 * Our figures in glibc's words: its arenas are our SuperSlabs, its mapped chunks our large
 * blocks.
 */
HAK_EXPORT struct mallinfo2 hakmem_mallinfo2(void)
{
    struct hak_totals totals;
    hak_totals_read(&totals);
    return (struct mallinfo2){
        .arena = totals.superslab_bytes,
        .ordblks = totals.units_free,
        .hblks = totals.large_count,
        .hblkhd = totals.large_bytes,
        .uordblks = totals.used_bytes,
        .fordblks = hak_report_unused(&totals),
        .keepcost = totals.units_free * HAK_UNIT_BYTES,
    };
}
HAK_ALIAS(mallinfo2, hakmem_mallinfo2);

static int clamp(size_t n)
{
    return n > INT_MAX ? INT_MAX : (int)n;
}

HAK_EXPORT struct mallinfo hakmem_mallinfo(void)
{
    struct mallinfo2 wide = hakmem_mallinfo2();
    return (struct mallinfo){
        .arena = clamp(wide.arena),
        .ordblks = clamp(wide.ordblks),
        .hblks = clamp(wide.hblks),
        .hblkhd = clamp(wide.hblkhd),
        .uordblks = clamp(wide.uordblks),
        .fordblks = clamp(wide.fordblks),
        .keepcost = clamp(wide.keepcost),
    };
}
HAK_ALIAS(mallinfo, hakmem_mallinfo);

HAK_EXPORT int hakmem_malloc_info(int options, FILE *stream)
{
    if (options != 0)
        return EINVAL;
    return hak_report_xml(stream) ? 0 : EIO;
}
HAK_ALIAS(malloc_info, hakmem_malloc_info);

HAK_EXPORT void hakmem_malloc_stats(void)
{
    hak_report_text(STDERR_FILENO);
}
HAK_ALIAS(malloc_stats, hakmem_malloc_stats);

/* The values tune what HAKMEM does not have: bins, arenas, the program break. */
HAK_EXPORT int hakmem_mallopt(int parameter, int value)
{
    switch (parameter) {
    case M_MXFAST:
        return value >= 0 && value <= (int)(80 * sizeof(size_t) / 4);
    case M_TRIM_THRESHOLD:
    case M_TOP_PAD:
    case M_MMAP_THRESHOLD:
    case M_MMAP_MAX:
    case M_CHECK_ACTION:
    case M_PERTURB:
    case M_ARENA_TEST:
    case M_ARENA_MAX:
        return 1;
    default:
        return 0;
    }
}
HAK_ALIAS(mallopt, hakmem_mallopt);

HAK_EXPORT void hakmem_cfree(void *p)
{
    hak_free(p);
}
HAK_ALIAS(cfree, hakmem_cfree);
