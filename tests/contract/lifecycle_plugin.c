/*
 * The shared object that lifecycle_dlopen_plugin loads and unloads: it allocates in its
 * constructor, its functions, its thread-local storage and its destructor.
 */
#include <stdlib.h>
#include <string.h>

static char *from_constructor;
static _Thread_local char *per_thread;
static _Thread_local char filler[3000];

__attribute__((constructor)) static void on_load(void)
{
    from_constructor = malloc(5000);
    if (from_constructor == NULL)
        abort();
    memset(from_constructor, 'c', 5000);
}

__attribute__((destructor)) static void on_unload(void)
{
    if (from_constructor[4999] != 'c')
        abort();
    free(from_constructor);
}

void *plugin_exchange(void *given, size_t size);
void plugin_leave_thread(void);

/* Returns a block that the caller frees; frees the one given. */
void *plugin_exchange(void *given, size_t size)
{
    free(given);
    if (per_thread == NULL)
        per_thread = strdup("kept for this thread");
    memset(filler, 1, sizeof filler);
    return calloc(1, size);
}

void plugin_leave_thread(void)
{
    free(per_thread);
    per_thread = NULL;
}
