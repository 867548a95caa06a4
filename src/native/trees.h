#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* trees(rows, features, root, feature, threshold, left, value, out): the sum over trees for each row; see _native.pyi. */
PyObject *native_trees(PyObject *module, PyObject *args);
