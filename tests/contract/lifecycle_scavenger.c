/*
 * The thread that gives memory back: it comes only when there is much to give, is no burden to the
 * program's signals, forks and end, and a program in which no thread can be made goes on without.
 */
#include "support/pattern.h"
#include "support/proc.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "support/api.h"

enum { BLOCKS = 20000, SIZE = 1000, PATIENCE_MS = 20000 };

static void *blocks[BLOCKS];

static void burst(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(SIZE);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], i, SIZE);
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

/* Reads /proc/self/task/TID/NAME; false when the thread is gone. */
static bool task_file(const char *tid, const char *name, char *text, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", tid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* The number of threads; the scavenger's id in tid, or "". */
static int tasks(char tid[32])
{
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder != NULL);
    int count = 0;
    struct dirent *entry;
    tid[0] = '\0';
    while ((entry = readdir(folder)) != NULL) {
        char comm[64];
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (task_file(entry->d_name, "comm", comm, sizeof comm) && !strcmp(comm, "hakmem-scav\n"))
            snprintf(tid, 32, "%.30s", entry->d_name);
    }
    closedir(folder);
    return count;
}

static bool appears(char tid[32])
{
    for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
        tasks(tid);
        if (tid[0] != '\0')
            return true;
        usleep(10000);
    }
    return false;
}

static unsigned long number_after(const char *text, const char *key, int base)
{
    const char *found = strstr(text, key);
    CHECK_THAT(found != NULL, "%s", key);
    return strtoul(found + strlen(key), NULL, base);
}

static void a_small_program_has_one_thread(void)
{
    char tid[32];
    for (int i = 0; i < 1000; i++)
        free(opaque(malloc((size_t)i * 10)));
    CHECK(tasks(tid) == 1 + CHECK_UNDER_TSAN);
}

static void a_burst_brings_it_with_all_signals_blocked(void)
{
    char tid[32], status[4096];
    burst();
    CHECK(appears(tid));
    CHECK(task_file(tid, "status", status, sizeof status));
    unsigned long blocked = number_after(status, "SigBlk:", 16);
    for (int signal = 1; signal < 32; signal++)
        if (signal != SIGKILL && signal != SIGSTOP)
            CHECK_THAT(blocked >> (signal - 1) & 1, "signal %d", signal);
}

/* Waits until it does not wake any more; a thread that polls never does that. */
static void it_sleeps_when_there_is_nothing_to_do(void)
{
    char tid[32], status[4096];
    unsigned long before = 0, now = 1;
    CHECK(appears(tid));
    for (int i = 0; i < PATIENCE_MS / 1000 && before != now; i++) {
        before = now;
        usleep(1000000);
        CHECK(task_file(tid, "status", status, sizeof status));
        now = number_after(status, "\nvoluntary_ctxt_switches:", 10);
    }
    CHECK(before == now);
    burst(); /* and it comes back for the next one */
    for (int ms = 0; ms < PATIENCE_MS && now == before; ms += 10) {
        usleep(10000);
        CHECK(task_file(tid, "status", status, sizeof status));
        now = number_after(status, "\nvoluntary_ctxt_switches:", 10);
    }
    CHECK(now != before);
}

static void in_child(void (*function)(void))
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(PATIENCE_MS / 1000 * 2); /* a hang ends as a failure */
        function();
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_THAT(status == 0, "status %#x", status);
}

static void child_of_fork(void)
{
    char tid[32];
    CHECK(tasks(tid) == 1 + CHECK_UNDER_TSAN);
    burst();
    CHECK(appears(tid));
}

static void a_child_starts_its_own(void)
{
    for (int i = 0; i < 5; i++)
        in_child(child_of_fork);
}

/* The scavenger must not keep the process: the parent would wait for ever. */
static void leave_by_pthread_exit(void)
{
    char tid[32];
    burst();
    CHECK(appears(tid));
    pthread_exit(NULL);
}

static void it_does_not_keep_a_process(void)
{
    in_child(leave_by_pthread_exit);
}

static void refuse_threads(void)
{
#define REFUSE(call) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_clone), REFUSE(SYS_clone3),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(0); /* no such filters here */
    char tid[32];
    for (int i = 0; i < 5; i++)
        burst();
    CHECK(tasks(tid) == 1 + CHECK_UNDER_TSAN);
}

static void without_threads_all_goes_on(void)
{
    in_child(refuse_threads);
}

int main(void)
{
    reach_hakmem();
    if (any_allocator())
        return CHECK_SKIPPED;
    RUN(a_small_program_has_one_thread);
    RUN(a_burst_brings_it_with_all_signals_blocked);
    RUN(it_sleeps_when_there_is_nothing_to_do);
    RUN(a_child_starts_its_own);
    RUN(it_does_not_keep_a_process);
    RUN(without_threads_all_goes_on);
    return 0;
}
