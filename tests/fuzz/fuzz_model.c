/*
 * The model test driven by bytes that a fuzzer chooses: 3 bytes make the number of one step.
 *
 * Built with clang's libFuzzer (-fsanitize=fuzzer) it searches; with fuzz_main.c it replays files
 * and otherwise tries random inputs.
 */
#include "random/model.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { BYTES_A_STEP = 3, LIVE_BYTES = 64 << 20 };
    static struct model_player player;
    model_start(&player, LIVE_BYTES);
    for (size_t i = 0; i + BYTES_A_STEP <= size; i += BYTES_A_STEP)
        model_step(&player, (uint64_t)data[i] | (uint64_t)data[i + 1] << 8 |
                                (uint64_t)data[i + 2] << 16);
    model_end(&player);
    return 0;
}
