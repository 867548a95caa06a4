"""What makes two results comparable: keys that must be equal, keys whose difference is a warning, and keys that do not matter.

A key that only one side knows cannot be said to differ; of those that must be equal it is a warning. What nobody has thought of is a warning too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from ridgeline.core import ChangedKey, Series

__all__ = ["changed_keys", "class_of"]

KeyClass = Literal["must", "warn", "ignore"]
#: A dotted key belongs to the class of its first part, unless it is named itself: `workload.size` must be equal as `workload` must.
_MUST = {
    "better", "cache", "device", "input", "machine.architecture", "machine.cpu", "machine.device", "machine.fingerprint", "machine.gpu", "metric",
    "precision", "runtime", "threads", "unit", "workload",
}  # fmt: skip
#: Named themselves, since the class of their first part is another: which provider runs a node follows from the model.
_WARN = {"runtime.providers"}
#: Variables of this ending are thread counts under another name.
_THREADS = "_NUM_THREADS"
#: What a value is cannot be the point of a change: no ratio means anything across it.
_NEVER_MEANT = {"better", "metric", "unit"}
_IGNORE = {"at", "branch", "command", "commit", "date", "digest", "file", "host", "id", "machine.host", "name", "run", "source", "time", "version"}


def class_of(key: str) -> KeyClass:
    """The class of a key.

    >>> class_of("threads"), class_of("workload.size"), class_of("machine.governor"), class_of("machine.host")
    ('must', 'must', 'warn', 'ignore')
    """
    for name in (key, key.partition(".")[0]):
        if name in _WARN:
            return "warn"
        if name in _MUST:
            return "must"
        if name in _IGNORE:
            return "ignore"
    return "warn"


def changed_keys(a: Series, b: Series, changing: Collection[str] = (), must: Collection[str] = ()) -> tuple[ChangedKey, ...]:
    """The keys in which two series differ, those that must not first.

    Args:
        a, b: metric, unit and direction are keys as well.
        changing: keys whose difference is the point; `workload` declares `workload.size` too, and `threads` the variables that size pools of them.
        must: keys that must be equal here, though elsewhere their difference is a warning.
    """
    keys_a, keys_b = _keys(a), _keys(b)
    found = [_changed(key, keys_a, keys_b, changing, must) for key in sorted(keys_a.keys() | keys_b.keys())]
    return tuple(sorted((key for key in found if key is not None), key=lambda key: (key.kind != "must", key.key)))


def _keys(series: Series) -> Mapping[str, str]:
    return {**series.keys, "metric": series.metric, "unit": series.unit, "better": series.better}


def _changed(key: str, a: Mapping[str, str], b: Mapping[str, str], changing: Collection[str], must: Collection[str]) -> ChangedKey | None:
    kind, value_a, value_b = "must" if key in must else class_of(key), a.get(key, ""), b.get(key, "")
    if kind == "ignore" or value_a == value_b:
        return None
    known = bool(value_a) and bool(value_b)
    return ChangedKey(key=key, a=value_a, b=value_b, kind=kind if known else "warn", declared=_declared(key, changing))


def _declared(key: str, changing: Collection[str]) -> bool:
    if key in _NEVER_MEANT:
        return False
    if key.startswith("environment.") and key.endswith(_THREADS) and "threads" in changing:
        return True
    return any(key == name or key.startswith(f"{name}.") for name in changing)
