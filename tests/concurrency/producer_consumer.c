/*
 * Producers allocate, consumers check the stamp and free: every free is remote, and the producers
 * must get their memory back. Once in pairs, once many to one, once one to many.
 */
#include "support/crew.h"
#include "support/rng.h"

#include "support/parcel.h"

#include "settle.h"

enum { THREADS = 4 };

static struct ring rings[THREADS][THREADS];
static int parcels;
static int producers;
static int consumers;

static void produce(int number)
{
    struct rng rng = {(uint64_t)number + 1};
    for (int i = 0; i < parcels; i++) {
        struct parcel parcel =
            parcel_make(rng_mixed_size(&rng) / 2 + 1, (unsigned)number, (uint64_t)i);
        while (!ring_send(&rings[number][i % consumers], parcel))
            sched_yield();
    }
}

static void consume(int number)
{
    /* Of each producer comes every consumers-th parcel, counted from this consumer's number. */
    int expected = producers * ((parcels - number + consumers - 1) / consumers);
    uint64_t last[THREADS] = {0};
    for (int got = 0; got < expected;) {
        bool any = false;
        for (int from = 0; from < producers; from++) {
            struct parcel parcel;
            if (!ring_receive(&rings[from][number], &parcel))
                continue;
            any = true;
            got++;
            CHECK(parcel.stamp >> 48 == (uint64_t)from);
            CHECK(last[from] == 0 || parcel.stamp == last[from] + (uint64_t)consumers);
            last[from] = parcel.stamp;
            parcel_free(&parcel);
        }
        if (!any)
            sched_yield();
    }
}

static void *thread_main(void *argument)
{
    int number = (int)(intptr_t)argument;
    if (number < producers)
        produce(number);
    else
        consume(number - producers);
    return NULL;
}

static void run(int from, int to)
{
    uint64_t before = bytes_in_use();
    producers = from;
    consumers = to;
    crew_run(from + to, thread_main);
    check_settled(before);
}

static void pairs(void)
{
    run(2, 2);
}

static void many_to_one(void)
{
    run(4, 1);
}

static void one_to_many(void)
{
    run(1, 4);
}

int main(int argc, char **argv)
{
    parcels = 12000 * scale_of(argc, argv);
    reach_hakmem();
    RUN(pairs);
    RUN(many_to_one);
    RUN(one_to_many);
    return 0;
}
