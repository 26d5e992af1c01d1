/*
 * message_variable: the last words are also in hakmem_abort_message, where a debugger and a core
 * file show them. The handler of SIGABRT repeats them on stdout.
 */
#include "misuse.h"

#include <dlfcn.h>
#include <signal.h>

static const char *message;

static void on_abort(int number)
{
    (void)number;
    say(message);
    say("\n");
}

int main(void)
{
    message = dlsym(RTLD_DEFAULT, "hakmem_abort_message");
    CHECK_THAT(message != NULL, "hakmem_abort_message is not there");
    CHECK(message[0] == '\0');
    struct sigaction action = {.sa_handler = on_abort};
    CHECK(sigaction(SIGABRT, &action, NULL) == 0);
    void *block = block_of(9000);
    free(block);
    misuse(CALL_FREE, block);
    return 0;
}
