"""The reader of onnxruntime's profiles: a timeline of nodes, runs and kernels, and the nodes of one run as a table.

This module decides what each event is. A node that holds a subgraph (If, Loop, Scan) lasts as long as the nodes of its body, which are on the same
thread within it: each counts once, by its own time. Times are cut to whole microseconds by onnxruntime, both starts and durations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, Caution, Column, Excluded, Profile, Timeline, Track

from ..source import Source
from .decoding import CAP, Event, Events, decode
from .table import Nodes, table_of

__all__ = ["OnnxRuntime"]

_TICK_S = 1e-6
_LATEST = 2**53
_KERNEL_SUFFIX = "_kernel_time"
_MARKS = (b'"op_name"', b"_kernel_time", b'"model_run"', b'"session_initialization"', b'"model_loading', b"SequentialExecutor::Execute")
#: Rounding is said where it could be a hundredth of what the nodes took.
_ROUNDING = 0.01
_KIND = {name: index for index, name in enumerate(EVENT_KINDS)}
_PURPOSES = {"MemcpyToHost": "copy", "MemcpyFromHost": "copy", "ReorderInput": "layout", "ReorderOutput": "layout"}


class OnnxRuntime:
    """Reads what `SessionOptions.enable_profiling` writes."""

    format = "onnxruntime"
    title = "onnxruntime profile (JSON)"

    def recognises(self, source: Source) -> int:
        """By the categories and names that its first events have."""
        head = source.head.lstrip()
        if not head.startswith((b"[", b"{")) or b'"cat"' not in head:
            return 0
        ours = b'"Session"' in head or b'"Node"' in head
        return 98 if ours and any(mark in head for mark in _MARKS) else 0

    def read(self, source: Source) -> Profile:
        """All events.

        Raises:
            ReadError: none of onnxruntime in it, or more or longer ones than the limits.
        """
        found = decode(source)
        kept, odd = _sorted_out(found.events)
        if not any(event.cat in ("Node", "Session") for event in kept):
            looks = f"{len(found.events)} events, none of them sound, and {found.broken} damaged pieces (the first at byte {found.first_broken})"
            raise source.damaged("events of category Node or Session", looks)
        self._within_limits(source, kept)
        return _profile(source, kept, odd, found)

    def _within_limits(self, source: Source, events: Sequence[Event]) -> None:
        if len(events) > source.limits.events:
            raise source.damaged(f"at most {source.limits.events} events", str(len(events)), "raise the limit")
        longest = max(len(event.name) for event in events)
        if longest > source.limits.name_characters:
            raise source.damaged(f"names of at most {source.limits.name_characters} characters", f"one of {longest}", "raise the limit")


def _sorted_out(events: Sequence[Event]) -> tuple[list[Event], dict[str, list[Event]]]:
    """Events whose times are sound, and the others by what is wrong with them."""
    kept: list[Event] = []
    odd: dict[str, list[Event]] = {}
    for event in events:
        reason = _wrong(event)
        if reason:
            odd.setdefault(reason, []).append(event)
        else:
            kept.append(event)
    return kept, odd


def _wrong(event: Event) -> str:
    start, duration = event.ts, event.dur
    if event.ph != "X":
        return "not an event with a duration"
    if start is None or duration is None:
        return "without a start or a duration"
    if duration < 0:
        return "a negative duration"
    return "" if abs(start) < _LATEST and duration < _LATEST else "an impossible time"


def _profile(source: Source, events: Sequence[Event], odd: dict[str, list[Event]], found: Events) -> Profile:
    start = np.array([int(event.ts or 0) for event in events], dtype=np.int64)
    duration = np.array([int(event.dur or 0) for event in events], dtype=np.int64)
    nodes = Nodes.of(events, start, duration)
    table, loose = table_of(nodes, events, start, duration)
    excluded = [Excluded(reason=reason, events=len(those), first=_first(those[0])) for reason, those in odd.items()]
    if found.broken:
        excluded.append(Excluded(reason="damaged or cut short", events=found.broken, first=f"byte {found.first_broken}"))
    if loose.size:
        seconds = float(nodes.own[loose].sum()) * _TICK_S
        reason = "nodes outside of any run that ended: in the timeline, not in the table"
        excluded.append(Excluded(reason=reason, events=int(loose.size), total_s=seconds))
    providers = dict.fromkeys(event.args.provider for event in events if event.args.provider)
    return Profile(
        format=OnnxRuntime.format,
        files=(source.name,),
        tool="onnxruntime",
        resolution_s=_TICK_S,
        timeline=_timeline(events, start, duration),
        tables=(table,) if table is not None else (),
        facts={"providers": ", ".join(providers)} if providers else {},
        excluded=tuple(excluded),
        warnings=tuple(_cautions(found, nodes)),
    )


def _first(event: Event) -> str:
    return f"event {event.name[:60]!r} at ts {event.ts}"


def _cautions(found: Events, nodes: Nodes) -> list[Caution]:
    cautions = []
    if len(found.events) >= CAP:
        message = f"the profile holds {len(found.events)} events: onnxruntime stops recording at a million"
        cautions.append(Caution(code="event-cap", message=message, effect="what ran after that is not in it, and its last run may be a part of one"))
    elif found.cut or not found.ended:
        message = found.cut or "the array is not closed: the session was not ended with end_profiling, or the file is cut short"
        cautions.append(Caution(code="cut-short", message=message, effect="events at its end are missing"))
    if found.mended:
        message = f"{found.mended} events have names that make no JSON (older versions wrote them raw)"
        cautions.append(Caution(code="raw-names", message=message, effect="of these only times, kind and provider were read"))
    total = int(nodes.own.sum())
    lost = len(nodes)
    if lost > _ROUNDING * total:
        share = lost / (total + lost)
        message = f"{lost} nodes took {total} µs as written; each is cut to whole µs, so up to {lost} µs ({share:.0%} of their sum) are missing"
        cautions.append(Caution(code="rounded-times", message=message, effect="short nodes are told too short, and overhead too large by as much"))
    return cautions


def _timeline(events: Sequence[Event], start: NDArray[np.int64], duration: NDArray[np.int64]) -> Timeline:
    strings: dict[str, int] = {}
    tracks: dict[tuple[str, ...], int] = {}
    name = np.array([strings.setdefault(_name(event), len(strings)) for event in events], dtype=np.int32)
    track = np.array([tracks.setdefault(_track(event), len(tracks)) for event in events], dtype=np.int32)
    kind = np.array([_KIND[_kind(event)] for event in events], dtype=np.uint8)
    texts = {
        "provider": [event.args.provider for event in events],
        "operator": [event.args.op_name for event in events],
        "purpose": [_PURPOSES.get(event.args.op_name, "") for event in events],
        "shapes": [_shapes(event) for event in events],
    }
    columns = {key: _interned(values, strings) for key, values in texts.items() if any(values)}
    return Timeline(
        tick_s=_TICK_S,
        start_tick=Column(start, "count"),
        duration_tick=Column(duration, "count"),
        name=Column(name, "count"),
        track=Column(track, "count"),
        strings=tuple(strings),
        tracks=tuple(_made(key) for key in tracks),
        kind=Column(kind, "count"),
        texts=columns,
        numbers=_numbers(events),
    )


def _numbers(events: Sequence[Event]) -> dict[str, Column]:
    columns = {
        "node": np.array([_whole(event.args.node_index) for event in events], dtype=np.int64),
        "output_bytes": np.array([_whole(event.args.output_size) for event in events], dtype=np.int64),
    }
    copies = np.array([_PURPOSES.get(event.args.op_name) == "copy" for event in events], dtype=np.bool_)
    columns["bytes"] = np.where(copies, columns["output_bytes"], -1)
    return {name: Column(values, "count") for name, values in columns.items() if len(values) and values.max() >= 0}


def _whole(value: str | int) -> int:
    """A count as it is written, or −1."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 18 else -1
    return value if 0 <= value < 2**60 else -1


def _interned(values: Sequence[str], strings: dict[str, int]) -> Column:
    return Column(np.array([strings.setdefault(value, len(strings)) if value else -1 for value in values], dtype=np.int32), "count")


def _name(event: Event) -> str:
    return event.name.removesuffix(_KERNEL_SUFFIX) if event.cat == "Node" else event.name


def _kind(event: Event) -> str:
    if event.cat == "Node":
        # Older versions also write a fence before and after each kernel: a wait, not the kernel.
        return "operator" if event.name.endswith(_KERNEL_SUFFIX) else "other"
    if event.cat == "Session":
        return "iteration" if event.name == "model_run" else "annotation"
    if event.cat == "Kernel":
        low = event.name.casefold()
        return "copy" if low.startswith("memcpy") else "fill" if low.startswith("memset") else "compute"
    return "runtime" if event.cat.casefold() == "api" else "other"


def _track(event: Event) -> tuple[str, ...]:
    """Device kernels on a queue each, the rest on its thread."""
    if event.cat == "Kernel":
        return ("queue", str(event.pid), str(event.args.stream), str(event.args.device))
    return ("thread", str(event.pid), str(event.tid))


def _made(key: tuple[str, ...]) -> Track:
    if key[0] == "queue":
        device = f"GPU {key[3] or 0}"
        return Track(
            name=f"{device} stream {key[2] or '?'}, process {key[1]}", device=device, role="queue", clock="onnxruntime", process=key[1], thread=key[2]
        )
    return Track(name=f"thread {key[2]} of process {key[1]}", role="thread", clock="onnxruntime", process=key[1], thread=key[2])


def _shapes(event: Event) -> str:
    raw = bytes(event.args.input_type_shape)
    return raw.decode("utf-8", "replace") if len(raw) < 4096 else ""
