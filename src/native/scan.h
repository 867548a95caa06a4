#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the type `Scanner` to the module; −1 with an exception. */
int scan_init(PyObject *module);
