/*
 * hakmem-steps: counts the user-mode instructions of a command by single-stepping it.
 *
 * Callgrind is a hundred times faster, but gives a program less than 128 GiB of addresses, and
 * snmalloc reserves that much for its page map. What it counts it counts alike, so that figures of
 * either may be compared: one for each instruction that ends, of all threads. (A string instruction
 * with a repeat prefix is one step an element, as in callgrind.)
 *
 * Restartable sequences cannot be stepped through: the kernel aborts a sequence whenever its thread is
 * stopped. An allocator that relies on them must be counted by callgrind, where it does without.
 *
 * usage: hakmem-steps FILE COMMAND [ARGUMENT]...    the count goes to FILE, the status is COMMAND's
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS_FAILED = 125, NOT_RUN = 127, BY_SIGNAL = 128 };

static _Noreturn void
stop(const char *what, const char *which)
{
    fprintf(stderr, "hakmem-steps: %s%s: %s\n", what, which, strerror(errno));
    exit(STEPS_FAILED);
}

static pid_t
start(char **command)
{
    pid_t child = fork();
    if (child < 0) {
        stop("cannot start a process", "");
    }
    if (child > 0) {
        return child;
    }
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        stop("cannot be traced", "");
    }
    raise(SIGSTOP);
    execvp(command[0], command);
    fprintf(stderr, "hakmem-steps: cannot run \"%s\": %s\n", command[0], strerror(errno));
    _exit(NOT_RUN);
}

/* A thread that died meanwhile is no error: its end is reported by a later wait. */
static void
step(pid_t thread, int signal)
{
    if (ptrace(PTRACE_SINGLESTEP, thread, NULL, (void *)(intptr_t)signal) != 0 && errno != ESRCH) {
        stop("cannot step", "");
    }
}

/* Steps every thread to its end; returns the status of the first one's. */
static int
step_all(pid_t first, uint64_t *count)
{
    bool running = false; /* the command itself, after exec */
    for (;;) {
        int status;
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) {
            stop("cannot wait", "");
        }
        if (!WIFSTOPPED(status)) {
            if (thread == first) {
                return status;
            }
            continue;
        }
        int signal = WSTOPSIG(status);
        int event = status >> 16;
        if (event == PTRACE_EVENT_EXEC) {
            running = true;
        } else if (signal == SIGTRAP && event == 0) {
            *count += running;
        }
        /* SIGTRAP is a step or an event, SIGSTOP the start of a thread; the rest is the command's. */
        step(thread, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
    }
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("hakmem-steps: usage: hakmem-steps FILE COMMAND [ARGUMENT]...\n", stderr);
        return STEPS_FAILED;
    }
    FILE *file = fopen(argv[1], "we");
    if (file == NULL) {
        stop("cannot write ", argv[1]);
    }
    pid_t child = start(argv + 2);
    int status;
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) {
        stop("cannot trace ", argv[2]);
    }
    long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)options) != 0) {
        stop("cannot trace ", argv[2]);
    }
    step(child, 0);
    uint64_t count = 0;
    status = step_all(child, &count);
    fprintf(file, "%llu\n", (unsigned long long)count);
    if (fclose(file) != 0) {
        stop("cannot write ", argv[1]);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}
