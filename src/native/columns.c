/* One slot of many objects as an array: what a loop over the objects would gather number by number. */
#include "columns.h"

#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

/* Where a slot lies in objects of its type; −1 with an exception for anything that is no slot. */
static Py_ssize_t offset_of(PyObject *member, PyTypeObject **type)
{
    if (Py_IS_TYPE(member, &PyMemberDescr_Type)) {
        PyMemberDescrObject *slot = (PyMemberDescrObject *)member;
        *type = PyDescr_TYPE(slot);
        if (slot->d_member->type == T_OBJECT_EX)
            return slot->d_member->offset;
    }
    PyErr_SetString(PyExc_TypeError, "a slot of a class is needed");
    return -1;
}

union cell {
    int64_t whole;
    double number;
};

/* A value as a whole number, or as a float if it is one or `fractions` says that others are; 0 if it is neither. */
static int take(PyObject *value, int *fractions, union cell *out)
{
    if (value == NULL)
        return 0;
    if (PyFloat_CheckExact(value)) {
        *fractions = 1;
        out->number = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    int overflow = 0;
    int64_t whole = PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : (overflow = 1);
    if (*fractions)
        out->number = (double)whole;
    else
        out->whole = whole;
    return !overflow;
}

/* All values as whole numbers, or as floats if one is; 1, or 0 if one of them is neither. */
static int gather(PyObject *objects, PyTypeObject *type, Py_ssize_t offset, union cell *out, int *fractions)
{
    Py_ssize_t count = PyList_GET_SIZE(objects);
    *fractions = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *object = PyList_GET_ITEM(objects, i);
        int before = *fractions;
        if (!PyObject_TypeCheck(object, type) || !take(*(PyObject **)((char *)object + offset), fractions, &out[i]))
            return 0;
        if (*fractions != before)
            for (Py_ssize_t j = 0; j < i; j++)
                out[j].number = (double)out[j].whole;
    }
    return 1;
}

PyObject *native_column(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects, *member;
    PyTypeObject *type;
    int fractions;
    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &objects, &member))
        return NULL;
    Py_ssize_t offset = offset_of(member, &type);
    if (offset < 0)
        return NULL;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, PyList_GET_SIZE(objects) * 8);
    if (bytes == NULL)
        return NULL;
    if (!gather(objects, type, offset, (union cell *)PyByteArray_AS_STRING(bytes), &fractions)) {
        Py_DECREF(bytes);
        Py_RETURN_NONE;
    }
    return Py_BuildValue("Ns", bytes, fractions ? "d" : "q");
}
