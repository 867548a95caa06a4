"""Every share of a report as a `Figure`: numerator, denominator, window, and what is in neither.

This module decides what a share is made of, in words; the numbers are those of the report, and of the timeline for what the report has no field for:
conversions, polling, repetition and useful work. A share without a denominator above zero is no share and is left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import DEVICE_WORK, DeviceUse, Figure, ReadReport, Timeline

from .events import Events, events_of, is_work, links_of, window_of
from .intervals import Ticks, merge, union_length
from .nesting import ancestors, inside_of, outermost, parents
from .repeats import conversion_uses, repeats, spin_waits
from .use import left_out
from .useful import has_formula, useful_work, work_of_events

__all__ = ["figures", "timeline_figures"]

#: Operators and repetitions that get a figure each, the largest first.
_MOST = 10
_WHOLE = "from the first start to the last end of all events"


def figures(report: ReadReport, t: Timeline | None = None, up: Ticks | None = None) -> tuple[Figure, ...]:
    """The shares of a report.

    Args:
        report: with its devices, overhead, critical path, iterations, operators and serial pairs, as far as it has them.
        t: the timeline that it is of, for what the report has no field for.
        up: `nesting.parents(t)`, where the caller has them.
    """
    beside = "" if t is None else _beside(t)
    found = [figure for device in report.devices for figure in _of_device(device, beside)]
    found += [*_of_overhead(report), *_of_path(report), *_of_steps(report), *_of_operators(report), *_of_turns(report)]
    if t is not None and len(t):
        found += timeline_figures(t, up)
    return tuple(figure for figure in found if figure is not None)


def _share(name: str, part: float, whole: float, of: str, whole_of: str, *, window: str = "", out: str = "", unit: str = "s") -> Figure | None:
    if not whole > 0 or not math.isfinite(part / whole):
        return None
    return Figure(
        name=name,
        value=part / whole,
        numerator=part,
        denominator=whole,
        unit=unit,
        numerator_of=of,
        denominator_of=whole_of,
        window=window,
        left_out=out,
    )


def _beside(t: Timeline) -> str:
    return "; ".join(f"{each.events} × {each.reason}" for each in left_out(t))


def _of_device(use: DeviceUse, beside: str) -> list[Figure | None]:
    window = f"from the first start to the last end of the work of {use.name}"
    whole = f"the window of {use.name}"
    parts = (
        ("idle of", use.idle_s, "its window less the union of its work"),
        ("busy of", use.busy_s, "union of its work"),
        ("compute of", use.compute_s, "union of compute"),
        ("communication of", use.communication_s, "union of communication"),
        ("copies of", use.copy_s, "union of copies"),
        ("fills of", use.fill_s, "union of fills"),
        ("exposed communication of", use.exposed_communication_s, "union of communication less compute"),
        ("exposed copies of", use.exposed_copy_s, "union of copies and fills less compute and communication"),
        ("overlap on", use.overlapped_s, "time in which two or more pieces of work ran at once"),
    )
    needed = ("idle of", "busy of")
    shares = [
        _share(f"{name} {use.name}", part, use.window_s, of, whole, window=window, out=beside) for name, part, of in parts if part or name in needed
    ]
    filled = [
        _share(f"idle of {use.name}: {why}", part, use.idle_s, f"idle time with {why} on the host", f"idle time of {use.name}", window=window)
        for why, part in use.idle_because_s.items()
    ]
    return [*shares, *filled]


def _of_overhead(report: ReadReport) -> list[Figure | None]:
    found = report.overhead
    if found is None:
        return []
    parts = [("outside operators", found.gap_s, "window less the union of top-level operators")]
    if found.linked_s is not None and found.all_s is not None:
        parts += [
            ("without work that an operator launched", found.linked_s, "window less the union of device work launched by an operator"),
            ("without any device work", found.all_s, "window less the union of all device work"),
        ]
    return [_share(name, part, found.window_s, of, "window", window=_WHOLE) for name, part, of in parts]


def _of_path(report: ReadReport) -> list[Figure | None]:
    path = report.critical_path
    if path is None:
        return []
    explained = path.covered_share * path.window_s
    labels = sorted(path.by_label.items(), key=lambda item: (-item[1], item[0]))
    return [
        _share("critical path that is explained", explained, path.window_s, "critical path less its unexplained pieces", "window", window=_WHOLE),
        *(_share(f"critical path: {label}", part, path.length_s, f"pieces of {label}", "the critical path", window=_WHOLE) for label, part in labels),
    ]


def _of_steps(report: ReadReport) -> list[Figure | None]:
    steps = report.iterations
    if steps is None or report.window_s is None:
        return []
    # A named range may begin before what was recorded and end after it: what lies there is no part of the window.
    spans = np.clip([(start, start + length) for start, length in steps.spans_s], 0.0, report.window_s).reshape(-1, 2)
    low, high = merge(spans[:, 0], spans[:, 1])
    named = f"union of {len(steps.spans_s)} iterations ({steps.how}: {steps.name})"
    return [_share("within iterations", min(float((high - low).sum()), report.window_s), report.window_s, named, "window", window=_WHOLE)]


def _of_operators(report: ReadReport) -> list[Figure | None]:
    if not report.window_s:
        return []
    largest = sorted(report.operators, key=lambda use: -use.share)[:_MOST]
    found = []
    for use in largest:
        of = f"union of {use.calls} calls" if use.kind in DEVICE_WORK else f"union of the own times of {use.calls} calls"
        found.append(_share(f"{use.kind} {use.name}", use.share * report.window_s, report.window_s, of, "window", window=_WHOLE))
    return found


def _of_turns(report: ReadReport) -> list[Figure | None]:
    return [
        _share(
            f"side by side: {pair.first} and {pair.second}", pair.saved_s, pair.first_s + pair.second_s - pair.overlapped_s,
            "the shorter one, in a step", "both, one after the other, in a step",
        )
        for pair in report.serial
    ]  # fmt: skip


def timeline_figures(t: Timeline, up: Ticks | None = None) -> list[Figure | None]:
    """Conversions, polling, repetition and useful work, which tell busy from fast."""
    up = parents(t) if up is None else up
    found = [
        _share(
            f"{use.kind} conversions on {use.where}", use.converting_s, use.of_s, f"union of {use.events} events such as {use.most[0]}",
            "window" if use.where == "host" else f"busy time of {use.where}", out="conversions whose name does not say so",
        )
        for use in conversion_uses(t, up)
    ]  # fmt: skip
    start, end = window_of(t)
    whole = (end - start) * t.tick_s
    found += [
        _share(f"polling on {use.lane}: {use.name}", use.duration_s, whole, f"{use.calls} calls in {use.rows} rows", "window", window=_WHOLE)
        for use in spin_waits(t)
    ]
    found += [
        _share(
            f"same name and shapes: {use.name} {_short(use.shapes)}", use.total_s, whole, f"durations of {use.calls} calls, on the same data or not",
            "window", window=_WHOLE,
        )
        for use in repeats(t, most=_MOST, up=up)
    ]  # fmt: skip
    return [*found, *_useful(t, up)]


def _short(shapes: str) -> str:
    """Shapes without the white space that some files spread them out with."""
    return "".join(shapes.split())[:80]


def _useful(t: Timeline, up: Ticks) -> list[Figure | None]:
    """Useful FLOPs and bytes a second: while the work that they belong to ran, and of all that the devices, or the window, took."""
    work = work_of_events(t)
    counted = useful_work(t, up, work)
    if not counted.any():
        return []
    events = events_of(t)
    call, piece = links_of(t, "launch")
    busy = is_work(t, events)
    if busy.any():
        mine = np.zeros(len(t), dtype=np.bool_)
        mine[piece[inside_of(up, counted, call)]] = True
        mine &= busy
        ticks, all_ticks, where = _union(events, mine), _union(events, busy), "devices"
        # Operators that launched nothing ran elsewhere: their work is not what the devices did.
        counted &= ancestors(up, call[busy[piece]])
    else:
        ticks, all_ticks, where = _union(events, counted), window_of(t)[1] - window_of(t)[0], "host"
    known = np.isfinite(work.flop)
    unknown = outermost(up, has_formula(t)) & ~ancestors(up, np.flatnonzero(known))
    out = f"{int(unknown.sum())} calls of such operators whose shapes do not tell; all other operators"
    flop, moved = float(work.flop[counted].sum()), work.moved_bytes[counted]
    calls = int(counted.sum())
    of = f"FLOPs of {calls} matrix products and convolutions"
    time = "union of their work on devices" if where == "devices" else "union of these operators"
    whole = "union of all work on devices" if where == "devices" else "window"
    return [
        _share("useful FLOP/s of matrix products and convolutions", flop, ticks * t.tick_s, of, f"seconds: {time}", out=out, unit="FLOP/s"),
        _share(f"useful FLOP/s of the {where}", flop, all_ticks * t.tick_s, of, f"seconds: {whole}", out=out, unit="FLOP/s"),
        _share(
            "compulsory B/s of matrix products and convolutions", float(moved.sum()), ticks * t.tick_s,
            f"inputs and outputs of {calls} operators, once each", f"seconds: {time}", out=out, unit="B/s",
        ) if np.isfinite(moved).all() else None,
    ]  # fmt: skip


def _union(events: Events, chosen: NDArray[np.bool_]) -> int:
    return int(union_length(events.start[chosen], events.end[chosen]))
