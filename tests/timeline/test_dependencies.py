"""The dependency graph where times of events leave their order open."""

from __future__ import annotations

from ridgeline.timeline.critical_path import path_of
from ridgeline.timeline.dependencies import graph_of
from ridgeline.timeline.replay import what_if

from .building import HOST, stream, timeline_of

STREAM = stream(7)


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
