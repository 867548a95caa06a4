"""The dependency graph where times of events leave their order open."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import Track
from ridgeline.timeline.critical_path import LABELS, path_of
from ridgeline.timeline.dependencies import graph_of
from ridgeline.timeline.replay import what_if

from .building import HOST, stream, timeline_of

STREAM = stream(7)
WORKER = Track(name="thread 2", role="thread", process="1", thread="2")


def test_a_copy_of_no_length_at_the_end_of_the_call_that_waits_for_it_contradicts_nothing() -> None:
    rows = [
        (HOST, "runtime", "launch", 0, 2),
        (STREAM, "compute", "before", 2, 10),
        (HOST, "wait", "copy call", 2, 10),
        (STREAM, "copy", "copy", 10, 10),
        (HOST, "operator", "after", 10, 30),
    ]
    t = timeline_of(rows, [(0, 1, "launch"), (2, 3, "launch"), (3, 2, "wait")])
    deps = graph_of(t)
    path = path_of(deps)
    assert not deps.left_out
    # The call waits for the copy, and the copy for the work before it: not for the end of its own call.
    assert [t.strings[t.name.values[event]] for event in path.event] == ["launch", "before", "after"]
    assert what_if(t, "before", 2, deps=deps).after_s == 26e-9


def test_graph_and_path_hold_less_than_a_fixed_number_of_bytes_an_event() -> None:
    rows, links = [], []
    for step in range(500):
        at = 30 * step
        links.append((len(rows) + 2, len(rows) + 3, "launch"))
        rows += [
            (HOST, "operator", "outer", at, at + 20),
            (HOST, "operator", "inner", at + 1, at + 15),
            (HOST, "runtime", "launch", at + 5, at + 10),
            (STREAM, "compute", "kernel", at + 12, at + 30),
        ]
    t = timeline_of(rows, links)
    deps = graph_of(t)
    columns = [*vars(deps).values(), *vars(deps.segments).values()]
    # Beside the columns of the timeline, and the ends of its events.
    assert sum(column.nbytes for column in columns if isinstance(column, np.ndarray)) < 80 * len(t)
    assert sum(column.nbytes for column in vars(path_of(deps)).values() if isinstance(column, np.ndarray)) < 50 * len(t)


def test_what_passes_on_a_thread_is_not_what_it_waits_for() -> None:
    rows = [(HOST, "runtime", "launch", 0, 2), (STREAM, "compute", "kernel", 2, 10), (HOST, "wait", "sync", 4, 11), (HOST, "operator", "op", 11, 15)]
    deps = graph_of(timeline_of(rows, [(0, 1, "launch"), (1, 2, "wait")]))
    assert deps.segments.event.tolist() == [0, -1, 2, 3]
    assert deps.counted.tolist() == [2, 2, 0, 4]


@pytest.mark.parametrize("mark", [[], [(WORKER, "other", "mark", 12, 12)], [(WORKER, "other", "mark", 15, 15)]])
def test_a_thread_that_begins_with_an_event_of_no_length_goes_on_where_another_stopped_as_well(mark: list[tuple[Track, str, str, int, int]]) -> None:
    rows = [(HOST, "operator", "call", 0, 10), *mark, (WORKER, "operator", "work", 15, 40)]
    deps = graph_of(timeline_of(rows))
    path = path_of(deps)
    known = path.label != LABELS.index("unexplained")
    assert list(zip(path.start[known].tolist(), path.end[known].tolist(), strict=True)) == [(0, 10), (15, 40)]


def test_a_mark_at_the_end_of_an_idle_thread_holds_nothing_up() -> None:
    rows = [(HOST, "operator", "call", 0, 20), (HOST, "operator", "rest", 35, 40), (WORKER, "other", "mark", 2, 2), (WORKER, "other", "mark", 39, 39)]
    assert what_if(timeline_of(rows), "call", 2).after_s == pytest.approx(30e-9)
