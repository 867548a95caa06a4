"""Busy, but not with progress: the same call again and again, polling, and time that goes into layouts and casts.

A trace shows names and shapes, never values: a call that comes again with the same shapes *may* compute the same thing (layers of a model do not),
so `repeats` says how often and how long, and no more. Polling is a row of calls that only ask whether a device is done, with nothing between them but
what asks. Conversions are told by names, since no profiler marks them: one table here, of operators and kernels as their authors name them.
Sources: PyTorch native functions; ONNX operators and onnxruntime's optimiser (`ReorderInput`, `ReorderOutput`); TFLite's schema; cuDNN's kernels
(`nchwToNhwcKernel`), TensorRT's reformat layers; the CUDA, HIP, Level Zero and OpenCL references for the calls that ask.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Timeline

from .events import Events, events_of, is_kind, is_work, links_of, window_of
from .grouping import numbered, summed
from .intervals import Ticks, grouped_union, merge, union_length
from .iterations import iteration_spans
from .nesting import inside_of, outermost, parents
from .use import work_of_devices

__all__ = ["CONVERSIONS", "POLLING", "ConversionUse", "Repeat", "SpinWait", "conversion_uses", "repeats", "spin_waits"]

#: What converts, by exact names of operators in lower case, and by what the names of kernels contain.
CONVERSIONS: dict[str, tuple[frozenset[str], str]] = {
    "layout": (
        frozenset({"aten::contiguous", "aten::channel_shuffle", "transpose", "reorderinput", "reorderoutput", "reformat", "xla::transpose"}),
        r"nchw_?to_?nhwc|nhwc_?to_?nchw|nchw2nhwc|nhwc2nchw|(?<!conv_)(?<!conv)transpose(?!d?_?conv)|permute|reorder|reformat|layout_?transform",
    ),
    "cast": (
        frozenset({"aten::_to_copy", "aten::to", "aten::type_as", "cast", "quantizelinear", "dequantizelinear", "quantize", "dequantize", "convert"}),
        r"float16_copy|bfloat16_copy|float8_copy|convert_element_type|convert_fusion|(?<!broad)cast_?kernel|_cast_|quantize_?kernel|converttensor",
    ),
}
#: Calls that ask whether something is done and return at once.
POLLING = frozenset(
    {
        "cudaEventQuery", "cudaStreamQuery", "cuEventQuery", "cuStreamQuery", "hipEventQuery", "hipStreamQuery", "zeEventQueryStatus",
        "zeFenceQueryStatus", "clGetEventInfo", "sched_yield",
    }
)  # fmt: skip
#: Calls in a row from which asking is a loop; longest pause between two of them, as a multiple of the calls' own typical time.
_ROW, _PAUSE = 10, 20


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """Operators of one name and the same shapes; whether on the same data, no trace tells.

    Args:
        calls: in all; per_step: in an iteration, null where there is none; total_s: of all.
    """

    name: str
    shapes: str
    calls: int
    per_step: float | None
    total_s: float


class SpinWait(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of calls on one lane that only ask whether something is done.

    Args:
        calls: in all rows; rows: how many; duration_s: from the first to the last call of each row, together; longest_s: of the longest row.
    """

    name: str
    lane: str
    calls: int
    rows: int
    duration_s: float
    longest_s: float


class ConversionUse(msgspec.Struct, frozen=True, kw_only=True):
    """Time that a device, or the host where there is no device, converts layouts or number formats.

    Args:
        kind: `layout`, `cast`; where: the device, or `host`.
        events: how many; converting_s: their union; of_s: what the device was busy, or the window.
        most: names with most time, at most five.
    """

    kind: str
    where: str
    events: int
    converting_s: float
    of_s: float
    most: tuple[str, ...]


def repeats(t: Timeline, *, most: int = 20, up: Ticks | None = None) -> tuple[Repeat, ...]:
    """Outermost operators that come again with the same shapes, most time first; only where the file has shapes.

    Where there are iterations, what comes once in each is no repetition.
    """
    shapes = t.texts.get("shapes")
    if shapes is None or not len(t):
        return ()
    events = events_of(t)
    up = parents(t) if up is None else up
    chosen = np.flatnonzero(outermost(up, is_kind(events, "operator")) & (shapes.values >= 0))
    keys, place = numbered(events.name[chosen].astype(np.int64) * len(t.strings) + shapes.values[chosen])
    calls = np.bincount(place, minlength=len(keys))
    ticks = summed(place, (events.end - events.start)[chosen], len(keys))
    spans = iteration_spans(t)
    steps = len(spans.start) if spans is not None else 0
    order = np.argsort(-ticks, kind="stable")
    again = order[calls[order] > max(steps, 1)][:most]
    return tuple(
        Repeat(
            name=t.strings[keys[at] // len(t.strings)],
            shapes=t.strings[keys[at] % len(t.strings)],
            calls=int(calls[at]),
            per_step=calls[at] / steps if steps else None,
            total_s=int(ticks[at]) * t.tick_s,
        )
        for at in again.tolist()
    )


def spin_waits(t: Timeline) -> tuple[SpinWait, ...]:
    """Rows of at least ten polling calls by lane and name, longest first.

    A row ends where another call of the device's library or an operator begins, or where the pause is twenty times what the calls typically take.
    """
    events = events_of(t)
    asking = np.array([name in POLLING for name in t.strings], dtype=np.bool_)
    if not asking.any() or not len(t):
        return ()
    # Functions around the calls go on throughout a row and do not end it.
    called = np.flatnonzero(is_kind(events, "runtime", "wait", "operator") & (events.end > events.start) | asking[events.name])
    called = called[np.lexsort((events.start[called], events.track[called]))]
    polls = asking[events.name[called]]
    rows = _rows(events, called, polls)
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for low, high in rows:
        members = called[low:high]
        key = int(events.track[members[0]]), int(events.name[members[0]])
        found.setdefault(key, []).append((high - low, int(events.end[members].max() - events.start[members[0]])))
    uses = [
        SpinWait(
            name=t.strings[name],
            lane=t.tracks[track].name,
            calls=sum(count for count, _ in parts),
            rows=len(parts),
            duration_s=sum(ticks for _, ticks in parts) * t.tick_s,
            longest_s=max(ticks for _, ticks in parts) * t.tick_s,
        )
        for (track, name), parts in found.items()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.duration_s, use.lane, use.name)))


def _rows(events: Events, called: Ticks, polls: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Positions (from, to) of rows of polling calls of one name."""
    if not polls.any():
        return []
    typical = int(np.median((events.end - events.start)[called[polls]]))
    track, name = events.track[called], events.name[called]
    pause = events.start[called][1:] - events.end[called][:-1]
    joined = polls[1:] & polls[:-1] & (track[1:] == track[:-1]) & (name[1:] == name[:-1]) & (pause <= _PAUSE * max(typical, 1))
    edges = np.flatnonzero(~np.concatenate(([False], joined, [False])))
    rows = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [(low, high) for low, high in rows if high - low >= _ROW and polls[low]]


class _Named(NamedTuple):
    """Which names (index into `strings`) are operators and kernels that convert."""

    operator: NDArray[np.bool_]
    kernel: NDArray[np.bool_]


def _named(t: Timeline, kind: str) -> _Named:
    exact, pattern = CONVERSIONS[kind]
    lower = [name[:2000].lower() for name in t.strings]
    search = re.compile(pattern).search
    return _Named(np.array([name in exact for name in lower], dtype=np.bool_), np.array([search(name) is not None for name in lower], dtype=np.bool_))


def conversion_uses(t: Timeline, up: Ticks | None = None) -> tuple[ConversionUse, ...]:
    """Time in layouts and casts on each device, or on the host where no device did any work; nothing for what took no time.

    On a device: compute kernels whose name says so, and those that an operator which says so launched.
    """
    if not len(t):
        return ()
    events = events_of(t)
    up = parents(t) if up is None else up
    devices = work_of_devices(t, events)
    found = []
    for kind in CONVERSIONS:
        named = _named(t, kind)
        operators = named.operator[events.name] & is_kind(events, "operator")
        if not devices:
            start, end = window_of(t)
            found.append(_use(t, events, kind, "host", np.flatnonzero(operators), end - start))
            continue
        call, piece = links_of(t, "launch")
        converting = named.kernel[events.name]
        converting[piece[inside_of(up, operators, call)]] = True
        converting &= is_work(t, events) & is_kind(events, "compute")
        for name, mine in devices:
            of = int(union_length(events.start[mine], events.end[mine]))
            found.append(_use(t, events, kind, name, mine[converting[mine]], of))
    return tuple(use for use in found if use.converting_s > 0)


def _use(t: Timeline, events: Events, kind: str, where: str, chosen: Ticks, of: int) -> ConversionUse:
    low, high = merge(events.start[chosen], events.end[chosen])
    names, place = numbered(events.name[chosen].astype(np.int64))
    ticks = grouped_union(place, events.start[chosen], events.end[chosen], len(names))
    return ConversionUse(
        kind=kind,
        where=where,
        events=len(chosen),
        converting_s=int((high - low).sum()) * t.tick_s,
        of_s=of * t.tick_s,
        most=tuple(t.strings[names[at]] for at in np.argsort(-ticks, kind="stable")[:5].tolist()),
    )
