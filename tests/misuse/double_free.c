/* double_free CALL SIZE: a block is freed and at once given to CALL. */
#include "misuse.h"

int main(int argc, char **argv)
{
    CHECK_THAT(argc == 3, "usage: %s CALL SIZE", argv[0]);
    void *block = block_of(size_argument(argv[2]));
    free(block);
    misuse(call_named(argv[1]), block);
    return 0;
}
