/*
 * A small program for processes.sh: allocates in every tier, checks, and says so.
 */
#include "support/pattern.h"
#include "tiers.h"

#include "support/api.h"

int main(void)
{
    reach_hakmem();
    for (int i = 0; i < TIER_SAMPLES; i++) {
        size_t size = tier_samples[i] < (8u << 20) ? tier_samples[i] : 8u << 20;
        void *block = malloc(size);
        CHECK_THAT(block != NULL, "size %zu", size);
        pattern_fill(block, size, size);
        CHECK(pattern_first_difference(block, size, size) == size);
        free(block);
    }
    puts("probe done");
    return 0;
}
