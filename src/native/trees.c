/* Decision trees in one table, for many rows: each step depends on the one before, which no array operation can say without an array for each step. */
#include "trees.h"

#include <stdint.h>

/* Rows at a time: they stay in the first cache while every tree goes over them. */
#define TOGETHER 64

enum { ROWS, ROOT, FEATURE, THRESHOLD, LEFT, VALUE, OUT, BUFFERS };

struct forest {
    Py_buffer buffer[BUFFERS];
    Py_ssize_t features, rows, trees, nodes;
};

static int sizes_fit(struct forest *forest)
{
    Py_buffer *buffer = forest->buffer;
    if (forest->features < 1 || forest->features > INT32_MAX)
        return 0;
    forest->rows = buffer[OUT].len / 8;
    forest->trees = buffer[ROOT].len / 4;
    forest->nodes = buffer[FEATURE].len / 4;
    return buffer[ROWS].len / 8 / forest->features == forest->rows && buffer[ROWS].len == forest->rows * forest->features * 8 &&
           buffer[OUT].len == forest->rows * 8 && buffer[THRESHOLD].len == forest->nodes * 8 && buffer[LEFT].len == forest->nodes * 4 &&
           buffer[VALUE].len == forest->nodes * 8;
}

/* Whether every path stays inside of the table and ends: nodes lead onwards only, a leaf has no feature. */
static int paths_end(const struct forest *forest)
{
    const int32_t *root = forest->buffer[ROOT].buf, *feature = forest->buffer[FEATURE].buf, *left = forest->buffer[LEFT].buf;
    for (Py_ssize_t i = 0; i < forest->trees; i++)
        if (root[i] < 0 || root[i] >= forest->nodes)
            return 0;
    for (Py_ssize_t i = 0; i < forest->nodes; i++)
        if (feature[i] >= forest->features || (feature[i] >= 0 && (left[i] <= i || left[i] + (Py_ssize_t)1 >= forest->nodes)))
            return 0;
    return 1;
}

static void evaluate(const struct forest *forest)
{
    const double *rows = forest->buffer[ROWS].buf, *threshold = forest->buffer[THRESHOLD].buf, *value = forest->buffer[VALUE].buf;
    const int32_t *root = forest->buffer[ROOT].buf, *feature = forest->buffer[FEATURE].buf, *left = forest->buffer[LEFT].buf;
    double *out = forest->buffer[OUT].buf;
    for (Py_ssize_t first = 0; first < forest->rows; first += TOGETHER) {
        Py_ssize_t last = first + TOGETHER < forest->rows ? first + TOGETHER : forest->rows;
        for (Py_ssize_t row = first; row < last; row++)
            out[row] = 0.0;
        for (Py_ssize_t tree = 0; tree < forest->trees; tree++)
            for (Py_ssize_t row = first; row < last; row++) {
                const double *own = rows + row * forest->features;
                int32_t node = root[tree];
                while (feature[node] >= 0)
                    node = left[node] + (own[feature[node]] > threshold[node]);
                out[row] += value[node];
            }
    }
}

PyObject *native_trees(PyObject *module, PyObject *args)
{
    (void)module;
    struct forest forest = {0};
    Py_buffer *buffer = forest.buffer;
    if (!PyArg_ParseTuple(args, "y*ny*y*y*y*y*w*", &buffer[ROWS], &forest.features, &buffer[ROOT], &buffer[FEATURE], &buffer[THRESHOLD],
                          &buffer[LEFT], &buffer[VALUE], &buffer[OUT]))
        return NULL;
    int sound = sizes_fit(&forest) && paths_end(&forest);
    if (sound) {
        Py_BEGIN_ALLOW_THREADS
        evaluate(&forest);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < BUFFERS; i++)
        PyBuffer_Release(&buffer[i]);
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "rows of so many features, and trees whose nodes lead onwards inside of their table");
        return NULL;
    }
    Py_RETURN_NONE;
}
