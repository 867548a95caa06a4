/* A crew of pinned threads that prepare, meet, and then all work at once. */
#ifndef RIDGELINE_CREW_H
#define RIDGELINE_CREW_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "arguments.h"

struct worker {
    const void *task;      /* what to do, shared by all */
    void *own;             /* what prepare made for this thread */
    double seconds;        /* how long to work, at least one pass */
    double done;           /* operations or bytes, written by work */
    double sink;           /* a result, so that the work cannot be optimised away */
};

struct crew_task {
    int (*prepare)(struct worker *worker); /* on its own CPU; 0, or an errno */
    void (*work)(struct worker *worker);
    void (*release)(struct worker *worker); /* may be NULL */
};

/* Run the task on every CPU of the list. Sets *done to the sum and *elapsed_s to the time from the first start to the last end.
 * Returns 0, or -1 with a Python exception. Called with the GIL held; releases it meanwhile. */
int crew_run(const struct crew_task *kind, const void *task, const struct cpu_list *cpus, double seconds, double *done, double *elapsed_s);

/* Pin the calling thread; 0 or an errno. */
int pin_self(int cpu);

#include <time.h>
static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
