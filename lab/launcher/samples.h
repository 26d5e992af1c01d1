/*
 * Resident memory over time, of a process and all that descend from it.
 *
 * Used by launch.c, which wakes up for each sample; one thread, no synchronization. A sample reads
 * two small files of /proc a process, some microseconds on another processor than the command's.
 * The table is of a fixed size: when it is full, every other sample goes and the interval doubles,
 * so that a run of any length has SAMPLES / 2 … SAMPLES of them.
 */
#ifndef HAKMEM_SAMPLES_H
#define HAKMEM_SAMPLES_H

#include <stdbool.h>
#include <sys/types.h>

enum { SAMPLES = 512 };

struct samples {
    double interval; /* seconds; 0: none are taken */
    bool private_only; /* without what is mapped from files or shared */
    double due;      /* when the next one is, in seconds since the start */
    int count;
    float at[SAMPLES];  /* seconds since the start */
    long kib[SAMPLES];  /* resident, summed over the processes */
};

/* Takes one if it is due; returns the seconds until the next one, or a long time if none are taken. */
double samples_take(struct samples *samples, pid_t root, double since_start);

/* Writes "seconds kib" lines to a file; 0, or -1 with errno. */
int samples_write(const struct samples *samples, const char *path);

#endif
