/* How short of memory the machine or the control group is. Read by the scavenger alone, now and then. */
#ifndef HAK_OS_PRESSURE_H
#define HAK_OS_PRESSURE_H

#include "base/attr.h"

enum { HAK_PRESSURE_MAX = 3 };

/* 0: not at all, or not known; to HAK_PRESSURE_MAX. From the control group's (version 2) memory.current
 * against memory.high and memory.max, and from its memory.pressure or else the machine's. proc and cgroup
 * are where these file systems are mounted: "/proc", "/sys/fs/cgroup". Allocates nothing, keeps errno. */
unsigned hak_os_pressure(const char *proc, const char *cgroup);

/* The same from the figures: limit UINT64_MAX for none; stalled_percent of the last ten seconds. */
unsigned hak_os_pressure_of(uint64_t current, uint64_t limit, unsigned stalled_percent);

#endif
