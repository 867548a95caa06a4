/* Times of the nodes of a graph without cycles, gone through edge by edge: each depends on the one before, which no array operation can say. */
#include "graph.h"

#include <stdint.h>

struct edges {
    Py_buffer times, source, target, weight;
};

static void edges_drop(struct edges *edges)
{
    Py_buffer *all[] = {&edges->times, &edges->source, &edges->target, &edges->weight};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->obj != NULL)
            PyBuffer_Release(all[i]);
}

static int edges_parse(PyObject *args, struct edges *edges)
{
    *edges = (struct edges){0};
    if (!PyArg_ParseTuple(args, "w*y*y*y*", &edges->times, &edges->source, &edges->target, &edges->weight))
        return 0;
    Py_ssize_t count = edges->weight.len / 8;
    if (edges->times.len % 8 || edges->weight.len % 8 || edges->source.len != count * 4 || edges->target.len != count * 4) {
        PyErr_SetString(PyExc_ValueError, "times and weights of 8 bytes, as many sources and targets of 4 bytes as weights");
        return 0;
    }
    return 1;
}

/* Forward: each target at least `weight` after its source; backward: each source at most its target less `weight`. The edge that cannot be, or −1. */
static Py_ssize_t relax(const struct edges *edges, int backward)
{
    int64_t *times = edges->times.buf;
    const int32_t *source = edges->source.buf, *target = edges->target.buf;
    const int64_t *weight = edges->weight.buf;
    Py_ssize_t nodes = edges->times.len / 8, count = edges->weight.len / 8;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t edge = backward ? count - 1 - i : i;
        int32_t from = source[edge], to = target[edge];
        int64_t tick;
        if (from < 0 || from >= nodes || to < 0 || to >= nodes)
            return edge;
        if (backward) {
            if (__builtin_sub_overflow(times[to], weight[edge], &tick))
                return edge;
            if (tick < times[from])
                times[from] = tick;
        } else {
            if (__builtin_add_overflow(times[from], weight[edge], &tick))
                return edge;
            if (tick > times[to])
                times[to] = tick;
        }
    }
    return -1;
}

static PyObject *relaxed(PyObject *args, int backward)
{
    struct edges edges;
    Py_ssize_t wrong = -1;
    int sound = edges_parse(args, &edges);
    if (sound) {
        Py_BEGIN_ALLOW_THREADS
        wrong = relax(&edges, backward);
        Py_END_ALLOW_THREADS
    }
    edges_drop(&edges);
    if (!sound)
        return NULL;
    if (wrong >= 0)
        return PyErr_Format(PyExc_ValueError, "edge %zd: a node that is not there, or a time that leaves 63 bits", wrong);
    Py_RETURN_NONE;
}

PyObject *native_earliest(PyObject *module, PyObject *args)
{
    (void)module;
    return relaxed(args, 0);
}

PyObject *native_latest(PyObject *module, PyObject *args)
{
    (void)module;
    return relaxed(args, 1);
}
