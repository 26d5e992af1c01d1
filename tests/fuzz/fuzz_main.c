/*
 * Runs the fuzz entry without a fuzzer.
 *
 *   fuzz_model_replay FILE...        replays what a fuzzer found
 *   fuzz_model_replay -runs=N        N random inputs, the same each time
 */
#include "support/check.h"
#include "support/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 16 };

static uint8_t input[INPUT_MAX];

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 2;
    }
    size_t length = fread(input, 1, sizeof input, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(input, length);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE... or %s -runs=N\n", argv[0], argv[0]);
        return 2;
    }
    if (strncmp(argv[1], "-runs=", 6) != 0) {
        for (int i = 1; i < argc; i++) {
            int status = replay(argv[i]);
            if (status != 0)
                return status;
        }
        return 0;
    }
    struct rng rng = {2026};
    for (long i = 0, runs = atol(argv[1] + 6); i < runs; i++) {
        size_t length = rng_below(&rng, sizeof input);
        for (size_t at = 0; at < length; at++)
            input[at] = (uint8_t)rng_next(&rng);
        (void)LLVMFuzzerTestOneInput(input, length);
    }
    return 0;
}
