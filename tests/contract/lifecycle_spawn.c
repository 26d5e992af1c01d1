/*
 * vfork and posix_spawn while other threads allocate; popen and system, which use them.
 */
#include "support/pattern.h"
#include "support/rng.h"

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "support/api.h"

extern char **environ;

static atomic_int stop;

static void *busy_thread(void *argument)
{
    struct rng rng = {(uint64_t)(intptr_t)argument};
    while (!atomic_load(&stop)) {
        size_t size = rng_mixed_size(&rng);
        void *block = malloc(size);
        CHECK(block != NULL);
        pattern_fill(block, size, size);
        CHECK(pattern_first_difference(block, size, size) == size);
        free(block);
    }
    return NULL;
}

static void wait_for(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_THAT(status == 0, "status %#x", (unsigned)status);
}

static void spawn_repeatedly(void)
{
    for (int i = 0; i < 100; i++) {
        char name[] = "true";
        char *argv[] = {name, NULL};
        pid_t child;
        CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) == 0);
        wait_for(child);
    }
}

static void vfork_repeatedly(void)
{
    for (int i = 0; i < 100; i++) {
        pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        wait_for(child);
    }
}

static void popen_and_system(void)
{
    for (int i = 0; i < 20; i++) {
        char line[64] = "";
        FILE *pipe = popen("echo from the child", "r");
        CHECK(pipe != NULL);
        CHECK(fgets(line, sizeof line, pipe) != NULL && strcmp(line, "from the child\n") == 0);
        CHECK(pclose(pipe) == 0);
        CHECK(system("true") == 0);
    }
}

int main(void)
{
    reach_hakmem();
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, busy_thread, (void *)(intptr_t)i) == 0);
    RUN(spawn_repeatedly);
    RUN(vfork_repeatedly);
    RUN(popen_and_system);
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
