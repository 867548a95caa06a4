/* The sampling loop: reads the clock, calls, reads the clock, and puts both into memory that was there before; nothing is allocated in between.
 *
 * It runs under the interpreter's lock, as the calls do. Between samples, outside the timed interval, it looks for signals, and hands the lock over
 * once every switch interval, as the interpreter would, so that the target's other threads are not starved by a loop of C calls.
 */
#define _GNU_SOURCE
#include "samples.h"

#include <stdint.h>
#include <time.h>

#include "counters.h"

#define ROW 5 /* start_ns, end_ns, garbage collections so far, nanoseconds in them, nanoseconds of the sentinel behind it or 0 */
#define SWITCH_NS 5000000
#define SENTINEL_TURNS 12000 /* about 10 µs: long beside the clock, short beside what comes between */
#define SENTINEL_EVERY_NS 500000

static int64_t collections, collecting_ns, collecting_since;

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nanoseconds of a loop of additions that keeps every port busy which another thread of the same core would use: it takes longer exactly while there is
 * one at work. Six chains, each longer than a cycle's worth, so that the loop waits for ports and not for its own results. */
static int64_t sentinel_ns(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    int64_t start = now_ns();
    for (int turn = 0; turn < SENTINEL_TURNS; turn++) {
        a += 1, b += 3, c += 5, d += 7, e += 9, f += 11;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
        a ^= 1, b ^= 3, c ^= 5, d ^= 7, e ^= 9, f ^= 11;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
    return now_ns() - start;
}

PyObject *native_nothing(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Py_RETURN_NONE;
}

PyObject *native_collection_seen(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count > 0 && PyUnicode_Check(args[0]) && PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
        collections++;
        collecting_since = now_ns();
    } else if (collecting_since != 0) {
        collecting_ns += now_ns() - collecting_since;
        collecting_since = 0;
    }
    Py_RETURN_NONE;
}

PyObject *native_collections(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue("(LL)", (long long)collections, (long long)collecting_ns);
}

/* What is called, with its fast entry where it has one. */
struct callee {
    PyObject *object;
    vectorcallfunc fast;
};

static inline PyObject *called(const struct callee *what) { return what->fast ? what->fast(what->object, NULL, 0, NULL) : PyObject_CallNoArgs(what->object); }

static struct callee callee_of(PyObject *object) { return (struct callee){object, PyVectorcall_Function(object)}; }

static int waited(PyObject *synchronise, PyObject *result)
{
    PyObject *done = PyObject_CallOneArg(synchronise, result);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* One sample of `inner` calls, each waited for; the last result goes after the clock was read, since freeing it is not part of the call. */
static int sampled(const struct callee *call, PyObject *synchronise, Py_ssize_t inner, int64_t row[ROW])
{
    PyObject *result = NULL;
    int64_t start = now_ns();
    for (Py_ssize_t i = 0; i < inner; i++) {
        Py_XDECREF(result);
        result = called(call);
        if (result == NULL || (synchronise != NULL && waited(synchronise, result) != 0)) {
            Py_XDECREF(result);
            return -1;
        }
    }
    int64_t end = now_ns();
    row[0] = start;
    row[1] = end;
    row[2] = collections;
    row[3] = collecting_ns;
    row[4] = 0;
    Py_DECREF(result);
    return 0;
}

/* Between two samples: signals, and the lock for whoever waits for it. */
static int between(int64_t *handed_over)
{
    if (PyErr_CheckSignals() != 0)
        return -1;
    int64_t now = now_ns();
    if (now - *handed_over > SWITCH_NS) {
        Py_BEGIN_ALLOW_THREADS;
        Py_END_ALLOW_THREADS;
        *handed_over = now;
    }
    return 0;
}

struct plan {
    struct callee call;
    PyObject *synchronise, *before;
    int64_t *rows, *counters;
    Py_ssize_t most, inner, block, readings;
    int64_t until;
};

static int prepared(const struct plan *plan, Py_ssize_t index)
{
    if (plan->before == NULL)
        return 0;
    PyObject *number = PyLong_FromSsize_t(index), *done = number == NULL ? NULL : PyObject_CallOneArg(plan->before, number);
    Py_XDECREF(number);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Takes samples until there are `most` or the time is up; −1 on an error. */
static Py_ssize_t taken(const struct plan *plan)
{
    int64_t handed_over = now_ns(), looked = 0;
    Py_ssize_t count = 0, reading = 0;
    while (count < plan->most && (count == 0 || now_ns() < plan->until)) {
        Py_ssize_t end = count + plan->block < plan->most ? count + plan->block : plan->most;
        if (prepared(plan, count) != 0)
            return -1;
        if (reading + 2 <= plan->readings)
            counters_row(plan->counters + COUNTER_FIELDS * reading, 0);
        while (count < end) {
            if (sampled(&plan->call, plan->synchronise, plan->inner, plan->rows + ROW * count) != 0)
                return -1;
            int64_t *row = plan->rows + ROW * count;
            if (row[1] - looked > SENTINEL_EVERY_NS) {
                row[4] = sentinel_ns();
                looked = now_ns();
            }
            count++;
            if (count < end && (between(&handed_over) != 0 || prepared(plan, count) != 0))
                return -1;
        }
        if (reading + 2 <= plan->readings)
            counters_row(plan->counters + COUNTER_FIELDS * (reading + 1), 1);
        reading += 2;
        if (between(&handed_over) != 0)
            return -1;
    }
    return count;
}

static int writable(PyObject *object, Py_buffer *view, Py_ssize_t width, const char *what)
{
    if (PyObject_GetBuffer(object, view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0)
        return -1;
    if (view->len % (Py_ssize_t)(width * sizeof(int64_t)) != 0 || (uintptr_t)view->buf % sizeof(int64_t) != 0) {
        PyErr_Format(PyExc_ValueError, "%s must be a writable, aligned buffer of whole rows of %zd int64", what, width);
        PyBuffer_Release(view);
        return -1;
    }
    return 0;
}

static PyObject *none_is_null(PyObject *object) { return object == Py_None ? NULL : object; }

static int callables(PyObject *call, PyObject *synchronise, PyObject *before)
{
    if (PyCallable_Check(call) && (synchronise == Py_None || PyCallable_Check(synchronise)) && (before == Py_None || PyCallable_Check(before)))
        return 0;
    PyErr_SetString(PyExc_ValueError, "call must be callable; synchronise and before callable or None");
    return -1;
}

PyObject *native_take_samples(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *call, *synchronise, *before, *rows, *counters;
    Py_ssize_t inner, block;
    long long until;
    if (!PyArg_ParseTuple(args, "OOOOOnnL", &call, &synchronise, &before, &rows, &counters, &inner, &block, &until) || callables(call, synchronise, before) != 0)
        return NULL;
    if (inner < 1 || block < 1) {
        PyErr_SetString(PyExc_ValueError, "inner and block must be at least 1");
        return NULL;
    }
    Py_buffer kept, read;
    if (writable(rows, &kept, ROW, "rows") != 0)
        return NULL;
    if (writable(counters, &read, COUNTER_FIELDS, "counters") != 0) {
        PyBuffer_Release(&kept);
        return NULL;
    }
    const struct plan plan = {
        .call = callee_of(call),
        .synchronise = none_is_null(synchronise),
        .before = none_is_null(before),
        .rows = kept.buf,
        .counters = read.buf,
        .most = kept.len / (Py_ssize_t)(ROW * sizeof(int64_t)),
        .readings = read.len / (Py_ssize_t)(COUNTER_FIELDS * sizeof(int64_t)),
        .inner = inner,
        .block = block,
        .until = until,
    };
    Py_ssize_t count = taken(&plan);
    PyBuffer_Release(&kept);
    PyBuffer_Release(&read);
    return count < 0 ? NULL : PyLong_FromSsize_t(count);
}

PyObject *native_take_batch(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *function, *synchronise, *result = NULL;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "OOn", &function, &synchronise, &size) || callables(function, synchronise, Py_None) != 0)
        return NULL;
    if (size < 1) {
        PyErr_SetString(PyExc_ValueError, "size must be at least 1");
        return NULL;
    }
    const struct callee call = callee_of(function);
    int64_t start = now_ns();
    for (Py_ssize_t i = 0; i < size; i++) {
        Py_XDECREF(result);
        result = called(&call);
        if (result == NULL)
            return NULL;
    }
    if (synchronise != Py_None && waited(synchronise, result) != 0) {
        Py_DECREF(result);
        return NULL;
    }
    int64_t end = now_ns();
    Py_DECREF(result);
    if (PyErr_CheckSignals() != 0)
        return NULL;
    return Py_BuildValue("(LL)", (long long)start, (long long)end);
}
