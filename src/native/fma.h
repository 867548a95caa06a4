#ifndef RIDGELINE_FMA_H
#define RIDGELINE_FMA_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *native_fma(PyObject *module, PyObject *args);
PyObject *native_fma_precisions(PyObject *module, PyObject *unused);

#endif
