"""Timelines drawn at random, small enough to be counted tick by tick."""

from __future__ import annotations

from hypothesis import strategies as st

from ridgeline.core import Timeline, Track
from timeline.building import HOST, stream, timeline_of

SECOND = Track(name="thread 2", role="thread", process="1", thread="2")
OTHER_GPU = stream(7, device=1)
QUEUES = (stream(7), stream(13), OTHER_GPU)
HOST_KINDS = ("operator", "python", "runtime", "wait", "input", "annotation", "iteration", "other", "profiler")
DEVICE_KINDS = ("compute", "communication", "copy", "fill", "sync", "annotation", "other")


@st.composite
def timelines(draw: st.DrawFn, most: int = 14, span: int = 40, links: bool = True) -> Timeline:
    """Events of any kind on two threads and three queues of two devices, and launches from the first to the second."""
    host = draw(st.lists(st.tuples(st.sampled_from((HOST, SECOND)), st.sampled_from(HOST_KINDS), *_time(span)), max_size=most))
    device = draw(st.lists(st.tuples(st.sampled_from(QUEUES), st.sampled_from(DEVICE_KINDS), *_time(span)), max_size=most))
    rows = [(track, kind, f"{kind}{start % 3}", start, start + length) for track, kind, start, length in [*host, *device]]
    joined = []
    if links and host and device:
        pair = st.tuples(st.integers(0, len(host) - 1), st.integers(len(host), len(rows) - 1), st.sampled_from(("launch", "signal", "flow")))
        joined = draw(st.lists(pair, max_size=most))
    return timeline_of(rows, joined)


def _time(span: int) -> tuple[st.SearchStrategy[int], st.SearchStrategy[int]]:
    return st.integers(0, span), st.one_of(st.integers(0, span // 4), st.integers(0, span))


def ticks_of(t: Timeline, index: int) -> set[int]:
    """The ticks that an event covers."""
    start = int(t.start_tick.values[index])
    return set(range(start, start + int(t.duration_tick.values[index])))


def kind_of(t: Timeline, index: int) -> str:
    from ridgeline.core import EVENT_KINDS

    assert t.kind is not None
    return EVENT_KINDS[t.kind.values[index]]


def track_of(t: Timeline, index: int) -> Track:
    return t.tracks[t.track.values[index]]
