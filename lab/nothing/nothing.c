/*
 * libnothing.so: the allocator that does nothing, for the limit of what any allocator can reach.
 *
 * malloc hands out the blocks of a ring in turn, whatever the size asked for; free returns at once.
 * The ring is touched before main, so nothing faults. A program that is preloaded with it spends
 * its time on itself: what another allocator needs beyond that is what the allocator costs.
 *
 * A malloc is four instructions and a free is one. To get there, the order of the ring is data and
 * not code: the address of a block's successor is stored at a constant distance from the block, in
 * a shadow of the ring where no write past the end of a block can reach it:
 *
 *     |<--------- SHADOW bytes ------------->|
 *     [b0][b1] ... [bn] | ROOM | kept blocks |[&b1][&b2] ... [&b0]
 *      p                                       *(p + SHADOW) is p's successor
 *
 * Limits of the method:
 *  - A block is overwritten as soon as the ring comes round to it. A program that needs what its
 *    blocks hold runs only if it never has more of them than the ring. The programs under bench/ do
 *    not read what they wrote, so they run at any size; the exceptions are the string and realloc
 *    scenarios of bench_allocators, for which the ring must be larger than the working set.
 *  - A request larger than a block overlaps the blocks after it. ROOM is the largest request that
 *    stays inside the mapping; malloc does not look, so a larger one runs into the kept blocks.
 *  - All threads share one ring without synchronization: two of them may be given the same block,
 *    and the cursor's cache line moves between them. The limit shown is that of one thread.
 *  - calloc and the aligned functions serve what must keep its contents (the C library's own
 *    thread tables come from calloc); their blocks are never used again, and NULL is returned when
 *    all are taken.
 *
 * Read once, before main: HAKMEM_NOTHING_BLOCK (bytes from block to block, a multiple of 16,
 * default 1,088) and HAKMEM_NOTHING_BLOCKS (their number, default 256). Their product is at most
 * 512 MiB.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHADOW ((size_t)1 << 30)   /* bytes from a block to the word with its successor */
#define RING_MAX ((size_t)1 << 29) /* bytes */
#define ROOM ((size_t)1 << 26)     /* bytes after the ring */
#define PUBLIC __attribute__((visibility("default")))

static char *cursor;              /* the block that the next malloc returns */
static size_t block_bytes = 1088; /* 17 cache lines: the blocks spread over all sets of a cache */
static size_t block_count = 256;
static _Atomic uintptr_t kept_next;
static uintptr_t kept_end;
static const char bad_setting[] =
    "libnothing: HAKMEM_NOTHING_BLOCK must be a multiple of 16, HAKMEM_NOTHING_BLOCKS at least 1,"
    " and their product at most 536870912\n";

PUBLIC void *
malloc(size_t size)
{
    (void)size;
    char *block = cursor;
    cursor = *(char **)(block + SHADOW);
    return block;
}

PUBLIC void
free(void *block)
{
    (void)block;
}

/* Nothing of stdio works this early. */
static _Noreturn void
stop(const char *line)
{
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    _exit(written < 0 ? 3 : 2);
}

/* The value of NAME in the environment, or otherwise. The C library's getenv is not ready yet. */
static size_t
read_setting(char **environment, const char *name, size_t otherwise)
{
    size_t length = strlen(name);
    for (char **entry = environment; *entry != NULL; entry++) {
        if (strncmp(*entry, name, length) != 0 || (*entry)[length] != '=') {
            continue;
        }
        size_t value = 0;
        for (const char *digit = *entry + length + 1; *digit != '\0'; digit++) {
            if (*digit < '0' || *digit > '9' || value > RING_MAX) {
                stop(bad_setting);
            }
            value = value * 10 + (size_t)(*digit - '0');
        }
        return value;
    }
    return otherwise;
}

/*
 * Linked with -z initfirst, so that it runs before the constructors of every other library, which
 * may call malloc. glibc passes a constructor the arguments of main.
 */
__attribute__((constructor)) static void
set_up_ring(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    block_bytes = read_setting(environment, "HAKMEM_NOTHING_BLOCK", block_bytes);
    block_count = read_setting(environment, "HAKMEM_NOTHING_BLOCKS", block_count);
    if (block_bytes < 16 || block_bytes % 16 != 0 || block_count < 1 ||
        block_bytes > RING_MAX / block_count) {
        stop(bad_setting);
    }
    size_t ring_bytes = block_bytes * block_count;
    char *ring = mmap(NULL, 2 * SHADOW, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ring == MAP_FAILED) {
        stop("libnothing: cannot map 2 GiB of address space for the ring and its shadow\n");
    }
    memset(ring, 1, ring_bytes);
    for (size_t i = 0; i < block_count; i++) {
        *(char **)(ring + i * block_bytes + SHADOW) = ring + (i + 1) % block_count * block_bytes;
    }
    kept_next = (uintptr_t)ring + ring_bytes + ROOM;
    kept_end = (uintptr_t)ring + SHADOW;
    cursor = ring;
}

/* A zeroed block that stays what it is. */
static void *
keep(size_t alignment, size_t size)
{
    size_t step = size + (alignment < 16 ? 16 : alignment);
    if (step < size || step > SHADOW) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t start = atomic_fetch_add(&kept_next, (step + 15) & ~(uintptr_t)15);
    if (start + step > kept_end) {
        errno = ENOMEM;
        return NULL;
    }
    return (void *)((start + alignment - 1) & ~(uintptr_t)(alignment - 1));
}

PUBLIC void *
calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return keep(16, bytes);
}

/* The old size is not known: as many bytes are copied as are asked for, which the mapping allows.
 * Blocks overlap where they are larger than the step of the ring, hence memmove. */
PUBLIC void *
realloc(void *old, size_t size)
{
    if (size > ROOM) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = malloc(size);
    return old != NULL ? memmove(block, old, size) : block;
}

PUBLIC void *
reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, bytes);
}

PUBLIC void *
aligned_alloc(size_t alignment, size_t size)
{
    return keep(alignment, size);
}

PUBLIC void *
memalign(size_t alignment, size_t size)
{
    return keep(alignment, size);
}

PUBLIC void *
valloc(size_t size)
{
    return keep(4096, size);
}

PUBLIC void *
pvalloc(size_t size)
{
    return keep(4096, (size + 4095) & ~(size_t)4095);
}

PUBLIC int
posix_memalign(void **result, size_t alignment, size_t size)
{
    void *block = keep(alignment, size);
    if (block == NULL) {
        return ENOMEM;
    }
    *result = block;
    return 0;
}

PUBLIC size_t
malloc_usable_size(void *block)
{
    return block != NULL ? block_bytes : 0;
}
