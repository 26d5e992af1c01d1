/*
 * The library itself loaded after the start, as an extension module would: RTLD_LOCAL, its own
 * names through dlsym, the rest of the program on the system allocator, threads that outlive
 * dlclose. Runs with nothing preloaded.
 */
#include "support/pattern.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

static void *(*library_malloc)(size_t);
static void (*library_free)(void *);
static void *(*library_realloc)(void *, size_t);
static atomic_int closed;

static void use(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        size_t size = (size_t)(i % 1000) * 37 + 1;
        unsigned char *block = library_malloc(size);
        CHECK(block != NULL);
        pattern_fill(block, size, (uint64_t)i);
        block = library_realloc(block, size * 2);
        CHECK(block != NULL && pattern_prefix_difference(block, size, size, (uint64_t)i) == size);
        library_free(block);
        free(opaque(malloc(size)));
    }
}

static void *thread_main(void *argument)
{
    (void)argument;
    use(2000);
    while (!atomic_load(&closed))
        usleep(1000);
    /* Ends after dlclose: the exit hook must still be there. */
    return NULL;
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK_THAT(library != NULL, "%s", dlerror());
    library_malloc = (void *(*)(size_t))dlsym(library, "hakmem_malloc");
    library_free = (void (*)(void *))dlsym(library, "hakmem_free");
    library_realloc = (void *(*)(void *, size_t))dlsym(library, "hakmem_realloc");
    CHECK(library_malloc != NULL && library_free != NULL && library_realloc != NULL);
    pthread_t threads[6];
    atomic_store(&closed, 0);
    for (int i = 0; i < 6; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_main, NULL) == 0);
    use(2000);
    void *kept = library_malloc(500);
    CHECK(kept != NULL);
    memset(kept, 3, 500);
    CHECK(dlclose(library) == 0);
    atomic_store(&closed, 1);
    for (int i = 0; i < 6; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(((unsigned char *)kept)[499] == 3);
}

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 2, "usage: lifecycle_dlopen_hakmem LIBRARY");
    for (int i = 0; i < 10; i++)
        load(argv[1]);
    check_passed("load");
    return 0;
}
