#include "report/report.h"

#include "base/print.h"
#include "config/options.h"
#include "os/os.h"
#include "space/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Lowest number for the copy of stderr: above what programs count on, below the usual limit of
 * 1024.
 */
enum { COPY_ABOVE = 200 };

/* The copy of stderr and what it was a copy of; -1 when there is none. */
static struct {
    int fd;
    dev_t device;
    ino_t inode;
} copy = {.fd = -1};

/* A child may live long after its parent; holding its stderr open would keep a reader waiting. */
static void drop_copy_in_child(void)
{
    int saved = errno;
    close(copy.fd);
    copy.fd = -1;
    errno = saved;
}

static void nothing(void) {}

void hak_report_start(void)
{
    struct stat status;
    if (!hak_options.verbose || copy.fd >= 0)
        return;
    int saved = errno;
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, COPY_ABOVE);
    if (fd >= 0 && fstat(fd, &status) == 0) {
        copy.device = status.st_dev;
        copy.inode = status.st_ino;
        copy.fd = fd;
        hak_os_fork_hooks(nothing, nothing, drop_copy_in_child);
    }
    errno = saved;
}

/* The copy, unless the program closed it and the number is another file's by now. */
static int summary_fd(void)
{
    struct stat status;
    if (copy.fd >= 0 && fstat(copy.fd, &status) == 0 && status.st_dev == copy.device &&
        status.st_ino == copy.inode)
        return copy.fd;
    return STDERR_FILENO;
}

void hak_report_exit(void)
{
    if (!hak_options.verbose)
        return;
    int saved = errno;
    struct hak_totals totals;
    hak_totals_read(&totals);
    hak_print(summary_fd(),
              "hakmem: pid %ld: SuperSlabs %" PRIu64 " KiB (peak %" PRIu64 " KiB), large %" PRIu64
              " KiB, metadata %" PRIu64 " KiB, heaps %" PRIu64 " of %" PRIu64
              ", slabs made %" PRIu64 ", purges %" PRIu64 " (%" PRIu64 " KiB)\n",
              (long)getpid(), totals.superslab_bytes >> 10,
              totals.superslabs_peak * (HAK_SUPERSLAB_BYTES >> 10), totals.large_bytes >> 10,
              totals.metadata_bytes >> 10, totals.heaps_live, totals.heaps_made, totals.slabs_made,
              totals.purges, totals.purged_bytes >> 10);
    errno = saved;
}

void hak_report_text(int fd)
{
    struct hak_totals totals;
    hak_totals_read(&totals);
#define HAK_STAT(field, unit, help)                                                                \
    hak_print(fd, "hakmem: %-16s %14" PRIu64 " %-1s  %s\n", #field, totals.field, unit, help);
#include "report/stats.def"
#undef HAK_STAT
}

bool hak_report_xml(FILE *stream)
{
    struct hak_totals totals;
    hak_totals_read(&totals);
    uint64_t system = totals.superslab_bytes + totals.large_bytes + totals.metadata_bytes;
    uint64_t peak = totals.superslabs_peak * HAK_SUPERSLAB_BYTES;
    fprintf(stream,
            "<malloc version=\"1\">\n"
            "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
            "<total type=\"rest\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n"
            "<total type=\"mmap\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n"
            "<system type=\"current\" size=\"%" PRIu64 "\"/>\n"
            "<system type=\"max\" size=\"%" PRIu64 "\"/>\n"
            "<aspace type=\"total\" size=\"%" PRIu64 "\"/>\n"
            "<aspace type=\"mprotect\" size=\"%" PRIu64 "\"/>\n"
            "<hakmem>\n",
            totals.units_free, hak_report_unused(&totals), totals.large_count, totals.large_bytes, system,
            peak > system ? peak : system, system, system);
#define HAK_STAT(field, unit, help)                                                                \
    fprintf(stream, "<%s value=\"%" PRIu64 "\"/>\n", #field, totals.field);
#include "report/stats.def"
#undef HAK_STAT
    return fputs("</hakmem>\n</malloc>\n", stream) >= 0 && !ferror(stream);
}
