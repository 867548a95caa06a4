#ifndef RIDGELINE_GRAPH_H
#define RIDGELINE_GRAPH_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *native_earliest(PyObject *module, PyObject *args);
PyObject *native_latest(PyObject *module, PyObject *args);

#endif
