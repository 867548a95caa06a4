#ifndef RIDGELINE_SAMPLES_H
#define RIDGELINE_SAMPLES_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *native_nothing(PyObject *module, PyObject *unused);
PyObject *native_collection_seen(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_collections(PyObject *module, PyObject *unused);
PyObject *native_take_samples(PyObject *module, PyObject *args);
PyObject *native_take_batch(PyObject *module, PyObject *args);

#endif
