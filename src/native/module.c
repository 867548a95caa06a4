/* ridgeline._native: what Python cannot measure. Signatures and units are in _native.pyi. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "columns.h"
#include "counters.h"
#include "fma.h"
#include "graph.h"
#include "isa.h"
#include "latency.h"
#include "sampler.h"
#include "samples.h"
#include "scan.h"
#include "stages.h"
#include "states.h"
#include "stream.h"
#include "trees.h"

static PyMethodDef methods[] = {
    {"isa", native_isa, METH_NOARGS, "isa() -> names of the instruction sets that may be used"},
    {"fma", native_fma, METH_VARARGS, "fma(precision, seconds, cpus) -> (operations, elapsed_s)"},
    {"fma_precisions", native_fma_precisions, METH_NOARGS, "fma_precisions() -> precisions that fma knows on this processor"},
    {"stream", native_stream, METH_VARARGS, "stream(mix, bytes_per_thread, seconds, cpus) -> (bytes_moved, elapsed_s)"},
    {"stream_check", native_stream_check, METH_VARARGS, "stream_check(mix, bytes, widest=64) -> (array_bytes, arrays, result, sum), for tests"},
    {"chase", native_chase, METH_VARARGS, "chase(working_set_bytes, seconds, cpu) -> seconds per dependent load"},
    {"chase_cycle", native_chase_cycle, METH_VARARGS, "chase_cycle(working_set_bytes) -> length of the cycle in loads, for tests"},
    {"handoff", native_handoff, METH_VARARGS, "handoff((cpu, cpu), rounds) -> seconds to pass a turn to a sleeping thread"},
    {"core_to_core", native_core_to_core, METH_VARARGS, "core_to_core((cpu, cpu), chunks) -> seconds for a cache line to pass from one CPU to the other, the median of chunks of 64 passes"},
    {"page_fault", native_page_fault, METH_VARARGS, "page_fault(pages) -> seconds per first touch of a 4 KiB page"},
    {"clock_rate", native_clock_rate, METH_VARARGS, "clock_rate(seconds, cpu) -> cycles per second"},
    {"timer_read", native_timer_read, METH_VARARGS, "timer_read(n) -> seconds per reading of the monotonic clock"},
    {"counters_read", (PyCFunction)(void (*)(void))native_counters_read, METH_FASTCALL, "counters_read(out, ends=False): fill 10 int64 with the calling thread's counters"},
    {"clock_ns", native_clock_ns, METH_NOARGS, "clock_ns() -> monotonic clock in ns"},
    {"nothing", native_nothing, METH_NOARGS, "nothing(): the empty call"},
    {"collection_seen", (PyCFunction)(void (*)(void))native_collection_seen, METH_FASTCALL, "collection_seen(phase, info): for gc.callbacks"},
    {"collections", native_collections, METH_NOARGS, "collections() -> (garbage collections seen so far, ns in them)"},
    {"take_samples", native_take_samples, METH_VARARGS, "take_samples(call, synchronise, before, rows, counters, inner, block, until_ns) -> samples"},
    {"take_batch", native_take_batch, METH_VARARGS, "take_batch(call, synchronise, size) -> (start_ns, end_ns)"},
    {"sampler_start", native_sampler_start, METH_VARARGS, "sampler_start(interval_s, capacity): sample the calling thread by its CPU time"},
    {"sampler_stop", native_sampler_stop, METH_NOARGS, "sampler_stop() -> (program counters as uint64 bytes, missed)"},
    {"sampler_count", native_sampler_count, METH_NOARGS, "sampler_count() -> samples so far"},
    {"states_start", native_states_start, METH_VARARGS, "states_start(interval_s): watch the calling thread's state"},
    {"states_stop", native_states_stop, METH_NOARGS, "states_stop() -> (awake, served, alone, disk)"},
    {"column", native_column, METH_VARARGS, "column(objects, member) -> (bytearray, format) of one slot of all, or None"},
    {"earliest", native_earliest, METH_VARARGS, "earliest(times, source, target, weight): no target before its source and the weight"},
    {"latest", native_latest, METH_VARARGS, "latest(times, source, target, weight): no source after its target less the weight"},
    {"trees", native_trees, METH_VARARGS, "trees(rows, features, root, feature, threshold, left, value, out): the sum over trees for each row"},
    {"stages_start", native_stages_start, METH_VARARGS, "stages_start(most, resources, everywhere, lane_name, opening, closing): record stages"},
    {"stages_stop", native_stages_stop, METH_NOARGS, "stages_stop() -> (events, names, sites, lanes, missed, open)"},
    {"stages_discard", native_stages_discard, METH_NOARGS, "stages_discard(): forget a recorder that runs, as after a fork"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Loops and clocks that Python cannot offer.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    if (counters_init() != 0)
        return PyErr_NoMemory();
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (stages_init(module) != 0 || scan_init(module) != 0))
        Py_CLEAR(module);
    return module;
}
