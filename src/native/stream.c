/* Bandwidth by access mix: read (sum of a), copy (b = a), triad (c = a + b), fill (a = constant), with ordinary stores.
 *
 * Rates count the bytes that the program names: copy of n bytes counts 2n, although the store first reads its line (write-allocate).
 * The working set is all arrays of the mix together. Each thread makes and first touches its own.
 */
#define _GNU_SOURCE
#include "stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "crew.h"
#include "isa.h"

#define BLOCK 512         /* bytes of one array in one turn of the loop: eight of the widest vectors */
#define SMALLEST 4096
#define WIDEST 64         /* bytes of the widest vector */
#define STAGGER 1344      /* array starts differ within a page, or loads would seem to hit earlier stores 4096 bytes away */
#define WARM_BYTES ((size_t)64 << 20)
#define LOOK_BYTES 2097152 /* bytes between two looks at the clock */

typedef double (*kernel)(char *first, char *second, char *third, size_t bytes, long passes);

/* Whole vectors of doubles, eight at a time. The empty asm keeps the compiler from turning a loop into memcpy or memset, and
 * from leaving passes out. */
#define KEEP __asm__ volatile("" ::: "memory")
#define EACH _Pragma("GCC unroll 64") for (int j = 0; j < BLOCK / (int)sizeof(vector); j++)
#define BLOCKS for (size_t i = 0; i < bytes / sizeof(vector); i += BLOCK / sizeof(vector))

#define STREAM_KERNELS(SUFFIX, BYTES, ATTRIBUTE)                                                              \
    ATTRIBUTE static double read_##SUFFIX(char *first, char *second, char *third, size_t bytes, long passes)  \
    {                                                                                                         \
        typedef double vector __attribute__((vector_size(BYTES)));                                            \
        (void)second, (void)third;                                                                            \
        const vector *a = (const vector *)first;                                                              \
        vector sum[8] = {{0}};                                                                                \
        for (long pass = 0; pass < passes; pass++) {                                                          \
            KEEP;                                                                                             \
            BLOCKS EACH sum[j % 8] += a[i + (size_t)j];                                                       \
        }                                                                                                     \
        vector total = {0};                                                                                   \
        _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) total += sum[j];                                  \
        double result = 0.0;                                                                                  \
        for (size_t j = 0; j < sizeof(vector) / sizeof(double); j++)                                          \
            result += total[j];                                                                               \
        return result;                                                                                        \
    }                                                                                                         \
    ATTRIBUTE static double copy_##SUFFIX(char *first, char *second, char *third, size_t bytes, long passes)  \
    {                                                                                                         \
        typedef double vector __attribute__((vector_size(BYTES)));                                            \
        (void)third;                                                                                          \
        const vector *a = (const vector *)first;                                                              \
        vector *b = (vector *)second;                                                                         \
        for (long pass = 0; pass < passes; pass++)                                                            \
            BLOCKS {                                                                                          \
                EACH b[i + (size_t)j] = a[i + (size_t)j];                                                     \
                KEEP;                                                                                         \
            }                                                                                                 \
        return b[0][0];                                                                                       \
    }                                                                                                         \
    ATTRIBUTE static double triad_##SUFFIX(char *first, char *second, char *third, size_t bytes, long passes) \
    {                                                                                                         \
        typedef double vector __attribute__((vector_size(BYTES)));                                            \
        const vector *a = (const vector *)first, *b = (const vector *)second;                                 \
        vector *c = (vector *)third;                                                                          \
        for (long pass = 0; pass < passes; pass++)                                                            \
            BLOCKS {                                                                                          \
                EACH c[i + (size_t)j] = a[i + (size_t)j] + b[i + (size_t)j];                                  \
                KEEP;                                                                                         \
            }                                                                                                 \
        return c[0][0];                                                                                       \
    }                                                                                                         \
    ATTRIBUTE static double fill_##SUFFIX(char *first, char *second, char *third, size_t bytes, long passes)  \
    {                                                                                                         \
        typedef double vector __attribute__((vector_size(BYTES)));                                            \
        (void)second, (void)third;                                                                            \
        vector *a = (vector *)first;                                                                          \
        for (long pass = 0; pass < passes; pass++) {                                                          \
            const vector value = (vector){0} + (double)(pass + 1);                                            \
            BLOCKS {                                                                                          \
                EACH a[i + (size_t)j] = value;                                                                \
                KEEP;                                                                                         \
            }                                                                                                 \
        }                                                                                                     \
        return a[0][0];                                                                                       \
    }

STREAM_KERNELS(base, 16, )
#if defined(__x86_64__)
STREAM_KERNELS(avx2, 32, __attribute__((target("avx2"))))
STREAM_KERNELS(avx512, 64, __attribute__((target("avx512f"))))
#endif

struct mix {
    const char *name;
    int arrays;
    kernel base, avx2, avx512;
};

#if defined(__x86_64__)
#define MIX(NAME, ARRAYS) {#NAME, ARRAYS, NAME##_base, NAME##_avx2, NAME##_avx512}
#else
#define MIX(NAME, ARRAYS) {#NAME, ARRAYS, NAME##_base, NAME##_base, NAME##_base}
#endif
static const struct mix mixes[] = {MIX(read, 1), MIX(copy, 2), MIX(triad, 3), MIX(fill, 1)};

struct stream_task {
    const struct mix *mix;
    kernel run;
    size_t array_bytes;
};

struct arrays {
    struct buffer buffer;
    char *first, *second, *third;
};

static int to_task(const char *name, Py_ssize_t bytes, int widest, struct stream_task *task)
{
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
        if (strcmp(mixes[i].name, name) == 0)
            task->mix = &mixes[i];
    if (!task->mix) {
        PyErr_Format(PyExc_ValueError, "mix must be read, copy, triad or fill, not '%.20s'", name);
        return 0;
    }
    if (bytes < SMALLEST) {
        PyErr_Format(PyExc_ValueError, "bytes_per_thread must be at least %d", SMALLEST);
        return 0;
    }
    const struct mix *mix = task->mix;
    task->run = mix->base;
    if (widest >= 32 && isa_has(ISA_AVX2_FMA))
        task->run = mix->avx2;
    if (widest >= 64 && isa_has(ISA_AVX512F))
        task->run = mix->avx512;
    task->array_bytes = (size_t)bytes / (size_t)mix->arrays / BLOCK * BLOCK;
    return 1;
}

static int make_arrays(const struct stream_task *task, struct arrays *arrays)
{
    if (task->array_bytes > SIZE_MAX / 4)
        return ENOMEM;
    size_t stride = (task->array_bytes + 4095) / 4096 * 4096 + STAGGER;
    int failed = buffer_make(&arrays->buffer, stride * (size_t)task->mix->arrays);
    if (failed)
        return failed;
    arrays->first = arrays->buffer.start;
    arrays->second = task->mix->arrays > 1 ? arrays->first + stride : NULL;
    arrays->third = task->mix->arrays > 2 ? arrays->second + stride : NULL;
    /* First touch. */
    double *values = (double *)arrays->first;
    for (size_t i = 0; i < stride * (size_t)task->mix->arrays / sizeof(double); i++)
        values[i] = 1.0;
    return 0;
}

static int prepare(struct worker *worker)
{
    struct arrays *arrays = calloc(1, sizeof *arrays);
    if (!arrays)
        return ENOMEM;
    const struct stream_task *task = worker->task;
    int failed = make_arrays(task, arrays);
    if (failed) {
        free(arrays);
        return failed;
    }
    worker->own = arrays;
    /* One pass to wake the wide units and fill the cache; of a large set a part will do, since the first touch has been over all of it. */
    size_t warm_bytes = task->array_bytes < WARM_BYTES ? task->array_bytes : WARM_BYTES;
    worker->sink = task->run(arrays->first, arrays->second, arrays->third, warm_bytes, 1);
    return 0;
}

static void work(struct worker *worker)
{
    const struct stream_task *task = worker->task;
    const struct arrays *arrays = worker->own;
    const size_t pass_bytes = task->array_bytes * (size_t)task->mix->arrays;
    const long passes = 1 + (long)(LOOK_BYTES / pass_bytes);
    const int64_t end_ns = now_ns() + (int64_t)(worker->seconds * 1e9);
    long looks = 0;
    do {
        worker->sink += task->run(arrays->first, arrays->second, arrays->third, task->array_bytes, passes);
        looks++;
    } while (now_ns() < end_ns);
    worker->done = (double)looks * (double)passes * (double)pass_bytes;
}

static void release(struct worker *worker)
{
    struct arrays *arrays = worker->own;
    buffer_drop(&arrays->buffer);
    free(arrays);
}

PyObject *native_stream(PyObject *module, PyObject *args)
{
    (void)module;
    static const struct crew_task kind = {prepare, work, release};
    const char *name;
    Py_ssize_t bytes;
    double seconds, done, elapsed_s;
    struct cpu_list cpus;
    struct stream_task task = {0};
    if (!PyArg_ParseTuple(args, "sO&O&O&", &name, to_count, &bytes, to_seconds, &seconds, to_cpus, &cpus))
        return NULL;
    if (!to_task(name, bytes, WIDEST, &task) || !memory_allows((size_t)bytes, (size_t)cpus.count))
        return NULL;
    if (crew_run(&kind, &task, &cpus, seconds, &done, &elapsed_s) < 0)
        return NULL;
    return Py_BuildValue("(dd)", done, elapsed_s);
}

/* For tests: one pass over known contents, with vectors of at most so many bytes. Returns (bytes of one array, arrays, what the kernel returned,
 * the sum over the array that it wrote or read). */
PyObject *native_stream_check(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    Py_ssize_t bytes, widest = WIDEST;
    struct stream_task task = {0};
    struct arrays arrays;
    if (!PyArg_ParseTuple(args, "sO&|O&", &name, to_count, &bytes, to_count, &widest))
        return NULL;
    if (!to_task(name, bytes, widest < WIDEST ? (int)widest : WIDEST, &task) || !memory_allows((size_t)bytes, 1))
        return NULL;
    if (make_arrays(&task, &arrays))
        return PyErr_NoMemory();
    double *first = (double *)arrays.first, *second = (double *)arrays.second, *third = (double *)arrays.third;
    const size_t elements = task.array_bytes / sizeof(double);
    for (size_t i = 0; i < elements; i++) {
        first[i] = (double)i;
        if (third)
            second[i] = 2.0 * (double)i;
    }
    double result = task.run(arrays.first, arrays.second, arrays.third, task.array_bytes, 1);
    const double *target = third ? third : second ? second : first;
    double sum = 0.0;
    for (size_t i = 0; i < elements; i++)
        sum += target[i];
    buffer_drop(&arrays.buffer);
    return Py_BuildValue("(nidd)", (Py_ssize_t)task.array_bytes, task.mix->arrays, result, sum);
}
