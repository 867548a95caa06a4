/* The arithmetic ceiling: multiply-adds that never leave the registers.
 *
 * Each kernel keeps as many independent accumulators as hide the latency of a multiply-add (4–5 cycles) behind two ports, and fit the
 * register file with the two operands. acc ← acc·m + a tends to a/(1 − m): it neither overflows nor becomes denormal. One multiply-add is
 * two operations; an int8 dot-product lane is four multiplications and four additions.
 *
 * The floating-point kernels are vectors of the compiler, which contracts a·b + c into one instruction where the target has it.
 */
#define _GNU_SOURCE
#include "fma.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "crew.h"
#include "isa.h"

#define CHUNK 4096 /* iterations between two looks at the clock: about 10 µs */

typedef double (*kernel)(long iterations, double multiplier, double addend);

struct fma_task {
    const char *precision;
    enum isa_set needs;
    kernel run;
    double operations_per_iteration;
};

#define FLOAT_KERNEL(NAME, ELEMENT, BYTES, COUNT, ATTRIBUTE)                                              \
    ATTRIBUTE static double NAME(long iterations, double multiplier, double addend)                       \
    {                                                                                                     \
        typedef ELEMENT vector __attribute__((vector_size(BYTES)));                                       \
        const vector m = (vector){0} + (ELEMENT)multiplier, a = (vector){0} + (ELEMENT)addend;            \
        vector acc[COUNT], sum = {0};                                                                     \
        _Pragma("GCC unroll 32") for (int j = 0; j < COUNT; j++) acc[j] = a * (ELEMENT)(j + 1);           \
        for (long i = 0; i < iterations; i++)                                                             \
            _Pragma("GCC unroll 32") for (int j = 0; j < COUNT; j++) acc[j] = acc[j] * m + a;             \
        _Pragma("GCC unroll 32") for (int j = 0; j < COUNT; j++) sum += acc[j];                           \
        return (double)sum[0] + (double)sum[1];                                                           \
    }

#define FLOAT_OPERATIONS(ELEMENT, BYTES, COUNT) (2.0 * (COUNT) * (BYTES) / sizeof(ELEMENT))

FLOAT_KERNEL(fma_fp64_base, double, 16, 12, )
FLOAT_KERNEL(fma_fp32_base, float, 16, 12, )

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,fma")))
#define VNNI __attribute__((target("avx512f,avx512vnni")))
#define BF16 __attribute__((target("avx512f,avx512bf16")))

FLOAT_KERNEL(fma_fp64_avx2, double, 32, 12, AVX2)
FLOAT_KERNEL(fma_fp32_avx2, float, 32, 12, AVX2)
FLOAT_KERNEL(fma_fp64_avx512, double, 64, 16, AVX512)
FLOAT_KERNEL(fma_fp32_avx512, float, 64, 16, AVX512)

BF16 static double fma_bf16_avx512(long iterations, double multiplier, double addend)
{
    const __m512bh m = _mm512_cvtne2ps_pbh(_mm512_set1_ps((float)multiplier), _mm512_set1_ps((float)addend));
    __m512 acc[16], sum = _mm512_setzero_ps();
#pragma GCC unroll 16
    for (int j = 0; j < 16; j++)
        acc[j] = _mm512_set1_ps((float)j);
    for (long i = 0; i < iterations; i++)
#pragma GCC unroll 16
        for (int j = 0; j < 16; j++)
            acc[j] = _mm512_dpbf16_ps(acc[j], m, m);
#pragma GCC unroll 16
    for (int j = 0; j < 16; j++)
        sum = _mm512_add_ps(sum, acc[j]);
    return (double)_mm512_reduce_add_ps(sum);
}

VNNI static double fma_int8_vnni(long iterations, double multiplier, double addend)
{
    const __m512i m = _mm512_set1_epi32((int)(multiplier * 64.0)), a = _mm512_set1_epi32((int)(addend * 64.0) + 1);
    __m512i acc[16], sum = _mm512_setzero_si512();
#pragma GCC unroll 16
    for (int j = 0; j < 16; j++)
        acc[j] = _mm512_set1_epi32(j);
    for (long i = 0; i < iterations; i++)
#pragma GCC unroll 16
        for (int j = 0; j < 16; j++)
            acc[j] = _mm512_dpbusd_epi32(acc[j], m, a);
#pragma GCC unroll 16
    for (int j = 0; j < 16; j++)
        sum = _mm512_add_epi32(sum, acc[j]);
    return (double)_mm512_reduce_add_epi32(sum);
}

/* Without dot-product instructions: multiply bytes in pairs, widen, add. The multiplicand is hidden from the optimiser in each iteration,
 * or it would take the product out of the loop. */
AVX2 static double fma_int8_avx2(long iterations, double multiplier, double addend)
{
    __m256i m = _mm256_set1_epi8((char)(multiplier * 64.0));
    const __m256i a = _mm256_set1_epi8((char)(addend * 64.0 + 1.0)), ones = _mm256_set1_epi16(1);
    __m256i acc[8], sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++)
        acc[j] = _mm256_set1_epi32(j);
    for (long i = 0; i < iterations; i++)
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            __asm__ volatile("" : "+x"(m));
            acc[j] = _mm256_add_epi32(acc[j], _mm256_madd_epi16(_mm256_maddubs_epi16(m, a), ones));
        }
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++)
        sum = _mm256_add_epi32(sum, acc[j]);
    return (double)_mm256_extract_epi32(sum, 0);
}
#endif

/* Best first for each precision. */
static const struct fma_task tasks[] = {
#if defined(__x86_64__)
    {"fp64", ISA_AVX512F, fma_fp64_avx512, FLOAT_OPERATIONS(double, 64, 16)},
    {"fp64", ISA_AVX2_FMA, fma_fp64_avx2, FLOAT_OPERATIONS(double, 32, 12)},
    {"fp32", ISA_AVX512F, fma_fp32_avx512, FLOAT_OPERATIONS(float, 64, 16)},
    {"fp32", ISA_AVX2_FMA, fma_fp32_avx2, FLOAT_OPERATIONS(float, 32, 12)},
    {"bf16", ISA_AVX512_BF16, fma_bf16_avx512, 16 * 16 * 4.0},
    {"int8", ISA_AVX512_VNNI, fma_int8_vnni, 16 * 16 * 8.0},
    {"int8", ISA_AVX2_FMA, fma_int8_avx2, 8 * 8 * 8.0},
#endif
    {"fp64", ISA_BASE, fma_fp64_base, FLOAT_OPERATIONS(double, 16, 12)},
    {"fp32", ISA_BASE, fma_fp32_base, FLOAT_OPERATIONS(float, 16, 12)},
};
#define TASKS ((int)(sizeof tasks / sizeof *tasks))

static const struct fma_task *best_task(const char *precision)
{
    for (int i = 0; i < TASKS; i++)
        if (strcmp(tasks[i].precision, precision) == 0 && isa_has(tasks[i].needs))
            return &tasks[i];
    return NULL;
}

/* Read at run time, so that no loop can be computed beforehand. */
static volatile double multiplier = 0.9375, addend = 0.03125;

static int prepare(struct worker *worker)
{
    /* Wide units take some ten microseconds to wake; their first slow cycles are not the ceiling. */
    const struct fma_task *task = worker->task;
    worker->sink = task->run(4 * CHUNK, multiplier, addend);
    return 0;
}

static void work(struct worker *worker)
{
    const struct fma_task *task = worker->task;
    const int64_t end_ns = now_ns() + (int64_t)(worker->seconds * 1e9);
    long chunks = 0;
    do {
        worker->sink += task->run(CHUNK, multiplier, addend);
        chunks++;
    } while (now_ns() < end_ns);
    worker->done = (double)chunks * CHUNK * task->operations_per_iteration;
}

PyObject *native_fma(PyObject *module, PyObject *args)
{
    (void)module;
    static const struct crew_task kind = {prepare, work, NULL};
    const char *precision;
    double seconds, done, elapsed_s;
    struct cpu_list cpus;
    if (!PyArg_ParseTuple(args, "sO&O&", &precision, to_seconds, &seconds, to_cpus, &cpus))
        return NULL;
    const struct fma_task *task = best_task(precision);
    if (!task)
        return PyErr_Format(PyExc_ValueError, "precision must be one of fma_precisions(), not '%.20s'", precision);
    if (crew_run(&kind, task, &cpus, seconds, &done, &elapsed_s) < 0)
        return NULL;
    return Py_BuildValue("(dd)", done, elapsed_s);
}

PyObject *native_fma_precisions(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    static const char *const names[] = {"fp64", "fp32", "bf16", "int8"};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < sizeof names / sizeof *names; i++) {
        if (!best_task(names[i]))
            continue;
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    PyObject *result = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return result;
}
