#ifndef RIDGELINE_LATENCY_H
#define RIDGELINE_LATENCY_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *native_chase(PyObject *module, PyObject *args);
PyObject *native_chase_cycle(PyObject *module, PyObject *args);
PyObject *native_handoff(PyObject *module, PyObject *args);
PyObject *native_core_to_core(PyObject *module, PyObject *args);
PyObject *native_page_fault(PyObject *module, PyObject *args);
PyObject *native_clock_rate(PyObject *module, PyObject *args);
PyObject *native_timer_read(PyObject *module, PyObject *args);

#endif
