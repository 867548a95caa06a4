/* Named stages of a program: a context manager that costs next to nothing while nobody records and well under a microsecond while somebody does.
 *
 * An event is appended when its stage is left, under the interpreter's lock, to one array for all threads. What a stage is nested in follows
 * from a context variable, so that threads and asyncio tasks each have their own chain. The variable may hold a stage that has been left already
 * (a generator suspended inside it, an exit in another thread); such a one is skipped when the next stage looks for its parent.
 */
#define _GNU_SOURCE
#include "stages.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sampler.h"

#define MOST_NAMES 4096
#define LONGEST_NAME 120 /* characters; the same in measurement/stages/recorder.py */

/* One finished stage as Python reads it: see `EVENT` in measurement/stages/recorder.py. */
struct event {
    int64_t id, parent, start_ns, end_ns, cpu_ns, process_cpu_ns;
    int32_t name, lane, sample_from, sample_to;
};

typedef struct stage_object stage_object;

typedef struct entry {
    PyObject_HEAD
    struct entry *parent; /* strong; the innermost stage that was open when this one was entered, or NULL */
    struct entry *below;  /* borrowed; the next older open entry of the same stage object */
    stage_object *owner;  /* borrowed while open */
    PyObject *handle;     /* what the opening hook returned, or NULL */
    int64_t id, start_ns, cpu_ns, process_cpu_ns;
    int32_t name, lane, sample;
    uint32_t generation;
    int open;
} entry;

struct stage_object {
    PyObject_HEAD
    PyObject *name, *device, *site;
    entry *entries; /* strong; open entries, the latest first */
    int synchronise, wraps;
};

static struct {
    int running, resources, everywhere;
    uint32_t generation;
    struct event *events;
    size_t count, capacity, most;
    int64_t next_id;
    uint64_t missed;
    int64_t open[MOST_NAMES + 1]; /* by name; the last is of all names beyond */
    PyObject *names, *index, *sites, *lanes; /* list, dict, list, list */
    PyObject *opening, *closing, *lane_name; /* hooks, or NULL */
} recorder;

static PyObject *current; /* the context variable */
static PyTypeObject entry_type;

static _Thread_local uint32_t lane_generation;
static _Thread_local int32_t lane_here;

static int64_t clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void entry_dealloc(PyObject *object)
{
    entry *self = (entry *)object;
    /* A chain of parents is as long as stages are deep, which may be very deep. */
    entry *parent = self->parent;
    Py_CLEAR(self->handle);
    Py_TYPE(object)->tp_free(object);
    while (parent != NULL) {
        if (Py_REFCNT(parent) > 1) {
            Py_DECREF(parent);
            break;
        }
        entry *next = parent->parent;
        parent->parent = NULL;
        Py_DECREF(parent);
        parent = next;
    }
}

static PyTypeObject entry_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ridgeline._native._Entry",
    .tp_basicsize = sizeof(entry),
    .tp_dealloc = entry_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "One entry of a stage.",
};

/* What goes wrong in the recorder is never the program's fault; what is meant to end the program (Ctrl-C in a hook) passes. */
static int forgiven(void)
{
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return 0;
    PyErr_Clear();
    return 1;
}

/* The place that enters a stage of a name not seen before: (file, line, function), or None. */
static PyObject *site_of(stage_object *self)
{
    if (self->site != NULL)
        return Py_NewRef(self->site);
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL)
        Py_RETURN_NONE;
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *qualname = PyObject_GetAttrString((PyObject *)code, "co_qualname");
    PyObject *site = qualname == NULL ? NULL : Py_BuildValue("(OiO)", code->co_filename, PyFrame_GetLineNumber(frame), qualname);
    Py_XDECREF(qualname);
    Py_DECREF(code);
    return site;
}

static int32_t name_index(stage_object *self)
{
    PyObject *known = PyDict_GetItemWithError(recorder.index, self->name);
    if (known != NULL)
        return (int32_t)PyLong_AsLong(known);
    if (PyErr_Occurred())
        return -2;
    Py_ssize_t index = PyList_GET_SIZE(recorder.names);
    if (index >= MOST_NAMES)
        return -1; /* a program that makes up names: the rest share one */
    PyObject *number = PyLong_FromSsize_t(index), *site = site_of(self);
    int failed = number == NULL || site == NULL || PyList_Append(recorder.names, self->name) != 0 || PyList_Append(recorder.sites, site) != 0
        || PyDict_SetItem(recorder.index, self->name, number) != 0;
    Py_XDECREF(number);
    Py_XDECREF(site);
    return failed ? -2 : (int32_t)index;
}

static int32_t lane_index(void)
{
    if (lane_generation == recorder.generation)
        return lane_here;
    PyObject *name = recorder.lane_name == NULL ? PyUnicode_FromString("") : PyObject_CallNoArgs(recorder.lane_name);
    if (name == NULL)
        return -2;
    int32_t index = (int32_t)PyList_GET_SIZE(recorder.lanes);
    int failed = PyList_Append(recorder.lanes, name);
    Py_DECREF(name);
    if (failed)
        return -2;
    lane_generation = recorder.generation;
    return lane_here = index;
}

static int32_t samples_now(void)
{
    PyObject *number = native_sampler_count(NULL, NULL);
    if (number == NULL) {
        PyErr_Clear();
        return 0;
    }
    int32_t count = (int32_t)PyLong_AsLong(number);
    Py_DECREF(number);
    return count;
}

/* Whether the hooks have anything to do: a call into Python costs as much as all the rest. */
static int hooked(const stage_object *self) { return recorder.everywhere || self->device != NULL || self->synchronise; }

/* The innermost stage that is open in this context; new reference or NULL. */
static entry *innermost(void)
{
    PyObject *value = NULL;
    if (PyContextVar_Get(current, NULL, &value) != 0) {
        PyErr_Clear();
        return NULL;
    }
    if (value == NULL || !Py_IS_TYPE(value, &entry_type)) {
        Py_XDECREF(value);
        return NULL;
    }
    entry *found = (entry *)value;
    while (found != NULL && (!found->open || found->generation != recorder.generation)) {
        entry *outer = (entry *)Py_XNewRef((PyObject *)found->parent);
        Py_DECREF(found);
        found = outer;
    }
    return found;
}

static int set_current(PyObject *value)
{
    PyObject *token = PyContextVar_Set(current, value);
    Py_XDECREF(token);
    return token == NULL ? -1 : 0;
}

/* A function that recurses may go as deep with its decorator as without: the frame of the wrapper is not counted while it calls the function. */
static void uncount(const stage_object *self, int frames)
{
    if (!self->wraps)
        return;
#if PY_VERSION_HEX >= 0x030C0000
    PyThreadState_Get()->py_recursion_remaining += frames;
#else
    PyThreadState_Get()->recursion_remaining += frames;
#endif
}

static PyObject *entered(stage_object *self)
{
    PyObject *object = (PyObject *)self;
    if (!recorder.running)
        return Py_NewRef(object);
    int32_t name = name_index(self), lane = lane_index();
    entry *made = name == -2 || lane == -2 ? NULL : PyObject_New(entry, &entry_type);
    if (made == NULL)
        return forgiven() ? Py_NewRef(object) : NULL;
    made->parent = innermost();
    made->owner = self;
    made->handle = NULL;
    made->id = recorder.next_id++;
    made->name = name;
    made->lane = lane;
    made->generation = recorder.generation;
    made->open = 1;
    made->sample = 0;
    made->cpu_ns = made->process_cpu_ns = 0;
    if (set_current((PyObject *)made) != 0) {
        Py_DECREF(made);
        return forgiven() ? Py_NewRef(object) : NULL;
    }
    made->below = self->entries;
    self->entries = made;
    recorder.open[name < 0 ? MOST_NAMES : name]++;
    if (recorder.opening != NULL && hooked(self)) {
        made->handle = PyObject_CallFunctionObjArgs(recorder.opening, object, NULL);
        if (made->handle == NULL && !forgiven())
            return NULL;
    }
    if (recorder.resources) {
        made->sample = samples_now();
        made->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
        made->process_cpu_ns = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    }
    made->start_ns = clock_of(CLOCK_MONOTONIC);
    return Py_NewRef(object);
}

static PyObject *stage_enter(PyObject *object, PyObject *unused)
{
    (void)unused;
    PyObject *result = entered((stage_object *)object);
    if (result != NULL)
        uncount((stage_object *)object, 1);
    return result;
}

/* The entry that this exit ends: this object's in the chain of the context, else its latest (entered in another context). Unlinked; strong. */
static entry *ended(stage_object *self)
{
    entry *wanted = NULL;
    entry *inner = innermost();
    for (entry *at = inner; at != NULL; at = at->parent)
        if (at->open && at->owner == self) {
            wanted = at;
            break;
        }
    if (wanted == NULL)
        wanted = self->entries;
    for (entry **link = &self->entries; *link != NULL; link = &(*link)->below)
        if (*link == wanted) {
            *link = wanted->below;
            break;
        }
    Py_XDECREF(inner); /* the list's reference is ours now */
    return wanted;
}

static void append(const struct event *event)
{
    if (recorder.count == recorder.capacity && recorder.capacity < recorder.most) {
        size_t larger = recorder.capacity * 2 < recorder.most ? recorder.capacity * 2 : recorder.most;
        struct event *moved = realloc(recorder.events, larger * sizeof *moved);
        if (moved != NULL) {
            recorder.events = moved;
            recorder.capacity = larger;
        }
    }
    if (recorder.count < recorder.capacity)
        recorder.events[recorder.count++] = *event;
    else
        recorder.missed++;
}

static int64_t parent_id(const entry *self)
{
    return self->parent != NULL && self->parent->generation == recorder.generation ? self->parent->id : -1;
}

static void finish(stage_object *self, entry *left, int64_t now)
{
    struct event event = {.id = left->id, .parent = parent_id(left), .start_ns = left->start_ns, .end_ns = now, .name = left->name, .lane = left->lane};
    if (recorder.resources) {
        event.process_cpu_ns = clock_of(CLOCK_PROCESS_CPUTIME_ID) - left->process_cpu_ns;
        event.cpu_ns = lane_index() == left->lane ? clock_of(CLOCK_THREAD_CPUTIME_ID) - left->cpu_ns : 0;
        event.sample_from = left->sample;
        event.sample_to = samples_now();
    }
    if (recorder.closing != NULL && hooked(self)) {
        PyObject *id = PyLong_FromLongLong(left->id);
        PyObject *waited = id == NULL ? NULL : PyObject_CallFunctionObjArgs(recorder.closing, self, left->handle ? left->handle : Py_None, id, NULL);
        if (waited != NULL && Py_IsTrue(waited))
            event.end_ns = clock_of(CLOCK_MONOTONIC); /* it waited for the device */
        Py_XDECREF(waited);
        Py_XDECREF(id);
    }
    /* A hook may have stopped the recorder. */
    if (recorder.running && left->generation == recorder.generation) {
        append(&event);
        recorder.open[left->name < 0 ? MOST_NAMES : left->name]--;
    }
}

static PyObject *stage_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    (void)count;
    stage_object *self = (stage_object *)object;
    uncount(self, -1);
    if (self->entries == NULL)
        Py_RETURN_NONE;
    int64_t now = clock_of(CLOCK_MONOTONIC);
    entry *left = ended(self);
    if (recorder.running && left->generation == recorder.generation)
        finish(self, left, now);
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    if (!forgiven())
        PyErr_Fetch(&type, &value, &trace);
    left->open = 0;
    PyObject *inner = NULL;
    if (PyContextVar_Get(current, NULL, &inner) == 0 && inner == (PyObject *)left)
        set_current(left->parent != NULL ? (PyObject *)left->parent : Py_None);
    Py_XDECREF(inner);
    Py_DECREF(left);
    if (type == NULL)
        Py_RETURN_NONE;
    PyErr_Restore(type, value, trace);
    return NULL;
}

/* A name that nobody could read, and that must not be kept whole for as long as somebody records. */
static PyObject *shortened(PyObject *name)
{
    PyObject *begin = PyUnicode_Substring(name, 0, LONGEST_NAME - 1);
    PyObject *result = begin == NULL ? NULL : PyUnicode_FromFormat("%U%c", begin, 0x2026);
    Py_XDECREF(begin);
    return result;
}

static PyObject *stage_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *name = NULL, *device = NULL;
    int synchronise = 0, wraps = 0;
    if (kwargs == NULL && PyTuple_GET_SIZE(args) == 1) {
        name = PyTuple_GET_ITEM(args, 0);
    } else {
        static char *keywords[] = {"name", "device", "synchronise", "_wraps", NULL};
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$Opp:stage", keywords, &name, &device, &synchronise, &wraps))
            return NULL;
    }
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "expected the name of a stage as text; found a %s; write stage(\"name\")", Py_TYPE(name)->tp_name);
    stage_object *self = (stage_object *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->name = PyUnicode_GET_LENGTH(name) <= LONGEST_NAME ? Py_NewRef(name) : shortened(name);
    if (self->name == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    self->device = device == NULL || device == Py_None ? NULL : Py_NewRef(device);
    self->synchronise = synchronise;
    self->wraps = wraps;
    return (PyObject *)self;
}

static void stage_dealloc(PyObject *object)
{
    stage_object *self = (stage_object *)object;
    while (self->entries != NULL) { /* never left: nobody may find it by its owner any more */
        entry *lost = self->entries;
        self->entries = lost->below;
        lost->open = 0;
        lost->owner = NULL;
        Py_DECREF(lost);
    }
    Py_CLEAR(self->name);
    Py_CLEAR(self->device);
    Py_CLEAR(self->site);
    /* Of a subclass written in Python, its own deallocator calls this one and gives up the type. */
    Py_TYPE(object)->tp_free(object);
}

static PyObject *get_object(PyObject *object, void *offset)
{
    PyObject *value = *(PyObject **)((char *)object + (size_t)offset);
    return Py_NewRef(value == NULL ? Py_None : value);
}

static int set_site(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    Py_XSETREF(((stage_object *)object)->site, Py_XNewRef(value));
    return 0;
}

static PyObject *get_synchronise(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((stage_object *)object)->synchronise);
}

static PyMethodDef stage_methods[] = {
    {"__enter__", stage_enter, METH_NOARGS, "Enter the stage."},
    {"__exit__", (PyCFunction)(void (*)(void))stage_exit, METH_FASTCALL, "Leave it; an exception passes."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef stage_fields[] = {
    {"name", get_object, NULL, "its name", (void *)offsetof(stage_object, name)},
    {"device", get_object, NULL, "device, stream or queue that its work goes to, or None", (void *)offsetof(stage_object, device)},
    {"site", get_object, set_site, "(file, line, function) that enters it, or None", (void *)offsetof(stage_object, site)},
    {"synchronise", get_synchronise, NULL, "whether a recorder waits for its device at the end", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject stage_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ridgeline._native.Stage",
    .tp_basicsize = sizeof(stage_object),
    .tp_dealloc = stage_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "Stage(name, *, device=None, synchronise=False): a named part of a program, as a context manager.",
    .tp_methods = stage_methods,
    .tp_getset = stage_fields,
    .tp_new = stage_new,
};

int stages_init(PyObject *module)
{
    current = PyContextVar_New("ridgeline-stage", NULL);
    if (current == NULL || PyType_Ready(&entry_type) != 0 || PyType_Ready(&stage_type) != 0)
        return -1;
    return PyModule_AddObjectRef(module, "Stage", (PyObject *)&stage_type);
}

static PyObject *hook(PyObject *given) { return given == Py_None ? NULL : Py_NewRef(given); }

PyObject *native_stages_start(PyObject *module, PyObject *args)
{
    (void)module;
    Py_ssize_t most;
    int resources, everywhere;
    PyObject *lane_name, *opening, *closing;
    if (!PyArg_ParseTuple(args, "nppOOO:stages_start", &most, &resources, &everywhere, &lane_name, &opening, &closing))
        return NULL;
    if (most < 1 || most > (1 << 24))
        return PyErr_Format(PyExc_ValueError, "expected 1 to %d events; found %zd", 1 << 24, most);
    if (recorder.running)
        return PyErr_Format(PyExc_RuntimeError, "expected one recorder of stages; found one that runs");
    size_t capacity = most < 1024 ? (size_t)most : 1024;
    struct event *events = malloc(capacity * sizeof *events);
    PyObject *names = PyList_New(0), *index = PyDict_New(), *sites = PyList_New(0), *lanes = PyList_New(0);
    if (events == NULL || names == NULL || index == NULL || sites == NULL || lanes == NULL) {
        free(events);
        Py_XDECREF(names);
        Py_XDECREF(index);
        Py_XDECREF(sites);
        Py_XDECREF(lanes);
        return PyErr_NoMemory();
    }
    recorder.events = events;
    recorder.capacity = capacity;
    recorder.most = (size_t)most;
    recorder.count = 0;
    recorder.next_id = 0;
    recorder.missed = 0;
    memset(recorder.open, 0, sizeof recorder.open);
    recorder.names = names;
    recorder.index = index;
    recorder.sites = sites;
    recorder.lanes = lanes;
    recorder.lane_name = hook(lane_name);
    recorder.opening = hook(opening);
    recorder.closing = hook(closing);
    recorder.resources = resources;
    recorder.everywhere = everywhere;
    recorder.generation++;
    recorder.running = 1;
    Py_RETURN_NONE;
}

static void release(void)
{
    recorder.running = 0;
    free(recorder.events);
    recorder.events = NULL;
    Py_CLEAR(recorder.names);
    Py_CLEAR(recorder.index);
    Py_CLEAR(recorder.sites);
    Py_CLEAR(recorder.lanes);
    Py_CLEAR(recorder.lane_name);
    Py_CLEAR(recorder.opening);
    Py_CLEAR(recorder.closing);
}

PyObject *native_stages_stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (!recorder.running)
        return PyErr_Format(PyExc_RuntimeError, "expected a recorder of stages that runs; found none");
    recorder.running = 0;
    PyObject *result = Py_BuildValue("(y#OOOKy#)", (const char *)recorder.events, (Py_ssize_t)(recorder.count * sizeof *recorder.events),
        recorder.names, recorder.sites, recorder.lanes, (unsigned long long)recorder.missed, (const char *)recorder.open,
        (Py_ssize_t)sizeof recorder.open);
    release();
    return result;
}

PyObject *native_stages_discard(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (recorder.running)
        release();
    Py_RETURN_NONE;
}
