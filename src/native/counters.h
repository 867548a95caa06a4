#ifndef RIDGELINE_COUNTERS_H
#define RIDGELINE_COUNTERS_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define COUNTER_FIELDS 10

int counters_init(void);
void counters_row(int64_t row[COUNTER_FIELDS], int ends);
PyObject *native_counters_read(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_clock_ns(PyObject *module, PyObject *unused);

#endif
