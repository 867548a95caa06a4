/* Trace events from bytes to rows of numbers: what the decoder would build objects for, in one pass.
 *
 * Only plain text is taken, all that a recorder writes as a rule: strict JSON, each field once and of the type that it should have, times without an
 * exponent. For anything else the answer is None, and the caller goes the long way. Texts are numbered by their bytes as they stand in the file; what
 * they mean is decoded once for each, by the caller. The order of fields of `struct row` is that of `ROW` in readers/chrome/scanned.py.
 */
#include "scan.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "json.h"
#include "texts.h"

/* The same as in readers/chrome: events.ABSENT, times.ABSENT_NS, LATEST_NS, LONGEST_NS and _EXACT_US. */
#define ABSENT (-(INT64_C(1) << 62))
#define NO_TIME INT64_MIN
#define LATEST_NS (INT64_C(3) << 60)
#define LONGEST_NS (INT64_C(1) << 60)
#define EXACT_US (UINT64_C(1) << 42)
#define LONGEST_NUMBER 40
#define LONGEST_ORIGIN 1024

struct row {
    int64_t ts, dur, id, external_id, correlation, old_external_id, correlation_id, graph, bytes, size, sequence, record;
    double occupancy;
    int32_t origin, name, bp, device, stream, shapes, types, concrete, wait_stream, sync_kind;
    int32_t begin, end, odd; /* `odd`: what is not said by the columns, as below */
};

/* An argument of another type than it should have; an identifier that is no whole number, or holds in a scope. */
enum { ODD_ARGUMENT = 1, ODD_IDENTIFIER = 2 };

struct slice {
    const char *at;
    size_t length;
};

struct scan {
    struct json json;
    const char *begin;
    struct texts *texts;
    int fine[2], large[2]; /* of ts and dur: whether there are more than three places, and numbers that a double may not hold */
};

enum kind { ORIGIN, TEXT, TIME, WHOLE, NUMBER, SCALAR, SCOPE, LOCAL, ARGS, RAW };

struct field {
    const char *name;
    uint8_t length, kind;
    uint16_t place; /* ORIGIN: which part of the origin; TIME: 0 ts, 1 dur; else the offset in the row */
};

#define FIELD(name, kind, place) {name, sizeof name - 1, kind, place}
#define IN_ROW(name, kind, member) FIELD(name, kind, offsetof(struct row, member))

/* By length. */
static const struct field of_event[] = {
    FIELD("ph", ORIGIN, 0),
    IN_ROW("ts", TIME, ts),
    IN_ROW("id", WHOLE, id),
    IN_ROW("bp", TEXT, bp),
    FIELD("cat", ORIGIN, 1),
    FIELD("pid", ORIGIN, 2),
    FIELD("tid", ORIGIN, 3),
    IN_ROW("dur", TIME, dur),
    FIELD("id2", LOCAL, 0),
    IN_ROW("name", TEXT, name),
    FIELD("args", ARGS, 0),
    FIELD("scope", SCOPE, 0),
};

static const struct field of_args[] = {
    FIELD("name", SCALAR, 0),
    IN_ROW("size", WHOLE, size),
    IN_ROW("bytes", WHOLE, bytes),
    IN_ROW("device", TEXT, device),
    IN_ROW("stream", TEXT, stream),
    FIELD("labels", SCALAR, 0),
    IN_ROW("seq_num", WHOLE, sequence),
    IN_ROW("graph id", WHOLE, graph),
    IN_ROW("Input Dims", RAW, shapes),
    IN_ROW("Input type", RAW, types),
    IN_ROW("External id", WHOLE, external_id),
    IN_ROW("external id", WHOLE, old_external_id),
    IN_ROW("correlation", WHOLE, correlation),
    IN_ROW("wait_on_stream", TEXT, wait_stream),
    IN_ROW("correlation_id", WHOLE, correlation_id),
    IN_ROW("cuda_sync_kind", TEXT, sync_kind),
    IN_ROW("Concrete Inputs", RAW, concrete),
    IN_ROW("est. achieved occupancy %", NUMBER, occupancy),
    IN_ROW("wait_on_cuda_event_record_corr_id", WHOLE, record),
};

static const struct row nothing = {
    NO_TIME, NO_TIME, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, (double)ABSENT, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0,
};

#define COUNT(fields) (sizeof fields / sizeof *fields)

static const struct field *find(const struct field *fields, size_t count, struct slice key)
{
    for (size_t i = 0; i < count && fields[i].length <= key.length; i++)
        if (fields[i].length == key.length && fields[i].name[0] == key.at[0] && memcmp(fields[i].name, key.at, key.length) == 0)
            return &fields[i];
    return NULL;
}

/* `char` if it comes next, behind blanks. */
static int expect(struct json *json, char wanted)
{
    json_blanks(json);
    if (json->at >= json->end || *json->at != wanted)
        return 0;
    json->at++;
    return 1;
}

/* A key and its colon; keys with escapes are refused. */
static int key_of(struct json *json, struct slice *key)
{
    int escaped = 0;
    if (!expect(json, '"'))
        return 0;
    key->at = json->at;
    if (!json_string(json, &escaped) || escaped)
        return 0;
    key->length = (size_t)(json->at - 1 - key->at);
    if (!expect(json, ':'))
        return 0;
    json_blanks(json);
    return 1;
}

/* A number that every decoder takes. */
static int number_of(struct json *json, struct json_number *number)
{
    return json_number(json, number) && !number->exponent && number->end - number->begin <= LONGEST_NUMBER;
}

static int numeric(const struct json *json)
{
    return json->at < json->end && (*json->at == '-' || (*json->at >= '0' && *json->at <= '9'));
}

/* A text, a number or a word. */
static int scalar(struct json *json, struct slice *slice)
{
    struct json_number number;
    int escaped = 0, taken;
    slice->at = json->at;
    if (json->at < json->end && *json->at == '"') {
        json->at++;
        taken = json_string(json, &escaped);
    } else {
        taken = numeric(json) ? number_of(json, &number) : json_word(json);
    }
    slice->length = (size_t)(json->at - slice->at);
    return taken;
}

static int whole_part(const struct json_number *number, uint64_t *value)
{
    const char *at = number->begin + (*number->begin == '-');
    if (number->point - at > 18)
        return 0;
    for (*value = 0; at < number->point; at++)
        *value = 10 * *value + (uint64_t)(*at - '0');
    return 1;
}

/* Three places behind the point. */
static uint64_t thousandths(const struct json_number *number)
{
    uint64_t value = 0;
    const char *at = number->point + 1;
    for (int i = 0; i < 3; i++, at++)
        value = 10 * value + (at < number->end ? (uint64_t)(*at - '0') : 0);
    return value;
}

/* Microseconds as written to nanoseconds, as times.py has them: to the last digit with three places, by way of a double with more. */
static int time_of(struct scan *scan, int which, int64_t *ns)
{
    struct json_number number;
    uint64_t us;
    int64_t most = which ? LONGEST_NS : LATEST_NS;
    if (!numeric(&scan->json) || !number_of(&scan->json, &number) || !whole_part(&number, &us) || us > (uint64_t)most / 1000 - 1)
        return 0;
    scan->large[which] |= us >= EXACT_US;
    if (number.end - number.point > 4) {
        scan->fine[which] = 1;
        *ns = (int64_t)rint(PyOS_string_to_double(number.begin, (char **)&number.end, NULL) * 1000.0);
    } else {
        *ns = (int64_t)(1000 * us + thousandths(&number));
        if (*number.begin == '-')
            *ns = -*ns;
    }
    return 1;
}

static int whole_of(struct scan *scan, struct row *row, int odd, int64_t *out)
{
    struct json_number number;
    struct slice slice;
    uint64_t value;
    *out = ABSENT;
    if (!numeric(&scan->json)) {
        row->odd |= odd;
        return scalar(&scan->json, &slice);
    }
    if (!number_of(&scan->json, &number))
        return 0;
    if (number.end != number.point || !whole_part(&number, &value))
        row->odd |= odd;
    else
        *out = *number.begin == '-' ? -(int64_t)value : (int64_t)value;
    return 1;
}

static int fraction_of(struct scan *scan, struct row *row, double *out)
{
    struct json_number number;
    struct slice slice;
    *out = (double)ABSENT;
    if (!numeric(&scan->json)) {
        row->odd |= ODD_ARGUMENT;
        return scalar(&scan->json, &slice);
    }
    if (!number_of(&scan->json, &number))
        return 0;
    *out = PyOS_string_to_double(number.begin, (char **)&number.end, NULL);
    return 1;
}

static int text_of(struct scan *scan, enum kind kind, int32_t *out)
{
    struct slice slice = {scan->json.at, 0};
    if (!(kind == RAW ? json_value(&scan->json) : scalar(&scan->json, &slice)))
        return 0;
    *out = texts_number(scan->texts, slice.at, (size_t)(scan->json.at - slice.at));
    return *out >= 0;
}

/* The arguments: an object of which the fields below are looked at; another value is none. */
static int args_of(struct scan *scan, struct row *row)
{
    struct json *json = &scan->json;
    struct slice key, slice;
    if (json->at < json->end && *json->at != '{')
        return scalar(json, &slice);
    json->at++;
    if (expect(json, '}'))
        return 1;
    do {
        if (!key_of(json, &key))
            return 0;
        const struct field *field = find(of_args, COUNT(of_args), key);
        char *place = field != NULL ? (char *)row + field->place : NULL;
        int taken;
        switch (field != NULL ? field->kind : ORIGIN) {
        case WHOLE:
            taken = whole_of(scan, row, ODD_ARGUMENT, (int64_t *)place);
            break;
        case NUMBER:
            taken = fraction_of(scan, row, (double *)place);
            break;
        case TEXT:
        case RAW:
            taken = text_of(scan, field->kind, (int32_t *)place);
            break;
        case SCALAR:
            taken = scalar(json, &slice);
            break;
        default:
            taken = json_value(json);
        }
        if (!taken)
            return 0;
    } while (expect(json, ','));
    return expect(json, '}');
}

/* An identifier with a scope, whose members are plain. */
static int local_of(struct json *json)
{
    struct slice slice;
    if (json->at < json->end && *json->at != '{')
        return json_word(json) && json->at[-1] == 'l';
    json->at++;
    if (expect(json, '}'))
        return 1;
    do {
        if (!key_of(json, &slice) || !scalar(json, &slice))
            return 0;
    } while (expect(json, ','));
    return expect(json, '}');
}

/* Phase, category, process and thread as one text, with a byte in between that no JSON text has. */
static int origin_of(struct scan *scan, const struct slice origin[4], int32_t *out)
{
    char joined[LONGEST_ORIGIN];
    size_t length = 0;
    for (int i = 0; i < 4; i++) {
        if (length + origin[i].length + 1 > sizeof joined)
            return 0;
        if (origin[i].length)
            memcpy(joined + length, origin[i].at, origin[i].length);
        length += origin[i].length;
        joined[length++] = 0;
    }
    *out = texts_number(scan->texts, joined, length);
    return *out >= 0;
}

/* The value of a field of an event. */
static int field_of(struct scan *scan, const struct field *field, struct row *row, struct slice origin[4])
{
    struct slice slice;
    switch (field->kind) {
    case ORIGIN:
        return scalar(&scan->json, &origin[field->place]);
    case TIME:
        return time_of(scan, field->place != offsetof(struct row, ts), (int64_t *)((char *)row + field->place));
    case TEXT:
        return text_of(scan, TEXT, (int32_t *)((char *)row + field->place));
    case WHOLE:
        return whole_of(scan, row, ODD_IDENTIFIER, (int64_t *)((char *)row + field->place));
    case SCOPE:
        row->odd |= ODD_IDENTIFIER;
        return scalar(&scan->json, &slice);
    case LOCAL:
        row->odd |= ODD_IDENTIFIER;
        return local_of(&scan->json);
    case ARGS:
        return args_of(scan, row);
    default:
        return scalar(&scan->json, &slice);
    }
}

static int event_of(struct scan *scan, struct row *row)
{
    struct json *json = &scan->json;
    struct slice key, origin[4] = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
    unsigned seen = 0;
    *row = nothing;
    json_blanks(json);
    row->begin = (int32_t)(json->at - scan->begin);
    if (!expect(json, '{'))
        return 0;
    if (!expect(json, '}')) {
        do {
            if (!key_of(json, &key))
                return 0;
            const struct field *field = find(of_event, COUNT(of_event), key);
            if (field == NULL) {
                if (!json_value(json))
                    return 0;
                continue;
            }
            unsigned bit = 1u << (field - of_event);
            if ((seen & bit) || !field_of(scan, field, row, origin))
                return 0;
            seen |= bit;
        } while (expect(json, ','));
        if (!expect(json, '}'))
            return 0;
    }
    row->end = (int32_t)(json->at - scan->begin);
    return origin_of(scan, origin, &row->origin);
}

/* A row for each event up to the end of the array or of the text; their number, −1 for a text that is not plain, −2 with an exception. */
static Py_ssize_t rows_of(struct scan *scan, PyObject *rows, int *ended)
{
    struct json *json = &scan->json;
    Py_ssize_t count = 0, room = 0;
    *ended = expect(json, ']');
    if (*ended || json->at == json->end)
        return 0;
    do {
        if (count == room) {
            room = room ? room + room / 2 : 64 + (json->end - scan->begin) / 200;
            if (PyByteArray_Resize(rows, room * (Py_ssize_t)sizeof(struct row)) != 0)
                return -2;
        }
        if (!event_of(scan, (struct row *)PyByteArray_AS_STRING(rows) + count))
            return -1;
        count++;
    } while (expect(json, ','));
    for (int i = 0; i < 2; i++)
        if (scan->fine[i] && scan->large[i])
            return -1;
    *ended = expect(json, ']');
    return *ended || json->at == json->end ? count : -1;
}

typedef struct {
    PyObject_HEAD
    struct texts texts;
} scanner;

static PyObject *scanner_scan(PyObject *self, PyObject *args)
{
    const char *begin;
    Py_ssize_t length, end;
    int ended;
    if (!PyArg_ParseTuple(args, "y#n", &begin, &length, &end))
        return NULL;
    if (end < 0 || end > length) {
        PyErr_SetString(PyExc_ValueError, "an end inside of the text is needed");
        return NULL;
    }
    if (end > INT32_MAX)
        Py_RETURN_NONE;
    struct scan scan = {{begin, begin + end}, begin, &((scanner *)self)->texts, {0, 0}, {0, 0}};
    PyObject *rows = PyByteArray_FromStringAndSize(NULL, 0);
    if (rows == NULL)
        return NULL;
    Py_ssize_t count = rows_of(&scan, rows, &ended);
    if (count >= 0 && PyByteArray_Resize(rows, count * (Py_ssize_t)sizeof(struct row)) == 0)
        return Py_BuildValue("NnN", rows, (Py_ssize_t)(scan.json.at - begin), PyBool_FromLong(ended));
    Py_DECREF(rows);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *scanner_text(PyObject *self, PyObject *number)
{
    struct texts *texts = &((scanner *)self)->texts;
    Py_ssize_t wanted = PyNumber_AsSsize_t(number, PyExc_IndexError);
    if (wanted == -1 && PyErr_Occurred())
        return NULL;
    if (wanted < 0 || (size_t)wanted >= texts->count) {
        PyErr_SetString(PyExc_IndexError, "no text has this number");
        return NULL;
    }
    size_t length;
    const char *text = texts_at(texts, (size_t)wanted, &length);
    return PyBytes_FromStringAndSize(text, (Py_ssize_t)length);
}

static Py_ssize_t scanner_length(PyObject *self)
{
    return (Py_ssize_t)((scanner *)self)->texts.count;
}

static PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names))
        return NULL;
    /* Python's own secret, by way of the hash of a constant. */
    PyObject *constant = PyUnicode_FromString("the texts of a scanner");
    if (constant == NULL)
        return NULL;
    uint64_t seed = (uint64_t)PyObject_Hash(constant);
    Py_DECREF(constant);
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL)
        texts_start(&((scanner *)self)->texts, seed);
    return self;
}

static void scanner_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    texts_drop(&((scanner *)self)->texts);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"scan", scanner_scan, METH_VARARGS, "scan(text, end) -> (rows as bytearray, byte reached, whether the array ended there) or None"},
    {"text", scanner_text, METH_O, "text(number) -> the bytes that have this number"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, scanner_new}, {Py_tp_dealloc, scanner_free}, {Py_tp_methods, methods}, {Py_sq_length, scanner_length},
    {Py_tp_doc, "Trace events to rows of numbers; texts by the number that they first got."}, {0, NULL},
};

static PyType_Spec spec = {"ridgeline._native.Scanner", sizeof(scanner), 0, Py_TPFLAGS_DEFAULT, slots};

int scan_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    if (type == NULL)
        return -1;
    int added = PyModule_AddObjectRef(module, "Scanner", type);
    Py_DECREF(type);
    return added;
}
