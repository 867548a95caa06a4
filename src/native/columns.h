#ifndef RIDGELINE_COLUMNS_H
#define RIDGELINE_COLUMNS_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *native_column(PyObject *module, PyObject *args);

#endif
