#ifndef RIDGELINE_STATES_H
#define RIDGELINE_STATES_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* states_start(interval_s): watch the calling thread. states_stop() -> (awake, served, alone, disk). */
PyObject *native_states_start(PyObject *module, PyObject *args);
PyObject *native_states_stop(PyObject *module, PyObject *unused);

#endif
