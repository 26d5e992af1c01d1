/* closed_stderr: without a stderr the program is aborted all the same. */
#include "misuse.h"

int main(void)
{
    void *block = block_of(9000);
    free(block);
    CHECK(close(STDERR_FILENO) == 0);
    misuse(CALL_FREE, block);
    return 0;
}
