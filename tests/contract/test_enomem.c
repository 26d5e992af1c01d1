/*
 * Out of memory: impossible sizes give NULL and ENOMEM, and so does an address space or data
 * limit; the heap is intact afterwards and serves again what was freed.
 *
 * The limits are set before the library starts: the program runs itself again under each.
 */
#include "support/pattern.h"
#include "support/proc.h"
#include "tiers.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "support/api.h"

enum { LIMIT_MIB = 128 };

static void impossible_sizes(void)
{
    static const size_t sizes[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 15,
                                   SIZE_MAX - 4095, SIZE_MAX - 65535, SIZE_MAX - (2u << 20),
                                   (size_t)PTRDIFF_MAX, (size_t)PTRDIFF_MAX - (2u << 20),
                                   (size_t)1 << 48, (size_t)1 << 57};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        errno = 0;
        CHECK_THAT(opaque(malloc(opaque_size(sizes[i]))) == NULL, "size %zu", sizes[i]);
        CHECK_THAT(errno == ENOMEM, "size %zu: errno %d", sizes[i], errno);
        errno = 0;
        CHECK(opaque(calloc(1, opaque_size(sizes[i]))) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(opaque(realloc(opaque(NULL), opaque_size(sizes[i]))) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(opaque(memalign(64, opaque_size(sizes[i]))) == NULL && errno == ENOMEM);
        void *block = opaque(malloc(100));
        CHECK(block != NULL);
        free(block);
    }
}

/* Blocks of one exhausting run, linked through their own first words. */
struct chain {
    struct chain *next;
    uint64_t stamp;
};

static struct chain *exhaust(size_t size, size_t *count)
{
    struct chain *head = NULL;
    *count = 0;
    for (;;) {
        errno = 0;
        struct chain *block = malloc(size);
        if (block == NULL)
            break;
        pattern_fill(block, size, *count);
        block->next = head;
        block->stamp = *count;
        head = block;
        ++*count;
        CHECK_THAT(*count * size < ((size_t)LIMIT_MIB << 20), "the limit does not hold");
    }
    CHECK(errno == ENOMEM);
    return head;
}

static void release(struct chain *head, size_t size)
{
    while (head != NULL) {
        struct chain *next = head->next;
        uint64_t stamp = head->stamp;
        for (size_t offset = sizeof *head; offset < size; offset = pattern_next(offset, size)) {
            uint64_t word = pattern_word(stamp, offset);
            size_t length = size - offset < 8 ? size - offset : 8;
            CHECK(memcmp((char *)head + offset, &word, length) == 0);
        }
        errno = 4716;
        free(head);
        CHECK(errno == 4716);
        head = next;
    }
}

static void exhaust_tier(size_t size)
{
    size_t first;
    size_t again;
    struct chain *blocks = exhaust(size, &first);
    size_t limit = (size_t)LIMIT_MIB << 20;
    CHECK_THAT(first * size >= limit / 2, "only %zu blocks of %zu under %d MiB", first, size,
               LIMIT_MIB);
    /* The heap still serves what is freed, and growing in vain leaves a block as it is. */
    struct chain *newest = blocks;
    blocks = blocks->next;
    errno = 0;
    CHECK(opaque(realloc(newest, opaque_size(limit))) == NULL && errno == ENOMEM);
    newest->next = NULL;
    release(newest, size);
    newest = malloc(size);
    /* glibc's moving mmap threshold makes it fail here at 128 KiB. */
    CHECK_THAT(newest != NULL || any_allocator(), "size %zu: none after one was freed", size);
    free(newest);
    release(blocks, size);
    blocks = exhaust(size, &again);
    release(blocks, size);
    CHECK_THAT(again * 10 >= first * 9, "size %zu: %zu blocks, then only %zu", size, first, again);
}

static void exhaust_each_tier(void)
{
    static const size_t sizes[] = {48, 1000, 16384, 131072, 4u << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        exhaust_tier(sizes[i]);
}

/* Each tier in a process of its own: what one tier holds on to must not excuse the next. */
static void run_under_limit(int resource, const char *size)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct rlimit limit = {(rlim_t)LIMIT_MIB << 20, (rlim_t)LIMIT_MIB << 20};
        CHECK(setrlimit(resource, &limit) == 0);
        execl("/proc/self/exe", "test_enomem", size, (char *)NULL);
        _exit(127);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "resource %d, size %s: status %#x",
               resource, size, (unsigned)status);
}

static void address_space_limit(void)
{
    static const char *const sizes[] = {"48", "1000", "16384", "131072", "4194304", "all"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        run_under_limit(RLIMIT_AS, sizes[i]);
}

static void data_limit(void)
{
    static const char *const sizes[] = {"48", "1000", "16384", "131072", "4194304"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        run_under_limit(RLIMIT_DATA, sizes[i]);
}

/* A limit that comes after the start: large blocks fail, small ones go on. */
static void limit_set_while_running(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rlim_t bytes = ((rlim_t)proc_virtual_kib() + (16u << 10)) << 10;
        struct rlimit limit = {bytes, bytes};
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        errno = 0;
        CHECK(opaque(malloc(opaque_size((size_t)1 << 40))) == NULL && errno == ENOMEM);
        for (int i = 0; i < 10000; i++) {
            void *block = opaque(malloc(64));
            CHECK(block != NULL);
            free(block);
        }
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

int main(int argc, char **argv)
{
    reach_hakmem();
    if (argc == 2) {
        if (strcmp(argv[1], "all") == 0)
            exhaust_each_tier();
        else
            exhaust_tier(strtoul(argv[1], NULL, 10));
        return 0;
    }
    RUN(impossible_sizes);
    RUN(address_space_limit);
    RUN(data_limit);
    RUN(limit_set_while_running);
    return 0;
}
