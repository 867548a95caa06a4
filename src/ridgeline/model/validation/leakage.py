"""What a test set must not share with its training set, and refusing the splits where it does.

This module decides what counts as the same: a group that the split claims to hold out; the same measurement twice (one shape on one device with the
same latency as far as it was written down); and one device under two names, by the names themselves or because the numbers are the same. What was
found is told row by row; `refuse_leaks` raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import LatencyTable, UsageError

from .splits import Split, group_codes

__all__ = ["Leak", "device_key", "leaks", "refuse_leaks", "same_devices"]

#: Words of a device's name that do not tell devices apart.
_IDLE = frozenset(
    ["amd", "apple", "arm", "core", "corp", "corporation", "cpu", "geforce", "google", "gpu", "graphics", "inc", "instinct", "intel", "npu", "nvidia",
     "processor", "quadro", "qualcomm", "r", "radeon", "tesla", "tm", "xeon"]
)  # fmt: skip
#: Shapes in common from which two names are compared by numbers, and the part of them that must be equal within the rounding.
_LEAST_SHARED, _MOST_EQUAL = 10, 0.5
_SHOWN = 3


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """Something on both sides of a split.

    Args:
        what: `row`, `claim`, `measurement` or `device`.
        reason: in words, with names.
        rows: how many test rows it concerns; places: of the first of them and what they are equal to.
    """

    what: str
    reason: str
    rows: int
    places: tuple[str, ...] = ()


def refuse_leaks(table: LatencyTable, split: Split, *, aliases: Mapping[str, str] | None = None, rounding: float = 1e-3) -> None:
    """Nothing, if the test rows of a split share with its training rows only what the claim allows; arguments as `leaks`.

    Raises:
        UsageError: something leaks; the message says what, how many rows and the first places.
    """
    found = leaks(table, split, aliases=aliases, rounding=rounding)
    if not found:
        return
    told = "; ".join(f"{leak.reason} ({leak.rows} test rows, such as {', '.join(leak.places)})" for leak in found)
    remedy = "leave the rows out of one side, or hold out by shape or device so that they stay together"
    raise UsageError(f"a split by {split.by} whose test rows are not in its training rows", found=told, remedy=remedy)


def leaks(table: LatencyTable, split: Split, *, aliases: Mapping[str, str] | None = None, rounding: float = 1e-3) -> tuple[Leak, ...]:
    """What is on both sides of a split though its claim says otherwise.

    Args:
        aliases: name of a device → the name it is known under.
        rounding: relative difference up to which two latencies of one shape are one measurement written down twice, a factor less 1.

    Raises:
        UsageError: indexes outside of the table, an empty side, or a claim that is no column.
    """
    for side in (split.train, split.test):
        if not len(side) or not 0 <= int(side.min()) <= int(side.max()) < len(table):
            raise UsageError(f"rows under {len(table)} on both sides of a split", found=f"{len(side)} rows", remedy="split this table")
    found = [_same_rows(table, split), _same_claim(table, split), _same_measurement(table, split, rounding)]
    if split.by == "device":
        found.append(_same_device(table, split, aliases or {}, rounding))
    return tuple(leak for leak in found if leak is not None)


def device_key(name: str) -> str:
    """The name of a device without maker, marketing words and punctuation, so that two spellings of one device are equal.

    >>> device_key("NVIDIA A100-SXM4-40GB") == device_key("a100_sxm4_40gb"), device_key("Tesla V100") == device_key("V100")
    (True, True)
    """
    words = re.findall(r"[a-z]+|[0-9]+", re.sub(r"\((r|tm)\)|[®™]", " ", name.lower()))
    return "".join(word for word in words if word not in _IDLE) or "".join(words)


def same_devices(table: LatencyTable, *, aliases: Mapping[str, str] | None = None, rounding: float = 1e-3) -> tuple[tuple[str, str, str], ...]:
    """Pairs of names that are one device, with the reason: one alias, one key, or the same latencies of most shapes that both have.

    Args:
        rounding: as in `leaks`, a factor less 1.
    """
    used = [table.devices[code] for code in np.unique(table.device.values).tolist()]
    known = aliases or {}
    keys = {name: device_key(known.get(name, name)) for name in used}
    medians = {name: _by_shape(table, name) for name in used}
    found = []
    for at, one in enumerate(used):
        for other in used[at + 1 :]:
            if keys[one] == keys[other]:
                found.append((one, other, "their names say the same"))
                continue
            shared, equal = _equal_shapes(medians[one], medians[other], rounding)
            if shared >= _LEAST_SHARED and equal > _MOST_EQUAL * shared:
                found.append((one, other, f"{equal} of {shared} shapes that both have take the same time"))
    return tuple(found)


def _by_shape(table: LatencyTable, device: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(Shapes with precision, rising; the first latency of each) of one device."""
    at = np.flatnonzero(table.device.values == table.devices.index(device))
    shapes, first = np.unique(table.shape_codes("precision")[at], return_index=True)
    return shapes, table.latency_s.values[at][first]


def _equal_shapes(
    one: tuple[NDArray[np.int64], NDArray[np.float64]], other: tuple[NDArray[np.int64], NDArray[np.float64]], rounding: float
) -> tuple[int, int]:  # fmt: skip
    shared, at, there = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    return len(shared), int(np.sum(np.abs(one[1][at] - other[1][there]) <= rounding * np.abs(one[1][at])))


def _same_rows(table: LatencyTable, split: Split) -> Leak | None:
    both = np.intersect1d(split.train, split.test)
    if not len(both):
        return None
    return Leak(what="row", reason="rows stand on both sides", rows=len(both), places=tuple(table.place(int(index)) for index in both[:_SHOWN]))


def _same_claim(table: LatencyTable, split: Split) -> Leak | None:
    """A group that is claimed to be held out and is not; of rows only the rows themselves are claimed."""
    if split.by == "row":
        return None
    codes = group_codes(table, split.by)
    both = split.test[np.isin(codes[split.test], codes[split.train])]
    if not len(both):
        return None
    first = {int(code): int(index) for index, code in zip(split.train[::-1].tolist(), codes[split.train][::-1].tolist(), strict=True)}
    places = tuple(
        f"{table.described(int(index))} at {table.place(int(index))} and {table.place(first[int(codes[index])])}" for index in both[:_SHOWN]
    )
    return Leak(what="claim", reason=f"the same {split.by} stands on both sides", rows=len(both), places=places)


def _same_measurement(table: LatencyTable, split: Split, rounding: float) -> Leak | None:
    """Rows of one shape, device and clock whose latencies are equal within the rounding, each test row against its nearest."""
    codes = table.shape_codes("precision", "device", "core_clock_hz", "memory_clock_hz")
    logs = np.log(np.maximum(table.latency_s.values, 1e-300))
    # Each group gets a stretch of the line to itself, so that one search serves all of them.
    stretch = float(np.ptp(logs)) + 1.0
    line = codes * stretch + (logs - logs.min())
    order = np.argsort(line[split.train], kind="stable")
    train = line[split.train][order]
    own = line[split.test]
    right = np.clip(np.searchsorted(train, own), 0, len(train) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(np.abs(train[left] - own) < np.abs(train[right] - own), left, right)
    matched = np.flatnonzero(np.abs(train[nearest] - own) <= np.log1p(rounding))
    if not len(matched):
        return None
    places = tuple(f"{table.place(int(split.test[at]))} and {table.place(int(split.train[order[nearest[at]]]))}" for at in matched[:_SHOWN])
    return Leak(what="measurement", reason="the same measurement stands on both sides", rows=len(matched), places=places)


def _same_device(table: LatencyTable, split: Split, aliases: Mapping[str, str], rounding: float) -> Leak | None:
    sides = [{table.devices[code] for code in np.unique(table.device.values[side]).tolist()} for side in (split.train, split.test)]
    crossing = [
        (one, other, why) for one, other, why in same_devices(table, aliases=aliases, rounding=rounding)
        if (one in sides[0] and other in sides[1]) or (other in sides[0] and one in sides[1])
    ]  # fmt: skip
    if not crossing:
        return None
    named = {name for one, other, _ in crossing for name in (one, other)} & sides[1]
    rows = int(np.isin(table.device.values[split.test], [table.devices.index(name) for name in named]).sum())
    places = tuple(f"{one} and {other}: {why}" for one, other, why in crossing[:_SHOWN])
    return Leak(what="device", reason="one device stands on both sides under two names", rows=rows, places=places)
