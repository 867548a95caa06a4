#define _GNU_SOURCE
#include "arguments.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* An integer far out of range raises OverflowError in CPython; to the caller it is a wrong value like any other. */
static int fail_as_value_error(const char *message)
{
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError))
        return 0;
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, message);
    return 0;
}

int to_seconds(PyObject *value, void *seconds)
{
    static const char message[] = "seconds must lie in (0, 60]";
    double number = PyFloat_AsDouble(value);
    if (PyErr_Occurred())
        return fail_as_value_error(message);
    if (!(number > 0.0 && number <= MAX_SECONDS))
        return fail_as_value_error(message);
    *(double *)seconds = number;
    return 1;
}

int to_count(PyObject *value, void *count)
{
    static const char message[] = "a count or size must be a positive integer that fits the machine";
    Py_ssize_t number = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (PyErr_Occurred() || number < 1)
        return fail_as_value_error(message);
    *(Py_ssize_t *)count = number;
    return 1;
}

int to_cpu(PyObject *value, void *cpu)
{
    static const char message[] = "a CPU must be the number of one that this machine has";
    Py_ssize_t number = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (PyErr_Occurred())
        return fail_as_value_error(message);
    if (number < 0 || number >= CPU_BITS)
        return fail_as_value_error(message);
    *(int *)cpu = (int)number;
    return 1;
}

int to_cpus(PyObject *value, void *list)
{
    struct cpu_list *cpus = list;
    if (!PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "cpus must be a tuple of CPU numbers");
        return 0;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(value);
    if (count < 1 || count > MAX_CPUS)
        return fail_as_value_error("cpus must name between 1 and 4096 CPUs");
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!to_cpu(PyTuple_GET_ITEM(value, i), &cpus->cpus[i]))
            return 0;
        /* Two threads on one CPU would halve each other's rate and be taken for the machine's. */
        for (Py_ssize_t j = 0; j < i; j++)
            if (cpus->cpus[j] == cpus->cpus[i])
                return fail_as_value_error("cpus must name each CPU once");
    }
    cpus->count = (int)count;
    return 1;
}

static double read_number(const char *path, const char *label)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1.0;
    char line[256];
    double number = -1.0;
    size_t skip = strlen(label);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, label, skip) != 0)
            continue;
        if (sscanf(line + skip, "%lf", &number) != 1)
            number = -1.0;
        break;
    }
    fclose(file);
    return number;
}

static double free_memory(void)
{
    double bytes = read_number("/proc/meminfo", "MemAvailable:") * 1024.0;
    double limit = read_number("/sys/fs/cgroup/memory.max", "");
    double used = read_number("/sys/fs/cgroup/memory.current", "");
    if (bytes < 0.0)
        bytes = 1e9;
    if (limit > 0.0 && used >= 0.0 && limit - used < bytes)
        bytes = limit - used;
    return bytes;
}

int memory_allows(size_t bytes_each, size_t pieces)
{
    /* Four fifths, so that a probe does not push other programs out or call the kernel's out-of-memory killer. */
    if ((double)bytes_each * (double)pieces <= 0.8 * free_memory())
        return 1;
    PyErr_SetString(PyExc_MemoryError, "that much memory is not free on this machine");
    return 0;
}
