/* Checked arguments: whatever a caller hands in becomes a sound value, a ValueError or a MemoryError, never a crash. */
#ifndef RIDGELINE_ARGUMENTS_H
#define RIDGELINE_ARGUMENTS_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define MAX_CPUS 4096
/* Room for more CPUs than cpu_set_t has. */
#define CPU_BITS 32768
/* No call may hold the process longer than this, since it does not look for signals while it measures. */
#define MAX_SECONDS 60.0

struct cpu_list {
    int count;
    int cpus[MAX_CPUS];
};

/* Converters for PyArg_ParseTuple's "O&". */
int to_seconds(PyObject *value, void *seconds);     /* double in (0, 60] */
int to_count(PyObject *value, void *count);         /* Py_ssize_t ≥ 1 */
int to_cpu(PyObject *value, void *cpu);             /* int ≥ 0 and < CPU_BITS; whether it exists, pinning tells */
int to_cpus(PyObject *value, void *list);           /* struct cpu_list, 1 … MAX_CPUS different CPUs */

/* 1 if that many bytes fit well into the memory that is free now, else 0 with MemoryError set. */
int memory_allows(size_t bytes_each, size_t pieces);

#endif
