/*
 * hakmem-launch: runs one command and reports what it cost as one line of JSON.
 *
 * It is a small, statically linked program of its own because of how Linux counts a peak: ru_maxrss
 * of a process includes the memory that it had before exec, and a child starts as a copy of its
 * parent (after fork), or shares its memory (after vfork, which posix_spawn and Python's subprocess
 * use). Started straight from a Python process of 60 MB, `true` seems to need 60 MB. Started from
 * here, the floor is the few hundred KiB of this program, less than any dynamically linked one needs.
 *
 * The figures are those of wait4: of the command and of those of its descendants that were waited
 * for. Times and counts are sums over them, the peak is that of the largest one process.
 *
 * The preload value goes to the command alone, so that the launcher does not run on the allocator
 * under test. Synchronization: none, one thread.
 */
#include "samples.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The statuses of this program itself, as env and timeout have them; others are the command's. */
enum {
    TIMED_OUT = 124,
    LAUNCH_FAILED = 125,
    NOT_EXECUTABLE = 126,
    NOT_FOUND = 127,
    BY_SIGNAL = 128, /* plus the number of the signal */
};

static const char help[] =
    "usage: hakmem-launch [OPTION]... [--] COMMAND [ARGUMENT]...\n"
    "Runs COMMAND and writes what it cost as one line of JSON.\n"
    "  --output FILE        append the line to FILE (default: descriptor 2)\n"
    "  --fd N               write the line to descriptor N\n"
    "  --stdout FILE        send the command's standard output to FILE\n"
    "  --stderr FILE        send the command's standard error to FILE\n"
    "  --preload PATHS      LD_PRELOAD of the command\n"
    "  --env NAME=VALUE     add to the command's environment (repeatable)\n"
    "  --unset NAME         remove from the command's environment (repeatable)\n"
    "  --timeout SECONDS    kill the command's process group after so long; status 124\n"
    "  --samples FILE       write the resident memory over time to FILE, as \"seconds kib\" lines\n"
    "  --interval SECONDS   between two samples at first (default: 0.01)\n"
    "  --private            sample private memory only, without what is mapped from files or shared\n"
    "  --machine            also report what else ran on the machine meanwhile (/proc/stat)\n"
    "  --help               print this\n";

struct plan {
    const char *output;      /* file, or NULL */
    int report_to;           /* descriptor of the report */
    const char *child_files[3]; /* by descriptor; NULL keeps the launcher's */
    double timeout;          /* seconds, 0 for none */
    bool watch_machine;
    const char *samples; /* file, or NULL */
    double interval;     /* seconds */
    bool private_only;
    char **command;
};

/* Processor time of the whole machine since boot, in seconds over all processors. */
struct machine {
    double busy;   /* user, nice, system, irq, softirq */
    double steal;  /* taken by the hypervisor */
    long processors;
};

struct outcome {
    double wall; /* seconds */
    int status;  /* of wait4 */
    bool timed_out;
    struct rusage usage;
    struct machine before, after;
    struct samples samples;
};

__attribute__((format(printf, 2, 3))) static _Noreturn void
stop(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("hakmem-launch: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(status);
}

static double
parse_seconds(const char *name, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0 && seconds <= 1e6)) {
        stop(LAUNCH_FAILED, "%s must be a number of seconds from above 0 to 1000000, not"
                            " \"%s\"", name, text);
    }
    return seconds;
}

static int
parse_descriptor(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < 0 || number > 65535 ||
        fcntl((int)number, F_GETFD) < 0) {
        stop(LAUNCH_FAILED, "--fd must be the number of an open descriptor, not \"%s\"", text);
    }
    if (number > STDERR_FILENO) {
        /* A daemon that the command leaves behind must not keep the reader waiting. */
        fcntl((int)number, F_SETFD, FD_CLOEXEC);
    }
    return (int)number;
}

static void
change_environment(int option, char *text)
{
    if (option == 'u') {
        unsetenv(text);
        return;
    }
    if (text[0] == '=' || strchr(text, '=') == NULL) {
        stop(LAUNCH_FAILED, "--env must be NAME=VALUE, not \"%s\"", text);
    }
    putenv(text);
}

static void
set_preload(const char *paths)
{
    if (setenv("LD_PRELOAD", paths, 1) != 0) {
        stop(LAUNCH_FAILED, "cannot set LD_PRELOAD: %s", strerror(errno));
    }
}

static struct plan
parse_arguments(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},  {"fd", required_argument, NULL, 'f'},
        {"stdout", required_argument, NULL, '1'},  {"stderr", required_argument, NULL, '2'},
        {"preload", required_argument, NULL, 'p'}, {"env", required_argument, NULL, 'e'},
        {"unset", required_argument, NULL, 'u'},   {"timeout", required_argument, NULL, 't'},
        {"machine", no_argument, NULL, 'm'},       {"help", no_argument, NULL, 'h'},
        {"samples", required_argument, NULL, 's'}, {"interval", required_argument, NULL, 'i'},
        {"private", no_argument, NULL, 'P'},       {NULL, 0, NULL, 0}};
    struct plan plan = {.report_to = STDERR_FILENO, .interval = 0.01};
    /* "+": the first word that is no option starts the command. */
    for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        switch (option) {
        case 'o': plan.output = optarg; break;
        case 'f': plan.report_to = parse_descriptor(optarg); break;
        case '1': plan.child_files[STDOUT_FILENO] = optarg; break;
        case '2': plan.child_files[STDERR_FILENO] = optarg; break;
        case 'p': set_preload(optarg); break;
        case 'e':
        case 'u': change_environment(option, optarg); break;
        case 't': plan.timeout = parse_seconds("--timeout", optarg); break;
        case 's': plan.samples = optarg; break;
        case 'i': plan.interval = parse_seconds("--interval", optarg); break;
        case 'm': plan.watch_machine = true; break;
        case 'P': plan.private_only = true; break;
        case 'h': fputs(help, stdout); exit(0);
        default: exit(LAUNCH_FAILED); /* getopt has said what is wrong */
        }
    }
    plan.command = argv + optind;
    if (plan.command[0] == NULL) {
        stop(LAUNCH_FAILED, "no command given; --help lists the options");
    }
    return plan;
}

static double
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Zeros where /proc is not there: then nothing is known of the rest of the machine. */
static struct machine
read_machine(void)
{
    struct machine machine = {.processors = sysconf(_SC_NPROCESSORS_ONLN)};
    char text[256];
    int file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0) {
        close(file);
    }
    unsigned long long user, nice, system, idle, wait, irq, softirq, steal;
    text[length > 0 ? length : 0] = '\0';
    if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
               &wait, &irq, &softirq, &steal) == 8) {
        double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
        machine.busy = (double)(user + nice + system + irq + softirq) * tick;
        machine.steal = (double)steal * tick;
    }
    return machine;
}

/* Why the command never started: an error number, and the descriptor that could not be redirected
 * or 0 if it was the exec that failed. */
struct failure {
    int error;
    int descriptor;
};

/* In the child: takes the command's place, or reports the failure through the pipe. */
static _Noreturn void
become(const struct plan *plan, const sigset_t *signals, int failures)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a command without its launcher is nobody's */
    sigprocmask(SIG_SETMASK, signals, NULL);
    struct failure failure = {0};
    for (int descriptor = 1; descriptor <= 2 && failure.error == 0; descriptor++) {
        if (plan->child_files[descriptor] != NULL) {
            int file = open(plan->child_files[descriptor], O_WRONLY | O_CREAT | O_TRUNC, 0666);
            if (file < 0 || dup2(file, descriptor) < 0) {
                failure = (struct failure){errno, descriptor};
            }
        }
    }
    if (failure.error == 0) {
        execvp(plan->command[0], plan->command);
        failure.error = errno;
    }
    ssize_t written = write(failures, &failure, sizeof failure);
    _exit(written == sizeof failure ? NOT_FOUND : LAUNCH_FAILED);
}

static struct failure
receive_failure(int failures)
{
    struct failure failure = {0};
    ssize_t length = read(failures, &failure, sizeof failure);
    close(failures);
    return length == sizeof failure ? failure : (struct failure){0};
}

static void
stop_unless_started(const struct plan *plan, struct failure failure)
{
    if (failure.descriptor != 0) {
        stop(LAUNCH_FAILED, "cannot write \"%s\": %s", plan->child_files[failure.descriptor],
             strerror(failure.error));
    }
    if (failure.error != 0) {
        stop(failure.error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE, "cannot run \"%s\": %s",
             plan->command[0], strerror(failure.error));
    }
}

/*
 * Waits for the command to end, for the time to run out, or for a signal to pass on. Who asks a second
 * time means it: the command is then killed.
 */
static void
await(pid_t child, double start, const struct plan *plan, const sigset_t *signals,
      struct outcome *outcome)
{
    int asked = 0;
    bool killed = false;
    while (wait4(child, &outcome->status, WNOHANG, &outcome->usage) == 0) {
        double since_start = now() - start;
        double left = plan->timeout > 0 ? plan->timeout - since_start : 3600;
        if (left <= 0 && !killed) {
            outcome->timed_out = true;
        }
        if ((outcome->timed_out || asked > 1) && !killed) {
            kill(-child, SIGKILL);
            killed = true;
        }
        left = left < 0 || killed ? 1 : left;
        double next = samples_take(&outcome->samples, child, since_start);
        left = next < left ? next : left;
        struct timespec wait = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        int signal = sigtimedwait(signals, NULL, &wait);
        if (signal == SIGINT || signal == SIGTERM) {
            kill(-child, signal);
            asked++;
        }
    }
}

static struct outcome
run(const struct plan *plan)
{
    struct outcome outcome = {0};
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigprocmask(SIG_BLOCK, &ours, &before);
    int failures[2];
    if (pipe2(failures, O_CLOEXEC) != 0) {
        stop(LAUNCH_FAILED, "cannot make a pipe: %s", strerror(errno));
    }
    if (plan->watch_machine) {
        outcome.before = read_machine();
    }
    double start = now();
    pid_t child = fork();
    if (child == 0) {
        become(plan, &before, failures[1]);
    }
    if (child < 0) {
        stop(LAUNCH_FAILED, "cannot start a process: %s", strerror(errno));
    }
    setpgid(child, child); /* whichever of the two comes first */
    close(failures[1]);
    struct failure failure = receive_failure(failures[0]);
    outcome.samples.interval = plan->samples != NULL ? plan->interval : 0;
    outcome.samples.private_only = plan->private_only;
    await(child, start, plan, &ours, &outcome);
    outcome.wall = now() - start;
    if (plan->watch_machine) {
        outcome.after = read_machine();
    }
    stop_unless_started(plan, failure);
    return outcome;
}

static double
seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static void
report(const struct plan *plan, const struct outcome *outcome)
{
    int file = plan->report_to;
    if (plan->output != NULL) {
        file = open(plan->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (file < 0) {
            stop(LAUNCH_FAILED, "cannot write \"%s\": %s", plan->output, strerror(errno));
        }
    }
    const struct rusage *usage = &outcome->usage;
    double user = seconds_of(usage->ru_utime), system = seconds_of(usage->ru_stime);
    int exit_status = WIFEXITED(outcome->status) ? WEXITSTATUS(outcome->status) : -1;
    int signal = WIFSIGNALED(outcome->status) ? WTERMSIG(outcome->status) : 0;
    char machine[192] = "";
    if (plan->watch_machine) {
        double busy = outcome->after.busy - outcome->before.busy;
        snprintf(machine, sizeof machine,
                 ", \"processors\": %ld, \"busy_s\": %.2f, \"others_s\": %.2f, \"steal_s\": %.2f",
                 outcome->after.processors, busy, busy - user - system,
                 outcome->after.steal - outcome->before.steal);
    }
    int written =
        dprintf(file,
                "{\"wall_s\": %.6f, \"user_s\": %.6f, \"system_s\": %.6f, \"minor_faults\": %ld,"
                " \"major_faults\": %ld, \"voluntary_switches\": %ld,"
                " \"involuntary_switches\": %ld, \"peak_rss_kib\": %ld, \"exit_status\": %d,"
                " \"signal\": %d, \"timed_out\": %s%s}\n",
                outcome->wall, user, system, usage->ru_minflt, usage->ru_majflt, usage->ru_nvcsw,
                usage->ru_nivcsw, usage->ru_maxrss, exit_status, signal,
                outcome->timed_out ? "true" : "false", machine);
    if (written < 0) {
        stop(LAUNCH_FAILED, "cannot write the report: %s", strerror(errno));
    }
}

int
main(int argc, char **argv)
{
    struct plan plan = parse_arguments(argc, argv);
    struct outcome outcome = run(&plan);
    if (plan.samples != NULL && samples_write(&outcome.samples, plan.samples) != 0) {
        stop(LAUNCH_FAILED, "cannot write \"%s\": %s", plan.samples, strerror(errno));
    }
    report(&plan, &outcome);
    if (outcome.timed_out) {
        return TIMED_OUT;
    }
    return WIFEXITED(outcome.status) ? WEXITSTATUS(outcome.status)
                                     : BY_SIGNAL + WTERMSIG(outcome.status);
}
