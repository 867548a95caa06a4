/* Load-to-use latency: each load's address is the result of the one before, in one random-looking cycle over all lines of the working set.
 *
 * The order is that of a full-period linear congruential generator over the next power of two, walking past numbers beyond the set (Hull and
 * Dobell, SIAM Review 4, 1962: modulus 2^k, odd increment, multiplier ≡ 1 mod 4). The restriction of a cycle is a cycle, it needs no memory of
 * its own, and the set is written once from front to back, where a shuffle would cost longer than the measurement. Strides differ at every
 * step, so prefetchers find nothing to follow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "buffer.h"
#include "crew.h"
#include "latency.h"

#define LINE 64
#define SMALLEST (4 * LINE)
#define STEPS 4096 /* loads between two looks at the clock: 4 µs in L1, 0.5 ms in memory */

struct chase_task {
    size_t lines;
};

struct chase {
    struct buffer buffer;
    void **at;
};

static uint64_t power_of_two_above(uint64_t number)
{
    uint64_t power = 4;
    while (power < number)
        power *= 2;
    return power;
}

static void link_lines(char *start, size_t lines)
{
    const uint64_t modulus = power_of_two_above(lines), mask = modulus - 1;
    /* Near the golden section of the modulus, and ≡ 5 mod 8. */
    const uint64_t multiplier = ((uint64_t)((double)modulus * 0.6180339887498949) & ~(uint64_t)7) + 5;
    const uint64_t increment = ((uint64_t)((double)modulus * 0.3819660112501051)) | 1;
    for (uint64_t line = 0; line < lines; line++) {
        uint64_t next = line;
        do
            next = (next * multiplier + increment) & mask;
        while (next >= lines);
        *(void **)(start + line * LINE) = start + next * LINE;
    }
}

static int prepare(struct worker *worker)
{
    const struct chase_task *task = worker->task;
    struct chase *chase = calloc(1, sizeof *chase);
    if (!chase || buffer_make(&chase->buffer, task->lines * LINE)) {
        free(chase);
        return ENOMEM;
    }
    link_lines(chase->buffer.start, task->lines);
    chase->at = (void **)chase->buffer.start;
    /* Once around what a cache may hold; for larger sets there is nothing to warm but the clock. */
    for (size_t i = 0; i < task->lines && i < 131072; i++)
        chase->at = *chase->at;
    worker->own = chase;
    return 0;
}

static void work(struct worker *worker)
{
    struct chase *chase = worker->own;
    const int64_t end_ns = now_ns() + (int64_t)(worker->seconds * 1e9);
    void **at = chase->at;
    double loads = 0.0;
    do {
        for (int i = 0; i < STEPS / 8; i++) {
            at = *at, at = *at, at = *at, at = *at;
            at = *at, at = *at, at = *at, at = *at;
        }
        __asm__ volatile("" : "+r"(at));
        loads += STEPS;
    } while (now_ns() < end_ns);
    chase->at = at;
    worker->done = loads;
}

static void release(struct worker *worker)
{
    struct chase *chase = worker->own;
    buffer_drop(&chase->buffer);
    free(chase);
}

static int to_lines(Py_ssize_t bytes, struct chase_task *task)
{
    if (bytes < SMALLEST) {
        PyErr_Format(PyExc_ValueError, "working_set_bytes must be at least %d", SMALLEST);
        return 0;
    }
    task->lines = (size_t)bytes / LINE;
    return memory_allows((size_t)bytes, 1);
}

PyObject *native_chase(PyObject *module, PyObject *args)
{
    (void)module;
    static const struct crew_task kind = {prepare, work, release};
    Py_ssize_t bytes;
    double seconds, loads, elapsed_s;
    struct cpu_list cpu = {.count = 1};
    struct chase_task task;
    if (!PyArg_ParseTuple(args, "O&O&O&", to_count, &bytes, to_seconds, &seconds, to_cpu, &cpu.cpus[0]))
        return NULL;
    if (!to_lines(bytes, &task) || crew_run(&kind, &task, &cpu, seconds, &loads, &elapsed_s) < 0)
        return NULL;
    return PyFloat_FromDouble(elapsed_s / loads);
}

/* For tests: loads until the chase is back where it began. */
PyObject *native_chase_cycle(PyObject *module, PyObject *args)
{
    (void)module;
    Py_ssize_t bytes;
    struct chase_task task;
    struct buffer buffer;
    if (!PyArg_ParseTuple(args, "O&", to_count, &bytes) || !to_lines(bytes, &task))
        return NULL;
    if (buffer_make(&buffer, task.lines * LINE))
        return PyErr_NoMemory();
    link_lines(buffer.start, task.lines);
    size_t steps = 0;
    void **at = (void **)buffer.start;
    do {
        at = *at;
        steps++;
    } while (at != (void **)buffer.start && steps <= task.lines);
    buffer_drop(&buffer);
    return PyLong_FromSize_t(steps);
}

/* Cycles per second: a chain of additions of two registers, each of which takes one cycle on every processor of interest. (An addition of a
 * constant would not do: some rename it away.) */
static int nothing_to_prepare(struct worker *worker)
{
    (void)worker;
    return 0;
}

static void add_in_chain(struct worker *worker)
{
    const int64_t end_ns = now_ns() + (int64_t)(worker->seconds * 1e9);
    uint64_t sum = 1, step = (uint64_t)end_ns;
    double cycles = 0.0;
    do {
        for (int i = 0; i < 2048; i++) {
#pragma GCC unroll 16
            for (int j = 0; j < 16; j++) {
                sum += step;
                __asm__ volatile("" : "+r"(sum), "+r"(step));
            }
        }
        cycles += 2048.0 * 16.0;
    } while (now_ns() < end_ns);
    worker->done = cycles;
    worker->sink = (double)(sum & 1);
}

PyObject *native_clock_rate(PyObject *module, PyObject *args)
{
    (void)module;
    static const struct crew_task kind = {nothing_to_prepare, add_in_chain, NULL};
    double seconds, cycles, elapsed_s;
    struct cpu_list cpu = {.count = 1};
    if (!PyArg_ParseTuple(args, "O&O&", to_seconds, &seconds, to_cpu, &cpu.cpus[0]))
        return NULL;
    if (crew_run(&kind, NULL, &cpu, seconds, &cycles, &elapsed_s) < 0)
        return NULL;
    return PyFloat_FromDouble(cycles / elapsed_s);
}
