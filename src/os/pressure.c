#include "os/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512, TEXT_BYTES = 512 };

unsigned hak_os_pressure_of(uint64_t current, uint64_t limit, unsigned stalled_percent)
{
    uint64_t left = limit > current ? limit - current : 0;
    unsigned full = limit == UINT64_MAX ? 0 : left < limit / 32 ? 3 : left < limit / 10 ? 2 : left < limit / 5;
    unsigned stalled = stalled_percent >= 20 ? 3 : stalled_percent >= 5 ? 2 : stalled_percent >= 1;
    return full > stalled ? full : stalled;
}

/* The joined parts name a file; its text, always terminated. */
static bool read_file(char text[TEXT_BYTES], const char *folder, const char *group, const char *name)
{
    char path[PATH_BYTES];
    const char *parts[] = {folder, group, name};
    size_t length = 0;
    for (unsigned i = 0; i < 3; i++) {
        size_t part = strlen(parts[i]);
        if (part >= PATH_BYTES - length)
            return false;
        memcpy(path + length, parts[i], part + 1);
        length += part;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, TEXT_BYTES - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static uint64_t number(const char *text)
{
    uint64_t n = 0;
    if (*text < '0' || *text > '9') /* "max" */
        return UINT64_MAX;
    for (; *text >= '0' && *text <= '9'; text++)
        n = n > UINT64_MAX / 16 ? n : n * 10 + (uint64_t)(*text - '0');
    return n;
}

static uint64_t file_number(const char *folder, const char *group, const char *name)
{
    char text[TEXT_BYTES];
    return read_file(text, folder, group, name) ? number(text) : UINT64_MAX;
}

/* The name of the process's group, as a path below the mount. */
static bool own_group(const char *proc, char group[TEXT_BYTES])
{
    char text[TEXT_BYTES];
    if (!read_file(text, proc, "/self", "/cgroup"))
        return false;
    char *start = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (start == NULL)
        return false;
    start = strchr(start, '/');
    if (start == NULL)
        return false;
    size_t length = strcspn(start, "\n");
    memcpy(group, start, length);
    group[length] = '\0';
    return true;
}

static unsigned stalled_percent(const char *text)
{
    const char *average = strstr(text, "avg10=");
    uint64_t percent = average == NULL ? 0 : number(average + 6);
    return percent > 100 ? 0 : (unsigned)percent;
}

unsigned hak_os_pressure(const char *proc, const char *cgroup)
{
    int saved = errno;
    char group[TEXT_BYTES], text[TEXT_BYTES] = "";
    uint64_t current = 0, limit = UINT64_MAX;
    bool grouped = own_group(proc, group);
    if (grouped) {
        uint64_t high = file_number(cgroup, group, "/memory.high");
        uint64_t most = file_number(cgroup, group, "/memory.max");
        limit = high < most ? high : most;
        if (limit != UINT64_MAX)
            current = file_number(cgroup, group, "/memory.current");
        if (current == UINT64_MAX)
            limit = UINT64_MAX;
    }
    if (!grouped || !read_file(text, cgroup, group, "/memory.pressure"))
        read_file(text, proc, "/pressure", "/memory");
    errno = saved;
    return hak_os_pressure_of(current, limit, stalled_percent(text));
}
