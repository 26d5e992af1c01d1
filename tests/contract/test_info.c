/*
 * malloc_trim, mallinfo, mallinfo2, malloc_info, malloc_stats, mallopt.
 */
#include "support/pattern.h"
#include "support/proc.h"

#include <sys/mman.h>

#include "support/api.h"

enum { COUNT = 16384, SIZE = 1000 };

static void *blocks[COUNT];

static void hold(void)
{
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(SIZE);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, SIZE);
    }
}

static void let_go(void)
{
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
}

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void mallinfo2_follows_the_heap(void)
{
    size_t before = in_use();
    hold();
    size_t held = in_use();
    let_go();
    size_t after = in_use();
    size_t asked = (size_t)COUNT * SIZE;
    CHECK_THAT(held >= before + asked && held <= before + asked + asked / 4,
               "%zu before, %zu held, %zu asked for", before, held, asked);
    CHECK_THAT(after <= before + asked / 16, "%zu before, %zu after", before, after);
}

static void mallinfo2_sees_large_blocks(void)
{
    size_t before = in_use();
    void *block = opaque(malloc(64u << 20));
    CHECK(block != NULL);
    size_t held = in_use();
    free(block);
    CHECK_THAT(held >= before + (64u << 20), "%zu before, %zu held", before, held);
    CHECK_THAT(in_use() < before + (32u << 20), "%zu before, %zu after", before, in_use());
}

static void mallinfo_agrees_with_mallinfo2(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    hold();
    struct mallinfo narrow = mallinfo();
    struct mallinfo2 wide = mallinfo2();
    let_go();
#pragma GCC diagnostic pop
    size_t narrow_use = (size_t)(unsigned)narrow.uordblks + (size_t)(unsigned)narrow.hblkhd;
    size_t wide_use = wide.uordblks + wide.hblkhd;
    size_t apart = narrow_use > wide_use ? narrow_use - wide_use : wide_use - narrow_use;
    CHECK_THAT(apart < 65536, "mallinfo %zu, mallinfo2 %zu", narrow_use, wide_use);
}

static void trim_gives_memory_back(void)
{
    enum { ROUNDS = 4 };
    malloc_trim(0);
    size_t before = proc_rss_kib();
    hold();
    size_t held = proc_rss_kib();
    let_go();
    int released = malloc_trim(0);
    CHECK_THAT(released == 0 || released == 1, "malloc_trim gave %d", released);
    size_t after = proc_rss_kib();
    CHECK_THAT(held >= before + 8192 || !PROC_RSS_TELLS, "%zu KiB before, %zu held", before, held);
    CHECK_THAT(after <= before + (held - before) / 8 + 1024, "%zu KiB before, %zu held, %zu after",
               before, held, after);
    for (int i = 0; i < ROUNDS; i++)
        CHECK((unsigned)malloc_trim((size_t)i << 20) <= 1);
    hold();
    let_go();
}

/* What a function prints to a stream of its own choosing, as text in a static buffer. */
static char text[1 << 20];

static void malloc_info_writes_xml(void)
{
    FILE *file = tmpfile();
    CHECK(file != NULL);
    hold();
    CHECK(malloc_info(0, file) == 0);
    let_go();
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    fclose(file);
    CHECK_THAT(strncmp(text, "<malloc version=\"", 17) == 0, "%.60s", text);
    CHECK_THAT(strstr(text, "</malloc>") != NULL, "%.60s", text);
    file = tmpfile();
    CHECK(file != NULL);
    CHECK(malloc_info(1, file) != 0);
    CHECK(ftell(file) == 0);
    fclose(file);
}

static void malloc_stats_prints_to_stderr(void)
{
    int fd = memfd_create("stderr", MFD_CLOEXEC);
    CHECK(fd >= 0);
    int saved = dup(STDERR_FILENO);
    CHECK(saved >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    malloc_stats();
    fflush(stderr);
    CHECK(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    close(fd);
    CHECK_THAT(length > 20, "%zd bytes", length);
    text[length] = '\0';
    CHECK_THAT(strpbrk(text, "0123456789") != NULL, "%.60s", text);
    CHECK(text[length - 1] == '\n');
}

/* Whatever is asked for, the answer is 0 or 1 and the heap goes on working. */
static void mallopt_answers(void)
{
    static const int parameters[] = {M_MXFAST, M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD,
                                     M_MMAP_MAX, M_ARENA_MAX, M_ARENA_TEST};
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        errno = 4717;
        int answer = mallopt(parameters[i], 64);
        CHECK_THAT(answer == 0 || answer == 1, "parameter %d gave %d", parameters[i], answer);
        CHECK(errno == 4717);
        hold();
        let_go();
    }
    int unknown = mallopt(987654, 1);
    CHECK(unknown == 0 || unknown == 1);
}

int main(void)
{
    reach_hakmem();
    RUN(mallinfo2_follows_the_heap);
    RUN(mallinfo2_sees_large_blocks);
    RUN(mallinfo_agrees_with_mallinfo2);
    RUN(trim_gives_memory_back);
    RUN(malloc_info_writes_xml);
    RUN(malloc_stats_prints_to_stderr);
    RUN(mallopt_answers);
    return 0;
}
