"""`select`: the stored best configuration for this device and this shape, for a program that runs what was tuned."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ridgeline.core import ReadError, Selected, Selection, UsageError
from ridgeline.core.documents import decode
from ridgeline.core.space import Value

__all__ = ["read_selection", "select"]


def select(
    path: str | os.PathLike[str],
    target: str | None = None,
    *,
    device: str | None = None,
    shape: Mapping[str, Value] | None = None,
    any_device: bool = False,
) -> dict[str, Value]:
    """The configuration that `ridgeline tune --export json FILE` has stored.

    Args:
        path: of the file; target: what was tuned; may be left out where the file holds one.
        device: a part of its name; this machine if null.
        shape: name → value. Texts must be equal; of numbers the nearest stored ones count, by the sum of |ln ratio|. Null for a file with one shape.
        any_device: whether one of another device will do where there is none of this one: it runs, and may be slow.

    Raises:
        ReadError: no such file, or another kind of file.
        UsageError: nothing stored for what is asked; what there is, is named.
    """
    entries: Sequence[Selected] = read_selection(path).entries
    entries = _of(entries, [each for each in entries if target in (None, each.target)], f"a configuration of {target}")
    if target is None and len({each.target for each in entries}) > 1:
        raise UsageError("the target, of a file that holds several", found=", ".join(sorted({each.target for each in entries})), remedy="name one")
    here = [each for each in entries if _is_of(each, device)]
    if not here and any_device:
        here = list(entries)
    entries = _of(entries, here, f"a configuration for {device or 'this machine'}")
    return dict(_nearest(entries, shape).config)


def read_selection(path: str | os.PathLike[str]) -> Selection:
    """What a file holds.

    Raises:
        ReadError: it cannot be read, or is another kind of file.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or error
        raise ReadError(
            "a file of configurations", found=f"{os.fspath(path)}: {what}", remedy="write one with ridgeline tune --export json"
        ) from error
    try:
        return decode(data, Selection)
    except ReadError as error:
        remedy = "name a file that ridgeline tune --export json has written, or one that is not there yet"
        raise ReadError("a file of configurations", found=f"{os.fspath(path)}: {error.found}", remedy=remedy) from error


def _of(all_: Sequence[Selected], found: Sequence[Selected], wanted: str) -> Sequence[Selected]:
    if found:
        return found
    there = "; ".join(dict.fromkeys(f"{each.target} on {each.device}" for each in all_)) or "none at all"
    raise UsageError(wanted, found=there[:400], remedy="tune there, or ask for one of these")


def _is_of(entry: Selected, device: str | None) -> bool:
    if device is not None:
        return device.lower() in entry.device.lower()
    from ridgeline.machine import read_machine

    return entry.fingerprint == read_machine().fingerprint


def _nearest(entries: Sequence[Selected], shape: Mapping[str, Value] | None) -> Selected:
    if shape is None:
        if len({repr(sorted(each.shape.items())) for each in entries}) > 1:
            raise UsageError("a shape, of a target that was tuned for several", found="none", remedy=f"give shape={entries[0].shape!r}")
        return entries[-1]
    pairs = [(distance, place) for place, each in enumerate(entries) if (distance := _apart(each.shape, shape)) is not None]
    if not pairs:
        raise UsageError(f"a shape like {entries[0].shape!r}", found=repr(dict(shape))[:200], remedy="give the names and texts that were tuned for")
    return entries[min(pairs)[1]]


def _apart(stored: Mapping[str, Value], shape: Mapping[str, Value]) -> float | None:
    """How far apart two shapes are; null where they cannot be compared."""
    apart = 0.0
    for name, value in shape.items():
        if name not in stored:
            return None
        other = stored[name]
        if value == other and isinstance(value, bool) == isinstance(other, bool):
            continue
        if any(isinstance(each, bool | str) or each <= 0 for each in (value, other)):
            return None
        apart += abs(math.log(float(value) / float(other)))
    return apart
