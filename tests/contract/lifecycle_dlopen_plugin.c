/*
 * dlopen and dlclose, again and again, of a library that allocates; blocks cross its border in
 * both directions, outlive it, and are exchanged in threads.
 */
#include "support/pattern.h"
#include "support/proc.h"

#include <pthread.h>

#include "support/api.h"

static const char *plugin_path;

static void use_plugin_once(int round)
{
    void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    CHECK_THAT(plugin != NULL, "%s", dlerror());
    void *(*exchange)(void *, size_t) = (void *(*)(void *, size_t))dlsym(plugin, "plugin_exchange");
    void (*leave)(void) = (void (*)(void))dlsym(plugin, "plugin_leave_thread");
    CHECK(exchange != NULL && leave != NULL);
    void *block = NULL;
    for (size_t size = 8; size < 100000; size *= 3) {
        block = exchange(block, size);
        CHECK(block != NULL);
        pattern_fill(block, size, size);
        block = exchange(block, size + (size_t)round);
        CHECK(block != NULL && first_nonzero(block, size + (size_t)round) == size + (size_t)round);
    }
    leave();
    CHECK(dlclose(plugin) == 0);
    /* The block outlives the library that asked for it. */
    memset(block, 1, 1000);
    free(block);
}

static void load_and_unload(void)
{
    for (int round = 0; round < 20; round++)
        use_plugin_once(round);
    size_t before = proc_rss_kib();
    for (int round = 0; round < 500; round++)
        use_plugin_once(round);
    CHECK_THAT(proc_rss_kib() < before + 8192, "%zu KiB before, %zu after", before, proc_rss_kib());
}

static void *thread_main(void *argument)
{
    for (int round = 0; round < 50; round++)
        use_plugin_once(round + (int)(intptr_t)argument);
    return NULL;
}

static void load_and_unload_in_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 2, "usage: lifecycle_dlopen_plugin PLUGIN");
    plugin_path = argv[1];
    reach_hakmem();
    RUN(load_and_unload);
    RUN(load_and_unload_in_threads);
    return 0;
}
