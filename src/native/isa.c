/* Which instruction sets may be used. Names are those of /proc/cpuinfo.
 *
 * The compiler's run-time support asks cpuid, and for the AVX families xgetbv too: a set whose registers the operating system does not
 * save counts as absent.
 */
#include "isa.h"

#if defined(__x86_64__)

static int has_avx2_fma(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

int isa_has(enum isa_set set)
{
    __builtin_cpu_init();
    switch (set) {
    case ISA_BASE:
        return 1;
    case ISA_AVX2_FMA:
        return has_avx2_fma();
    case ISA_AVX512F:
        return has_avx2_fma() && __builtin_cpu_supports("avx512f");
    case ISA_AVX512_VNNI:
        return isa_has(ISA_AVX512F) && __builtin_cpu_supports("avx512vnni");
    case ISA_AVX512_BF16:
        return isa_has(ISA_AVX512F) && __builtin_cpu_supports("avx512bf16");
    }
    return 0;
}

PyObject *native_isa(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    __builtin_cpu_init();
    const char *names[6];
    Py_ssize_t count = 0;
    names[count++] = "sse2";
    if (__builtin_cpu_supports("avx2"))
        names[count++] = "avx2";
    if (__builtin_cpu_supports("fma"))
        names[count++] = "fma";
    if (isa_has(ISA_AVX512F))
        names[count++] = "avx512f";
    if (isa_has(ISA_AVX512_VNNI))
        names[count++] = "avx512_vnni";
    if (isa_has(ISA_AVX512_BF16))
        names[count++] = "avx512_bf16";
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t i = 0; result && i < count; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name) {
            Py_CLEAR(result);
            break;
        }
        PyTuple_SET_ITEM(result, i, name);
    }
    return result;
}

#else

/* Arm: NEON (asimd) is part of the base. SVE is not used. Compiled, never run by us. */
int isa_has(enum isa_set set) { return set == ISA_BASE; }

PyObject *native_isa(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
#if defined(__aarch64__)
    return Py_BuildValue("(s)", "asimd");
#else
    return PyTuple_New(0);
#endif
}

#endif
