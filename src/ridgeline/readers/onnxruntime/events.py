"""onnxruntime's profile: the JSON array that `SessionOptions.enable_profiling` writes, as typed events and a timeline.

This module decides what is an event of that format, and what is left out and why; what the events mean for a model is left to
`measurement.operators`. Times are whole microseconds. A file that is broken (cut short, a damaged line) is read event by event: every event begins
with its category, so reading goes on at the next one, and what did not decode is counted.
Source of the format: onnxruntime 1.18 to 1.32, as written; it is not documented field by field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from ridgeline.core import Column, ReadError, Timeline, Track

__all__ = ["TICK_S", "Excluded", "NodeEvent", "Profile", "Span", "TensorType", "read_profile"]

#: One tick is a microsecond.
TICK_S = 1e-6
_NODE_SUFFIX = "_kernel_time"
# Every event that onnxruntime writes starts so; inside a text the quotes would be escaped.
_START = re.compile(rb'\{\s*"cat"\s*:')
#: Beyond a signed 64-bit tick, or a sum near it, a time is damage.
_LATEST = 2**53


class TensorType(msgspec.Struct, frozen=True, kw_only=True):
    """Element type as onnxruntime names it (`float`, `int64`, …) and the executed shape."""

    dtype: str
    shape: tuple[int, ...]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A time interval in ticks of the profile's clock, and the thread that recorded it."""

    start: int
    duration: int
    thread: int = 0

    @property
    def end(self) -> int:
        """First tick after it."""
        return self.start + self.duration


class NodeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of one node.

    Args:
        name: the optimised model's node name; `kind_index` where the node has none.
        kind: operator type.
        provider: execution provider.
        index: the node's index in its graph, -1 if absent.
        span: when.
        inputs, outputs: executed types; onnxruntime leaves out absent optional inputs and weights that it has packed away.
        workers: pool threads that took part beside the caller, `None` if the profile does not tell.
    """

    name: str
    kind: str
    provider: str
    index: int
    span: Span
    inputs: tuple[TensorType, ...] = ()
    outputs: tuple[TensorType, ...] = ()
    workers: int | None = None


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """Events that were left out, and how long they were together where that is known."""

    reason: str
    events: int
    total_s: float = 0.0


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What the file said.

    Args:
        nodes: node executions in the order of the file (a subgraph's nodes come before the node that holds them).
        runs: `model_run` spans, one a call of the session.
        executors: `SequentialExecutor::Execute` spans: one a call, and one for every subgraph that ran.
        session: the other session events, such as `session_initialization`, by name.
        timeline: all of them, one track a thread.
        excluded: what was left out.
    """

    nodes: tuple[NodeEvent, ...]
    runs: tuple[Span, ...]
    executors: tuple[Span, ...]
    session: dict[str, Span]
    timeline: Timeline
    excluded: tuple[Excluded, ...] = ()


class _Worker(msgspec.Struct):
    num_run: int = 0


class _Scheduling(msgspec.Struct):
    sub_threads: dict[str, _Worker] = {}


class _Arguments(msgspec.Struct):
    op_name: str = ""
    provider: str = ""
    node_index: str | int = -1
    input_type_shape: list[dict[str, list[int]]] = []
    output_type_shape: list[dict[str, list[int]]] = []
    # An empty text where the session has one thread and so no pool.
    thread_scheduling_stats: _Scheduling | str | None = None


class _Event(msgspec.Struct):
    cat: str
    name: str
    ts: int
    dur: int
    tid: int = 0
    args: _Arguments = msgspec.field(default_factory=_Arguments)


def read_profile(data: bytes) -> Profile:
    """Read the bytes of a profile.

    Args:
        data: the whole file, UTF-8 JSON; it may be cut short.

    Raises:
        ReadError: no event of onnxruntime in it.
    """
    events, broken = _decode(data)
    kept: list[_Event] = []
    odd: list[_Event] = []
    for event in events:
        good = event.dur >= 0 and abs(event.ts) < _LATEST and event.dur < _LATEST and abs(event.tid) < _LATEST
        (kept if good else odd).append(event)
    if not any(event.cat in ("Node", "Session") for event in kept):
        raise ReadError(
            "a profile of onnxruntime, with events of category Node or Session",
            found=f"{len(data)} bytes that start with {data[:40]!r}",
            remedy="write one with SessionOptions.enable_profiling and end_profiling",
        )
    excluded = []
    if broken:
        excluded.append(Excluded(reason="damaged or cut short", events=broken))
    if odd:
        excluded.append(Excluded(reason="a negative or impossible time", events=len(odd)))
    return _profile(kept, excluded)


def _decode(data: bytes) -> tuple[list[_Event], int]:
    """All events, and how many pieces did not decode; the whole file at once where it is sound."""
    try:
        return msgspec.json.decode(data, type=list[_Event]), 0
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    decoder = msgspec.json.Decoder(_Event)
    events: list[_Event] = []
    broken = 0
    for piece in _pieces(data):
        try:
            events.append(decoder.decode(piece))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            broken += 1
    return events, broken


def _pieces(data: bytes) -> Iterator[bytes]:
    """The bytes from one event's start to the last brace before the next one's: what follows it separates, or is the beginning of one cut short."""
    starts = [match.start() for match in _START.finditer(data)]
    for start, end in pairwise([*starts, len(data)]):
        yield data[start : data.rfind(b"}", start, end) + 1]


def _profile(events: Sequence[_Event], excluded: list[Excluded]) -> Profile:
    nodes: list[NodeEvent] = []
    runs: list[Span] = []
    executors: list[Span] = []
    session: dict[str, Span] = {}
    other = [event for event in events if event.cat not in ("Node", "Session")]
    participation = _Participation()
    for event in events:
        span = Span(start=event.ts, duration=event.dur, thread=event.tid)
        if event.cat == "Node":
            # Older versions also write a fence before and after each kernel; those are waits, not the kernel.
            if event.name.endswith(_NODE_SUFFIX):
                nodes.append(_node(event, span, participation))
            else:
                other.append(event)
        elif event.cat == "Session" and event.name == "model_run":
            runs.append(span)
        elif event.cat == "Session" and event.name == "SequentialExecutor::Execute":
            executors.append(span)
        elif event.cat == "Session":
            session[event.name] = span
    if other:
        excluded.append(Excluded(reason="neither a kernel nor a session event", events=len(other), total_s=sum(e.dur for e in other) * TICK_S))
    return Profile(
        nodes=tuple(nodes), runs=tuple(runs), executors=tuple(executors), session=session, timeline=_timeline(events), excluded=tuple(excluded)
    )


class _Participation:
    """How many pool threads took part in each node: their counters of tasks run only ever grow, so those that grew took part."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def of(self, scheduling: _Scheduling | str | None) -> int | None:
        if not isinstance(scheduling, _Scheduling):
            return 0 if scheduling == "" else None
        # The counters start at zero with the pool, so a thread that was not seen yet had run nothing.
        grown = sum(worker.num_run > self._seen.get(name, 0) for name, worker in scheduling.sub_threads.items())
        self._seen.update({name: worker.num_run for name, worker in scheduling.sub_threads.items()})
        return grown


def _node(event: _Event, span: Span, participation: _Participation) -> NodeEvent:
    arguments = event.args
    index = str(arguments.node_index)
    return NodeEvent(
        name=event.name.removesuffix(_NODE_SUFFIX),
        kind=arguments.op_name,
        provider=arguments.provider,
        index=int(index) if re.fullmatch(r"[0-9]{1,9}", index) else -1,
        span=span,
        inputs=_types(arguments.input_type_shape),
        outputs=_types(arguments.output_type_shape),
        workers=participation.of(arguments.thread_scheduling_stats),
    )


def _types(entries: list[dict[str, list[int]]]) -> tuple[TensorType, ...]:
    return tuple(TensorType(dtype=dtype, shape=tuple(shape)) for entry in entries for dtype, shape in entry.items())


def _timeline(events: Sequence[_Event]) -> Timeline:
    strings: dict[str, int] = {}
    tracks: dict[int, int] = {}
    for event in events:
        strings.setdefault(event.name, len(strings))
        tracks.setdefault(event.tid, len(tracks))
    return Timeline(
        tick_s=TICK_S,
        start_tick=Column([event.ts for event in events], "count", "int64"),
        duration_tick=Column([event.dur for event in events], "count", "int64"),
        name=Column([strings[event.name] for event in events], "count", "int32"),
        track=Column([tracks[event.tid] for event in events], "count", "int32"),
        strings=tuple(strings),
        tracks=tuple(Track(name=f"thread {thread}", clock="onnxruntime", device="cpu") for thread in tracks),
    )
