/* A sampler thread that looks, every interval, at whether one watched thread sleeps and whether any other thread of the process works.
 *
 * CPU time alone cannot tell a caller that waits for its own worker threads from one that waits for a disk, when the workers were busy at
 * another time. The joint state can. The thread takes no lock of the interpreter and reads /proc only.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "states.h"

#define MAX_THREADS 512
#define REFRESH_EVERY 32

static struct {
    pthread_t thread;
    atomic_int stop;
    int running;
    pid_t watched;
    long interval_ns;
    /* counts: watched on a CPU or runnable; asleep in wait for threads that run; asleep otherwise; in uninterruptible sleep */
    unsigned long long awake, served, alone, disk;
} sampler;

static char state_of(int fd)
{
    char text[512];
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    if (got <= 0)
        return '?';
    text[got] = 0;
    /* The command name may contain anything, so look for the last closing bracket. */
    char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : '?';
}

static int open_file(pid_t thread, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)thread, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

struct others {
    int fds[MAX_THREADS];
    int count;
};

static void close_others(struct others *others)
{
    for (int i = 0; i < others->count; i++)
        close(others->fds[i]);
    others->count = 0;
}

static void list_others(struct others *others, pid_t self)
{
    close_others(others);
    DIR *directory = opendir("/proc/self/task");
    if (!directory)
        return;
    struct dirent *entry;
    while ((entry = readdir(directory)) && others->count < MAX_THREADS) {
        pid_t thread = (pid_t)atoi(entry->d_name);
        if (thread <= 0 || thread == self || thread == sampler.watched)
            continue;
        int fd = open_file(thread, "stat");
        if (fd >= 0)
            others->fds[others->count++] = fd;
    }
    closedir(directory);
}

/* Whether a sleeping thread may be waiting for another thread: it sleeps in futex(2), or the kernel does not tell (proc(5), /proc/PID/syscall).
 * One that sleeps in nanosleep, read or poll waits for something else, however busily a thread pool spins beside it. */
static int waits_for_thread(int fd)
{
    char text[128];
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    if (got <= 0)
        return 1;
    text[got] = 0;
    char *end;
    long number = strtol(text, &end, 10);
    return end == text || number == SYS_futex;
}

static int any_running(const struct others *others)
{
    for (int i = 0; i < others->count; i++)
        if (state_of(others->fds[i]) == 'R')
            return 1;
    return 0;
}

static void *watch(void *unused)
{
    (void)unused;
    pid_t self = (pid_t)syscall(SYS_gettid);
    int fd = open_file(sampler.watched, "stat");
    int call = open_file(sampler.watched, "syscall");
    struct others *others = calloc(1, sizeof *others);
    struct timespec pause = {sampler.interval_ns / 1000000000L, sampler.interval_ns % 1000000000L};
    for (unsigned long round = 0; fd >= 0 && others && !atomic_load(&sampler.stop); round++) {
        if (round % REFRESH_EVERY == 0)
            list_others(others, self);
        char state = state_of(fd);
        if (state == 'R')
            sampler.awake++;
        else if (state == 'D')
            sampler.disk++;
        else if (waits_for_thread(call) && any_running(others))
            sampler.served++;
        else
            sampler.alone++;
        nanosleep(&pause, NULL);
    }
    if (others)
        close_others(others);
    free(others);
    if (call >= 0)
        close(call);
    if (fd >= 0)
        close(fd);
    return NULL;
}

PyObject *native_states_start(PyObject *module, PyObject *args)
{
    (void)module;
    double interval_s;
    if (!PyArg_ParseTuple(args, "d", &interval_s))
        return NULL;
    if (!(interval_s >= 1e-4 && interval_s <= 10.0)) {
        PyErr_SetString(PyExc_ValueError, "interval_s must lie between 1e-4 and 10");
        return NULL;
    }
    if (sampler.running) {
        PyErr_SetString(PyExc_RuntimeError, "the state sampler is running already");
        return NULL;
    }
    sampler.watched = (pid_t)syscall(SYS_gettid);
    sampler.interval_ns = (long)(interval_s * 1e9);
    sampler.awake = sampler.served = sampler.alone = sampler.disk = 0;
    atomic_store(&sampler.stop, 0);
    int failed = pthread_create(&sampler.thread, NULL, watch, NULL);
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    sampler.running = 1;
    Py_RETURN_NONE;
}

PyObject *native_states_stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (!sampler.running) {
        PyErr_SetString(PyExc_RuntimeError, "the state sampler is not running");
        return NULL;
    }
    atomic_store(&sampler.stop, 1);
    Py_BEGIN_ALLOW_THREADS
    pthread_join(sampler.thread, NULL);
    Py_END_ALLOW_THREADS
    sampler.running = 0;
    return Py_BuildValue("(KKKK)", sampler.awake, sampler.served, sampler.alone, sampler.disk);
}
