/*
 * How fast is a pool of workers whose tasks are made by one and freed by another?
 *
 * THREADS workers (default 4), TASKS each (default 300,000). A task is a block of 64 B with an
 * input of 16 … 1,024 B. A worker runs the tasks that its neighbours in the circle have sent it: it
 * allocates a result, frees the input and sends the result on in a new task to its own neighbour,
 * or frees it at the end of its way. Nearly every block is freed by another thread than its own. An
 * operation is one task run.
 */
#include "crew.h"
#include "ring.h"

enum { HOPS = 8, AHEAD = 256 };

struct task {
    unsigned char *input;
    size_t size;
    unsigned hops_left;
    unsigned char rest[40];
};

static struct task *
make_task(struct bench_random *random, unsigned hops)
{
    size_t size = 16 + bench_scale((uint32_t)(bench_next(random) >> 32), 1009);
    struct task *task = bench_malloc(sizeof *task);
    *task = (struct task){.input = bench_malloc(size), .size = size, .hops_left = hops};
    bench_touch(task->input, size);
    return task;
}

static void
free_task(struct task *task)
{
    if (task != NULL) {
        free(task->input);
        free(task);
    }
}

/* What the task makes: its successor, or NULL at the end of its way. */
static struct task *
run_task(struct task *task, struct bench_random *random)
{
    struct task *made = task->hops_left > 0 ? make_task(random, task->hops_left - 1) : NULL;
    free_task(task);
    return made;
}

static void
work(struct crew_member *member)
{
    struct ring *rings = member->shared;
    struct ring *own = &rings[member->index];
    struct ring *next = &rings[(member->index + 1) % member->count];
    uint64_t run = 0;
    crew_ready(member);
    for (int i = 0; i < AHEAD; i++) {
        ring_put(next, make_task(&member->random, HOPS));
    }
    while (run < member->steps) {
        struct task *task = ring_take(own);
        if (task == NULL) {
            /* The one before it has nothing to send, or is done: work of its own keeps it busy. */
            task = make_task(&member->random, HOPS);
            sched_yield();
        }
        struct task *made = run_task(task, &member->random);
        if (made == NULL) {
            made = make_task(&member->random, HOPS);
        }
        if (!ring_put(next, made)) {
            free_task(made);
        }
        run++;
    }
    crew_done(member, run);
    pthread_barrier_wait(member->start_line); /* nobody sends any more */
    for (struct task *task; (task = ring_take(own)) != NULL;) {
        free_task(task);
    }
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 3, "[THREADS] [TASKS] [SEED]");
    uint64_t threads = bench_number_or(argc, argv, 1, "THREADS", 1, CREW_MAX, 4);
    uint64_t tasks = bench_number_or(argc, argv, 2, "TASKS", 1, 1000000000000u, 300000);
    uint64_t seed = bench_number_or(argc, argv, 3, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, tasks, seed, bench_table(threads * sizeof(struct ring)), work);
    return 0;
}
