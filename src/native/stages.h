#ifndef RIDGELINE_STAGES_H
#define RIDGELINE_STAGES_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

int stages_init(PyObject *module);
PyObject *native_stages_start(PyObject *module, PyObject *args);
PyObject *native_stages_stop(PyObject *module, PyObject *unused);
PyObject *native_stages_discard(PyObject *module, PyObject *unused);

#endif
