#include "base/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/print.h"

_Noreturn void hak_check_failed(const char *expr, const char *file, int line)
{
    hak_print(STDERR_FILENO, "hakmem: internal check failed: %s (%s:%d)\n", expr, file, line);
    abort();
}
