#ifndef RIDGELINE_ISA_H
#define RIDGELINE_ISA_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* What both the processor has and the operating system saves (cpuid and xgetbv). */
enum isa_set { ISA_BASE, ISA_AVX2_FMA, ISA_AVX512F, ISA_AVX512_VNNI, ISA_AVX512_BF16 };
int isa_has(enum isa_set set);

PyObject *native_isa(PyObject *module, PyObject *unused);

#endif
