#include "support/api.h"

#include "in_heaps.h"

struct hakmem_heap *model_heaps[MODEL_HEAPS];

__attribute__((constructor)) static void make_heaps(void)
{
    for (int i = 0; i < MODEL_HEAPS; i++) {
        model_heaps[i] = hakmem_heap_new("model", 0);
        CHECK(model_heaps[i] != NULL);
    }
}

/* The model has freed all of its blocks. */
__attribute__((destructor)) static void destroy_heaps(void)
{
    for (int i = 0; i < MODEL_HEAPS; i++) {
        struct hakmem_heap_stats stats = {.size = sizeof stats};
        CHECK(hakmem_heap_stats_get(model_heaps[i], &stats) == 0);
        CHECK_THAT(stats.blocks == 0 && stats.used_bytes == 0 && stats.peak_bytes > 0,
                   "%llu blocks of %llu bytes left", (unsigned long long)stats.blocks,
                   (unsigned long long)stats.used_bytes);
        hakmem_heap_destroy(model_heaps[i]);
    }
}
