#ifndef RIDGELINE_SAMPLER_H
#define RIDGELINE_SAMPLER_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *native_sampler_start(PyObject *module, PyObject *args);
PyObject *native_sampler_stop(PyObject *module, PyObject *unused);
PyObject *native_sampler_count(PyObject *module, PyObject *unused);

#endif
