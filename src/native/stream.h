#ifndef RIDGELINE_STREAM_H
#define RIDGELINE_STREAM_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *native_stream(PyObject *module, PyObject *args);
PyObject *native_stream_check(PyObject *module, PyObject *args);

#endif
