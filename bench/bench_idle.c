/*
 * How much memory stays when a program has had a burst of work and then waits?
 *
 * THREADS (default 2), each BURSTS times (default 3): 64 MiB divided by THREADS are allocated in
 * blocks of 16 … 4,096 B, 99 in a hundred of them are freed, and the thread sleeps for IDLE ms
 * (default 500). Run under a meter of RSS over time it shows what goes back to the system, and
 * when. The figure is that of the bursts alone; an operation is one malloc with its free.
 */
#include "crew.h"

enum { BURST_BYTES = 64 << 20, MEAN = 2056, KEEP_ONE_IN = 100 };

static uint64_t idle_ms = 500;

static void
sleep_ms(uint64_t ms)
{
    struct timespec wait = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    while (nanosleep(&wait, &wait) != 0) {
    }
}

static void
work(struct crew_member *member)
{
    uint32_t count = BURST_BYTES / MEAN / member->count;
    void **blocks = bench_table(count * sizeof *blocks);
    double busy = 0;
    crew_ready(member);
    for (uint64_t burst = 0; burst < member->steps; burst++) {
        double start = bench_now();
        for (uint32_t i = 0; i < count; i++) {
            size_t size = 16 + bench_scale((uint32_t)(bench_next(&member->random) >> 32), 4081);
            if (blocks[i] == NULL) {
                blocks[i] = bench_malloc(size);
                bench_touch(blocks[i], size);
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            if (i % KEEP_ONE_IN != burst % KEEP_ONE_IN) {
                free(blocks[i]);
                blocks[i] = NULL;
            }
        }
        busy += bench_now() - start;
        sleep_ms(idle_ms);
    }
    crew_done(member, member->steps * count);
    member->end = member->start + busy;
    for (uint32_t i = 0; i < count; i++) {
        free(blocks[i]);
    }
}

int
main(int argc, char **argv)
{
    bench_expect(argc, 0, 4, "[THREADS] [BURSTS] [IDLE] [SEED]");
    uint64_t threads = bench_number_or(argc, argv, 1, "THREADS", 1, CREW_MAX, 2);
    uint64_t bursts = bench_number_or(argc, argv, 2, "BURSTS", 1, 1000000, 3);
    idle_ms = bench_number_or(argc, argv, 3, "IDLE", 0, 3600000, 500);
    uint64_t seed = bench_number_or(argc, argv, 4, "SEED", 0, UINT64_MAX, 1);
    crew_run(threads, bursts, seed, NULL, work);
    return 0;
}
