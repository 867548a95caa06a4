/* What the kernel knows about the calling thread, in one call that costs a microsecond or two.
 *
 * The run-queue delay (second field of /proc/thread-self/schedstat, nanoseconds runnable but not running) is read through a descriptor that
 * each thread keeps: it names the thread that opened it, so it is closed with the thread and not used after a fork.
 *
 * To ask for CPU time makes the kernel look whether the thread's turn is over, and on the way out of that call it may switch. A row is read in such an
 * order that this wait is between two samples and in neither: CPU time first where a sample begins, last where it ends.
 */
#define _GNU_SOURCE
#include "counters.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NOT_OPENED (-2)

static pthread_key_t closer;
static unsigned long generation = 1; /* counts forks */
static __thread int schedstat = NOT_OPENED;
static __thread unsigned long opened_in;

static void close_with_thread(void *box)
{
    int fd = (int)(intptr_t)box - 1;
    if (fd >= 0)
        close(fd);
}

static void after_fork(void) { generation++; }

int counters_init(void) { return pthread_key_create(&closer, close_with_thread) || pthread_atfork(NULL, NULL, after_fork); }

static int schedstat_of_this_thread(void)
{
    if (opened_in == generation)
        return schedstat;
    if (schedstat >= 0)
        close(schedstat); /* inherited: it tells of a thread of the parent */
    schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    opened_in = generation;
    pthread_setspecific(closer, (void *)(intptr_t)(schedstat + 1));
    return schedstat;
}

static int64_t run_queue_ns(void)
{
    char text[96];
    int fd = schedstat_of_this_thread();
    ssize_t got = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    if (got <= 0)
        return -1;
    text[got] = 0;
    const char *second = strchr(text, ' ');
    if (!second || second[1] < '0' || second[1] > '9')
        return -1;
    int64_t value = 0;
    for (const char *digit = second + 1; *digit >= '0' && *digit <= '9'; digit++)
        value = value * 10 + (*digit - '0');
    return value;
}

static int64_t clock_of(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (int64_t)now.tv_sec * 1000000000 + now.tv_nsec : -1;
}

static int64_t system_ns(const struct rusage *usage) { return (int64_t)usage->ru_stime.tv_sec * 1000000000 + usage->ru_stime.tv_usec * 1000; }

static void cpu_time(int64_t row[COUNTER_FIELDS])
{
    row[1] = clock_of(CLOCK_THREAD_CPUTIME_ID);
    row[2] = clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void events(int64_t row[COUNTER_FIELDS])
{
    struct rusage thread = {0}, process = {0};
    getrusage(RUSAGE_THREAD, &thread);
    getrusage(RUSAGE_SELF, &process);
    row[4] = system_ns(&thread);
    row[5] = thread.ru_nivcsw;
    row[6] = thread.ru_nvcsw;
    row[7] = thread.ru_minflt;
    row[8] = thread.ru_majflt;
    row[9] = system_ns(&process);
}

void counters_row(int64_t row[COUNTER_FIELDS], int ends)
{
    if (ends)
        row[3] = run_queue_ns();
    else
        cpu_time(row);
    events(row);
    row[0] = clock_of(CLOCK_MONOTONIC);
    if (ends)
        cpu_time(row);
    else
        row[3] = run_queue_ns();
}

PyObject *native_counters_read(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    Py_buffer view;
    if (count < 1 || count > 2) {
        PyErr_SetString(PyExc_TypeError, "counters_read(out, ends=False)");
        return NULL;
    }
    PyObject *out = args[0];
    int ends = count == 2 ? PyObject_IsTrue(args[1]) : 0;
    if (ends < 0)
        return NULL;
    if (PyObject_GetBuffer(out, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) {
        if (PyErr_ExceptionMatches(PyExc_BufferError)) {
            PyErr_Clear();
            PyErr_SetString(PyExc_ValueError, "out must be a writable, contiguous buffer of 10 int64");
        }
        return NULL;
    }
    if (view.len < (Py_ssize_t)(COUNTER_FIELDS * sizeof(int64_t)) || (view.itemsize != 1 && view.itemsize != sizeof(int64_t))) {
        PyBuffer_Release(&view);
        PyErr_SetString(PyExc_ValueError, "out must be a writable, contiguous buffer of 10 int64");
        return NULL;
    }
    int64_t row[COUNTER_FIELDS];
    counters_row(row, ends);
    memcpy(view.buf, row, sizeof row);
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

PyObject *native_clock_ns(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLongLong(clock_of(CLOCK_MONOTONIC));
}
