#include "samples.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEPTH = 16, PATH_LENGTH = 64, TEXT = 4096 };

/* The first bytes of a file of /proc as a string; empty if it is not there (any more). */
static void
read_text(const char *path, char text[TEXT])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, TEXT - 1) : -1;
    if (file >= 0) {
        close(file);
    }
    text[length > 0 ? length : 0] = '\0';
}

static long
resident_kib(pid_t process, bool private_only)
{
    char path[PATH_LENGTH], text[TEXT];
    long size, resident = 0, shared = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    read_text(path, text);
    if (sscanf(text, "%ld %ld %ld", &size, &resident, &shared) != 3) {
        return 0;
    }
    return (private_only ? resident - shared : resident) * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A thread that started a child is its parent in /proc until it ends: all threads are asked. */
static long
tree_kib(pid_t process, bool private_only, int depth)
{
    char path[PATH_LENGTH], text[TEXT];
    long sum = resident_kib(process, private_only);
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = depth < DEPTH ? opendir(path) : NULL;
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        int task = atoi(entry->d_name);
        if (task <= 0) {
            continue;
        }
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, task);
        read_text(path, text);
        char *next = text;
        for (long child; (child = strtol(next, &next, 10)) > 0;) {
            sum += tree_kib((pid_t)child, private_only, depth + 1);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return sum;
}

static void
thin_out(struct samples *samples)
{
    for (int i = 0; i < SAMPLES / 2; i++) {
        samples->at[i] = samples->at[2 * i];
        samples->kib[i] = samples->kib[2 * i];
    }
    samples->count = SAMPLES / 2;
    samples->interval *= 2;
}

double
samples_take(struct samples *samples, pid_t root, double since_start)
{
    if (samples->interval <= 0) {
        return 3600;
    }
    if (since_start >= samples->due) {
        if (samples->count == SAMPLES) {
            thin_out(samples);
        }
        long kib = tree_kib(root, samples->private_only, 0);
        if (kib > 0) {
            samples->at[samples->count] = (float)since_start;
            samples->kib[samples->count++] = kib;
        }
        samples->due = since_start + samples->interval;
    }
    return samples->due - since_start;
}

int
samples_write(const struct samples *samples, const char *path)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return -1;
    }
    for (int i = 0; i < samples->count; i++) {
        fprintf(file, "%.4f %ld\n", (double)samples->at[i], samples->kib[i]);
    }
    return fclose(file);
}
