#define _GNU_SOURCE
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct crew;

struct member {
    struct worker worker;
    struct crew *crew;
    pthread_t thread;
    int cpu;
    int64_t start_ns, end_ns;
};

struct crew {
    const struct crew_task *kind;
    int count;
    /* A gate, so that nobody waits for a thread that could not be created. */
    pthread_mutex_t lock;
    pthread_cond_t opened;
    int gate; /* 0 closed, 1 go, -1 go home */
    atomic_int arrived, failure;
    struct member *members;
};

static volatile double observable;

int pin_self(int cpu)
{
    cpu_set_t set[CPU_BITS / CPU_SETSIZE];
    CPU_ZERO_S(sizeof set, set);
    CPU_SET_S((size_t)cpu, sizeof set, set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, set);
}

static int wait_at_gate(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->gate == 0)
        pthread_cond_wait(&crew->opened, &crew->lock);
    int gate = crew->gate;
    pthread_mutex_unlock(&crew->lock);
    return gate;
}

static void open_gate(struct crew *crew, int gate)
{
    pthread_mutex_lock(&crew->lock);
    crew->gate = gate;
    pthread_cond_broadcast(&crew->opened);
    pthread_mutex_unlock(&crew->lock);
}

/* Spinning barrier: a condition variable would let the last ones start tens of microseconds late. */
static void meet(struct crew *crew)
{
    atomic_fetch_add(&crew->arrived, 1);
    while (atomic_load(&crew->arrived) < crew->count)
        sched_yield();
}

static void *serve(void *argument)
{
    struct member *member = argument;
    struct crew *crew = member->crew;
    if (wait_at_gate(crew) < 0)
        return NULL;
    int failed = pin_self(member->cpu);
    int prepared = 0;
    if (!failed) {
        failed = crew->kind->prepare(&member->worker);
        prepared = !failed;
    }
    if (failed)
        atomic_store(&crew->failure, failed);
    meet(crew);
    if (!atomic_load(&crew->failure)) {
        member->start_ns = now_ns();
        crew->kind->work(&member->worker);
        member->end_ns = now_ns();
    }
    if (prepared && crew->kind->release)
        crew->kind->release(&member->worker);
    return NULL;
}

static int start_and_join(struct crew *crew)
{
    int created = 0, failed = 0;
    while (created < crew->count && !failed) {
        failed = pthread_create(&crew->members[created].thread, NULL, serve, &crew->members[created]);
        created += !failed;
    }
    open_gate(crew, failed ? -1 : 1);
    for (int i = 0; i < created; i++)
        pthread_join(crew->members[i].thread, NULL);
    return failed ? failed : atomic_load(&crew->failure);
}

static void sum_up(const struct crew *crew, double *done, double *elapsed_s)
{
    int64_t first = crew->members[0].start_ns, last = crew->members[0].end_ns;
    *done = 0.0;
    for (int i = 0; i < crew->count; i++) {
        const struct member *member = &crew->members[i];
        *done += member->worker.done;
        observable = observable + member->worker.sink;
        first = member->start_ns < first ? member->start_ns : first;
        last = member->end_ns > last ? member->end_ns : last;
    }
    *elapsed_s = 1e-9 * (double)(last > first ? last - first : 1);
}

static void raise_error(int failed)
{
    errno = failed;
    if (failed == ENOMEM)
        PyErr_NoMemory();
    else if (failed == EINVAL)
        PyErr_SetString(PyExc_ValueError, "a thread cannot be pinned to one of these CPUs");
    else
        PyErr_SetFromErrno(PyExc_OSError);
}

int crew_run(const struct crew_task *kind, const void *task, const struct cpu_list *cpus, double seconds, double *done, double *elapsed_s)
{
    struct crew crew = {.kind = kind, .count = cpus->count};
    crew.members = calloc((size_t)cpus->count, sizeof *crew.members);
    if (!crew.members) {
        PyErr_NoMemory();
        return -1;
    }
    pthread_mutex_init(&crew.lock, NULL);
    pthread_cond_init(&crew.opened, NULL);
    for (int i = 0; i < cpus->count; i++)
        crew.members[i] = (struct member){.crew = &crew, .cpu = cpus->cpus[i], .worker = {.task = task, .seconds = seconds}};
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = start_and_join(&crew);
    Py_END_ALLOW_THREADS
    if (failed)
        raise_error(failed);
    else
        sum_up(&crew, done, elapsed_s);
    pthread_cond_destroy(&crew.opened);
    pthread_mutex_destroy(&crew.lock);
    free(crew.members);
    return failed ? -1 : 0;
}
