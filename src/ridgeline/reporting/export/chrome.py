"""Any `Timeline` as Chrome trace events, which Perfetto, chrome://tracing and `ridgeline read` open, with the findings of a report as lanes.

Times are written as decimal microseconds from the whole ticks, so that no nanosecond is lost. Categories are those of PyTorch's traces where their
readers come to the same kind, else `ridgeline.KIND` and `ridgeline.device.KIND`, which say it themselves. The file is written piece by piece.
Format: Google, Trace Event Format (2016), section JSON Object Format.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, LINK_KINDS, ReadReport, Timeline, Track
from ridgeline.readers.chrome.kineto import KIND, class_of, kind_of_name

from .chrome_form import Clock, Lanes, json_text, metadata
from .own_lanes import own_lanes

__all__ = ["write_chrome"]

#: Kind of event → category of PyTorch's traces on the host, and on a device.
_HOST = {
    "operator": "cpu_op",
    "python": "python_function",
    "runtime": "cuda_runtime",
    "wait": "cuda_runtime",
    "annotation": "user_annotation",
    "iteration": "user_annotation",
    "input": "user_annotation",
    "profiler": "overhead",
}
_DEVICE = {
    "compute": "kernel",
    "communication": "kernel",
    "copy": "gpu_memcpy",
    "fill": "gpu_memset",
    "annotation": "gpu_user_annotation",
    "sync": "cuda_sync",
}
#: Kind of link → category of its arrow: what leads from a launch PyTorch draws as `ac2g`, what needs what is before it as `fwdbwd`.
_ARROWS = {"launch": "ac2g", "signal": "fwdbwd", "wait": "ridgeline.wait"}
#: Events that are formatted at once.
_PIECE = 50_000
#: Names of numbers whose arguments have other names in PyTorch's traces.
_ARGUMENTS = {
    "occupancy": "est. achieved occupancy %",
    "graph": "graph id",
    "shapes": "Input Dims",
    "types": "Input type",
    "concrete": "Concrete Inputs",
}
#: Texts that are JSON already, as the file had them.
_RAW = ("shapes", "types", "concrete")


def write_chrome(timeline: Timeline, file: BinaryIO, report: ReadReport | None = None) -> None:
    """Write every event, link, mark and counter.

    Args:
        timeline: what to write.
        file: opened for writing bytes.
        report: what was found in it; its findings, gaps and critical path become lanes.
    """
    lanes, clock = Lanes.of(timeline.tracks), Clock(timeline.tick_s)
    ranks = {track.rank for track in timeline.tracks}
    rank = next(iter(ranks)) if len(ranks) == 1 else None
    file.write(b'{"displayTimeUnit":"ns",' + (b'"distributedInfo":{"rank":%d},' % rank if rank is not None else b"") + b'"traceEvents":[\n')
    file.write(b",\n".join(metadata(timeline.tracks, lanes)))
    pieces = (_events(timeline, lanes, clock), _links(timeline, lanes, clock), _marks(timeline, lanes, clock), _counters(timeline, lanes, clock))
    for lines in (*(line for piece in pieces for line in piece), *(own_lanes(timeline, report, clock) if report is not None else ())):
        file.write(b",\n" + lines)
    file.write(b"\n]}\n")


def _events(timeline: Timeline, lanes: Lanes, clock: Clock) -> Iterator[bytes]:
    heads, calls = _Heads(timeline, lanes), _calls(timeline)
    for start in range(0, len(timeline), _PIECE):
        part = slice(start, start + _PIECE)
        ts, dur = clock.us(timeline.start_tick.values[part]), clock.us(timeline.duration_tick.values[part])
        more = _arguments(timeline, part, calls)
        lines = [heads[key] % (at, long, args) for key, at, long, args in zip(heads.keys_of(part), ts, dur, more, strict=True)]
        yield ",\n".join(lines).encode()


class _Heads(dict[tuple[int, int, int], str]):
    """(name, kind, track) → an event as a template for its time, duration and further arguments."""

    def __init__(self, timeline: Timeline, lanes: Lanes) -> None:
        super().__init__()
        self._timeline, self._lanes = timeline, lanes

    def keys_of(self, part: slice) -> Iterator[tuple[int, int, int]]:
        """Those of the events of a part."""
        timeline = self._timeline
        name, track = timeline.name.values[part].tolist(), timeline.track.values[part].tolist()
        kind = timeline.kind.values[part].tolist() if timeline.kind is not None else [0] * len(name)
        return zip(name, kind, track, strict=True)

    def __missing__(self, key: tuple[int, int, int]) -> str:
        name, kind, track = key
        timeline, lanes = self._timeline, self._lanes
        text = json_text(timeline.strings[name])
        category = _category(EVENT_KINDS[kind], timeline.strings[name], timeline.tracks[track])
        placed = lanes.placed(track, timeline.tracks[track])
        head = f'{{"ph":"X","cat":"{category}","name":{text},{lanes.where(track)},"ts":'.replace("%", "%%")
        made = self[key] = f'{head}%s,"dur":%s,"args":{{{placed.replace("%", "%%")}%s}}}}'
        return made


def _category(kind: str, name: str, track: Track) -> str:
    """PyTorch's category where a reader of it comes to the same kind and place, else ours."""
    ours = f"ridgeline{'.device' * bool(track.device)}{'.ranges' * (track.role == 'ranges')}.{kind}"
    theirs = (_DEVICE if track.device else _HOST).get(kind, "")
    known = class_of(theirs) if theirs else None
    if known is None or kind_of_name(known.kind, name) != KIND[kind]:
        return ours
    # Ranges and waits of a device lie beside its queue in those traces: on a lane of work they would move away from it.
    beside = known.where in ("annotations", "syncs")
    return theirs if beside == (track.role == "ranges") else ours


def _arguments(timeline: Timeline, part: slice, calls: dict[str, NDArray[np.int64]]) -> list[str]:
    """Further arguments of each event, with a comma before each: they stand behind those of its lane."""
    found = [""] * len(timeline.start_tick.values[part])
    numbers = {name: column.values for name, column in timeline.numbers.items()}
    for name, values in {**numbers, **calls}.items():
        label, scale = json_text(_ARGUMENTS.get(name, name)), 100.0 if name == "occupancy" else 1
        there = np.flatnonzero(values[part] >= 0)
        for at, value in zip(there.tolist(), values[part][there].tolist(), strict=True):
            found[at] += f",{label}:{value * scale!r}"
    for name, column in timeline.texts.items():
        values, label = column.values[part], json_text(_ARGUMENTS.get(name, name))
        texts = {index: _text_of(name, timeline.strings[index]) for index in set(values.tolist()) if index >= 0}
        there = np.flatnonzero(values >= 0)
        for at, index in zip(there.tolist(), values[there].tolist(), strict=True):
            found[at] += f",{label}:{texts[index]}"
    return found


def _text_of(name: str, text: str) -> str:
    """A text as JSON; shapes are JSON already where a trace of PyTorch wrote them."""
    if name in _RAW:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.encode(msgspec.json.decode(text)).decode()
    return json_text(text)


def _calls(timeline: Timeline) -> dict[str, NDArray[np.int64]]:
    """The numbers by which readers of PyTorch's traces know what launched what: of calls the correlation, of operators the external id."""
    links = timeline.links
    if links is None or links.kind is None:
        return {}
    launch = links.kind.values == LINK_KINDS.index("launch")
    source, target = links.source.values[launch], links.target.values[launch]
    kinds = timeline.kind.values[source] if timeline.kind is not None else np.zeros(len(source), dtype=np.uint8)
    called = np.isin(kinds, [EVENT_KINDS.index("runtime"), EVENT_KINDS.index("wait")])
    found = {}
    for name, chosen in (("correlation", called), ("External id", ~called)):
        if chosen.any():
            values = np.full(len(timeline), -1, dtype=np.int64)
            values[source[chosen]] = source[chosen] + 1
            values[target[chosen]] = source[chosen] + 1
            found[name] = values
    return found


def _links(timeline: Timeline, lanes: Lanes, clock: Clock) -> Iterator[bytes]:
    """An arrow from the start of each source to the start of its target; one that binds the whole slice (`bp`) at its end."""
    if timeline.links is None or not len(timeline.links.source):
        return
    links = timeline.links
    kinds = links.kind.values if links.kind is not None else np.full(len(links.source), LINK_KINDS.index("flow"))
    start, track = timeline.start_tick.values, timeline.track.values
    for first in range(0, len(links.source), _PIECE):
        part = slice(first, first + _PIECE)
        source, target = links.source.values[part], links.target.values[part]
        at, to = clock.us(start[source]), clock.us(start[target])
        ends = zip(kinds[part].tolist(), at, to, track[source].tolist(), track[target].tolist(), strict=True)
        lines = []
        for number, (kind, leaves, arrives, from_track, to_track) in enumerate(ends, first):
            category = _ARROWS.get(LINK_KINDS[kind], LINK_KINDS[kind])
            head = f'"cat":"{category}","name":"{category}","id":{number}'
            lines.append(f'{{"ph":"s",{head},{lanes.where(from_track)},"ts":{leaves}}}')
            lines.append(f'{{"ph":"f","bp":"e",{head},{lanes.where(to_track)},"ts":{arrives}}}')
        yield ",\n".join(lines).encode()


def _marks(timeline: Timeline, lanes: Lanes, clock: Clock) -> Iterator[bytes]:
    marks = timeline.marks
    if marks is None or not len(marks.tick):
        return
    at = clock.us(marks.tick.values)
    for tick, name, track in zip(at, marks.name.values.tolist(), marks.track.values.tolist(), strict=True):
        yield f'{{"ph":"i","s":"t","name":{json_text(timeline.strings[name])},{lanes.where(track)},"ts":{tick}}}'.encode()


def _counters(timeline: Timeline, lanes: Lanes, clock: Clock) -> Iterator[bytes]:
    for counter in timeline.counters:
        pid = lanes.process(timeline.tracks, counter.process, counter.device)
        name = json_text(counter.name)
        for tick, value in zip(clock.us(counter.tick.values), counter.value.values.tolist(), strict=True):
            yield f'{{"ph":"C","name":{name},"pid":{pid},"tid":0,"ts":{tick},"args":{{"value":{value!r}}}}}'.encode()
