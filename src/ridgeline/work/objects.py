"""Which calls go through Python objects one at a time, by their kind or by the objects they were seen to take or give.

A parser of JSON, `sorted`, `np.array` of a list: their time is that of Python objects, though no line of Python runs. Compression, hashing and
pattern matching on one buffer are native code at work and none of these. What the time of either kind means is decided by the diagnosis.
"""

from __future__ import annotations

__all__ = ["MANY_OBJECTS", "walks_by_kind", "walks_objects"]

#: From so many objects in containers on, a call that handles them may take its time for them.
MANY_OBJECTS = 1000
#: Handling one object takes a fraction of a microsecond in C and a few in Python: a call that takes longer does something else as well.
_LONGEST_EACH_S = 5e-6
#: The same for kinds that are known: a deep copy runs Python for every object.
_LONGEST_EACH_OF_KIND_S = 20e-6
_OF_MODULES = ("json.", "pickle.", "marshal.", "plistlib.", "tomllib.", "ast.literal_eval", "copy.deepcopy", "statistics.", "heapq.", "csv.")
_BUILTINS = ("sorted", "sum", "min", "max", "any", "all", "list.sort", "str.join", "bytes.join", "list", "dict", "set", "tuple", "frozenset")
_MATHS = ("math.fsum", "math.prod", "math.sumprod", "functools.reduce")
#: What turns Python objects into arrays, by the last name, of the packages that have arrays.
_INTO_ARRAYS = frozenset({"array", "asarray", "asanyarray", "fromiter", "tensor", "as_tensor", "FloatTensor", "LongTensor", "DataFrame", "Series"})
_ARRAYS = ("numpy", "np", "torch", "pandas", "pd")


def walks_by_kind(kind: str) -> bool:
    """Whether a kind of call, by its name alone, goes through Python objects whatever it is given that is no array.

    >>> [walks_by_kind(kind) for kind in ("json.loads", "builtins.sorted", "np.array", "zlib.compress", "hashlib.HASH.update")]
    [True, True, True, False, False]
    """
    package, _, _ = kind.partition(".")
    if package in _ARRAYS and kind.rpartition(".")[2] in _INTO_ARRAYS:
        return True
    return kind.startswith((*_OF_MODULES, "_json.", "_pickle.")) or kind in _MATHS or kind.removeprefix("builtins.") in _BUILTINS


def walks_objects(kind: str, objects: float | None, seconds: float) -> bool:
    """Whether a call goes through Python objects: a kind that does or many objects, and not much more time than so many objects take.

    Args:
        kind: such as `json.loads`.
        objects: in the containers that it was given or gave back; `None` where they were not counted.
        seconds: of one execution.

    >>> walks_objects("re.findall", 100_000, 0.02), walks_objects("bytes.join", 8, 0.02), walks_objects("re.sub", 0, 0.02)
    (True, False, False)
    """
    if walks_by_kind(kind):
        # A builtin may go through what has no length: an iterator, the letters of a text.
        return objects is None or kind.removeprefix("builtins.") in _BUILTINS[:6] or seconds <= objects * _LONGEST_EACH_OF_KIND_S
    return objects is not None and objects >= MANY_OBJECTS and seconds <= objects * _LONGEST_EACH_S
