#include "space/metadata.h"

#include <string.h>

#include "base/check.h"
#include "os/os.h"

enum {
    SHIFT_MIN = 4,
    SHIFT_MAX = 30,
    CHUNK_BYTES = 1 << 20,
    COMMIT_BYTES = 1 << 16,
};

struct piece {
    struct piece *next;
};

static struct {
    struct hak_lock lock;
    char *bump, *committed, *end; /* bump <= committed <= end */
    char *reserve, *reserve_end;  /* for chunks */
    size_t bytes;
    struct piece *lists[2 * (SHIFT_MAX - SHIFT_MIN) + 1];
} metadata;

/* Sizes are powers of two and, from 48 B on, three quarters of one before each: bitmaps are most of the
 * metadata, and of any length. Even numbers are the powers. */
static unsigned piece_class(size_t bytes)
{
    unsigned shift = bytes <= (1u << SHIFT_MIN) ? SHIFT_MIN : hak_log2(bytes - 1) + 1;
    bool between = shift >= SHIFT_MIN + 2 && bytes <= (size_t)3 << (shift - 2);
    return 2 * (shift - SHIFT_MIN) - between;
}

static size_t class_bytes(unsigned class)
{
    unsigned shift = SHIFT_MIN + (class + 1) / 2;
    return class % 2 == 0 ? (size_t)1 << shift : (size_t)3 << (shift - 2);
}

static bool chunk_new(size_t bytes)
{
    size_t want = hak_round_up(bytes < CHUNK_BYTES ? CHUNK_BYTES : bytes, COMMIT_BYTES);
    char *chunk = metadata.reserve;
    if (want <= (size_t)(metadata.reserve_end - chunk)) {
        metadata.reserve += want;
    } else {
        chunk = hak_os_reserve(want, COMMIT_BYTES, HAK_OS_NO_ACCESS);
        if (chunk == NULL)
            return false;
        hak_os_huge_pages(chunk, want, false);
    }
    metadata.bump = metadata.committed = chunk;
    metadata.end = chunk + want;
    return true;
}

static bool commit_to(char *end)
{
    if (end <= metadata.committed)
        return true;
    size_t bytes = hak_round_up((size_t)(end - metadata.committed), COMMIT_BYTES);
    if (!hak_os_commit(metadata.committed, bytes))
        return false;
    metadata.committed += bytes;
    metadata.bytes += bytes;
    return true;
}

static void *bump_alloc(size_t bytes)
{
    size_t align = bytes & -bytes;
    if (align > HAK_METADATA_ALIGN_MAX)
        align = HAK_METADATA_ALIGN_MAX;
    for (;;) {
        char *p = (char *)hak_round_up((uintptr_t)metadata.bump, align);
        if (metadata.bump != NULL && p + bytes <= metadata.end) {
            if (!commit_to(p + bytes))
                return NULL;
            metadata.bump = p + bytes;
            return p;
        }
        if (!chunk_new(bytes))
            return NULL;
    }
}

void *hak_metadata_alloc(size_t bytes)
{
    if (bytes > (size_t)1 << SHIFT_MAX)
        return NULL;
    unsigned class = piece_class(bytes);
    hak_lock_acquire(&metadata.lock);
    struct piece *p = metadata.lists[class];
    if (p != NULL)
        metadata.lists[class] = p->next;
    void *fresh = p == NULL ? bump_alloc(class_bytes(class)) : NULL;
    hak_lock_release(&metadata.lock);
    if (p != NULL)
        memset(p, 0, class_bytes(class));
    return p != NULL ? p : fresh;
}

void hak_metadata_free(void *p, size_t bytes)
{
    unsigned class = piece_class(bytes);
    struct piece *piece = p;
    hak_lock_acquire(&metadata.lock);
    piece->next = metadata.lists[class];
    metadata.lists[class] = piece;
    hak_lock_release(&metadata.lock);
}

void hak_metadata_adopt(void *p, size_t bytes)
{
    hak_lock_acquire(&metadata.lock);
    metadata.bump = p;
    metadata.committed = metadata.end = (char *)p + bytes;
    metadata.bytes += bytes;
    hak_lock_release(&metadata.lock);
}

void hak_metadata_reserve(void *p, size_t bytes)
{
    hak_lock_acquire(&metadata.lock);
    metadata.reserve = p;
    metadata.reserve_end = (char *)p + bytes;
    hak_lock_release(&metadata.lock);
}

size_t hak_metadata_bytes(void)
{
    hak_lock_acquire(&metadata.lock);
    size_t bytes = metadata.bytes;
    hak_lock_release(&metadata.lock);
    return bytes;
}

void hak_metadata_fork_prepare(void)
{
    hak_lock_acquire(&metadata.lock);
}

void hak_metadata_fork_release(void)
{
    hak_lock_release(&metadata.lock);
}

void hak_metadata_fork_child(void)
{
    hak_lock_reset(&metadata.lock);
}
