#ifndef RIDGELINE_COUNTERS_H
#define RIDGELINE_COUNTERS_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

int counters_init(void);
PyObject *native_counters_read(PyObject *module, PyObject *out);
PyObject *native_clock_ns(PyObject *module, PyObject *unused);

#endif
