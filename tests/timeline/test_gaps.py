"""Gaps: closed-form answers, and a second path that asks at every tick what the host does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ridgeline.core import DEVICE_WORK, Gap, Timeline
from ridgeline.timeline.gaps import BECAUSE, gaps, idle_because
from ridgeline.timeline.use import device_uses
from timeline.building import HOST, stream, timeline_of
from timeline.generated import SECOND, kind_of, ticks_of, timelines, track_of

QUEUE, OTHER = stream(7), stream(8)


def only_gap(rows: list[tuple[object, str, str, int, int]], links: list[tuple[int, int, str]] = ()) -> Gap:  # type: ignore[assignment]
    found, count = gaps(timeline_of(rows, links))  # type: ignore[arg-type]
    assert count == len(found) == 1
    return found[0]


#: A launch that takes 5 from the beginning of the call to the beginning of the work, so that this is known to be possible.
FIRST = [(HOST, "runtime", "launch", 0, 3), (QUEUE, "compute", "k0", 5, 20)]


def test_a_gap_tells_what_ended_before_and_what_came_after() -> None:
    found = only_gap([(QUEUE, "compute", "a", 0, 10), (OTHER, "compute", "longer", 5, 12), (QUEUE, "copy", "b", 20, 30)])
    assert (found.device, found.after, found.before) == ("GPU 0", "longer", "b")
    assert (found.start_s, found.duration_s) == pytest.approx((12e-9, 8e-9))
    assert (found.waiting_for, found.because, found.activity, found.covered_share) == ("nothing known", "nothing known", "", 0.0)


def test_the_ends_of_a_device_are_no_gaps() -> None:
    assert gaps(timeline_of([(HOST, "operator", "op", 0, 100), (QUEUE, "compute", "a", 40, 60)])) == ((), 0)


def test_a_late_launch_by_a_busy_host_is_launch_bound() -> None:
    rows = [*FIRST, (HOST, "operator", "aten::add", 10, 48), (HOST, "runtime", "launch", 40, 46), (QUEUE, "compute", "k1", 45, 50)]
    found = only_gap(rows, [(0, 1, "launch"), (3, 4, "launch")])
    # Of 20–45 the operator itself has 20–40, the call 40–45.
    assert (found.waiting_for, found.because, found.activity, found.covered_share) == ("host", "launch-bound", "aten::add", pytest.approx(0.8))


def test_a_call_that_had_begun_before_the_gap_is_the_launch_itself() -> None:
    rows = [*FIRST, (HOST, "runtime", "launch", 18, 24), (QUEUE, "compute", "k1", 25, 50)]
    found = only_gap(rows, [(0, 1, "launch"), (2, 3, "launch")])
    assert (found.waiting_for, found.because, found.covered_share) == ("launch", "launch-bound", pytest.approx(0.8))


@pytest.mark.parametrize(
    ("kind", "name", "because"),
    [
        ("wait", "cudaStreamSynchronize", "synchronisation"), ("input", "DataLoader", "data loading"), ("python", "preprocess", "python"),
        ("operator", "aten::nonzero", "operator"), ("runtime", "cudaMalloc", "operator"), ("profiler", "flush", "profiler"),
        ("annotation", "a range", "nothing known"),
    ],
)  # fmt: skip
def test_what_the_host_did_is_told(kind: str, name: str, because: str) -> None:
    rows = [*FIRST, (HOST, kind, name, 18, 40), (HOST, "runtime", "launch", 40, 43), (QUEUE, "compute", "k1", 45, 50)]
    found = only_gap(rows, [(0, 1, "launch"), (3, 4, "launch")])
    assert (found.waiting_for, found.because) == ("host", because)
    assert (found.activity, found.covered_share) == (name, pytest.approx(0.8))


def test_all_that_lies_in_loading_data_is_loading_data() -> None:
    rows = [*FIRST, (HOST, "input", "next", 20, 40), (HOST, "operator", "aten::stack", 22, 39), (HOST, "runtime", "launch", 40, 43)]
    found = only_gap([*rows, (QUEUE, "compute", "k1", 45, 50)], [(0, 1, "launch"), (4, 5, "launch")])
    assert (found.because, found.activity, found.covered_share) == ("data loading", "aten::stack", pytest.approx(17 / 25))


def test_a_copy_that_the_host_is_busy_launching() -> None:
    rows = [*FIRST, (HOST, "runtime", "cudaMemcpy", 21, 60), (QUEUE, "copy", "HtoD", 45, 50)]
    assert only_gap(rows, [(0, 1, "launch"), (2, 3, "launch")]).because == "copy"


def test_another_stream_and_a_copy_are_told_where_a_link_orders_them() -> None:
    early = [(HOST, "runtime", "launch", 0, 1), (HOST, "runtime", "launch", 1, 2), (OTHER, "compute", "a", 5, 20), (QUEUE, "compute", "b", 25, 30)]
    launches = [(0, 2, "launch"), (1, 3, "launch")]
    assert only_gap(early, launches).waiting_for == "nothing known"
    assert only_gap(early, [*launches, (2, 3, "signal")]).waiting_for == "other stream"
    early[2] = (OTHER, "copy", "a", 5, 20)
    assert only_gap(early, [*launches, (2, 3, "signal")]).waiting_for == "copy"
    # The queue waits for the other one, and says so with an event of its own.
    early[2] = (OTHER, "compute", "a", 5, 20)
    through = [*early, (QUEUE, "sync", "cudaStreamWaitEvent", 6, 21)]
    assert only_gap(through, [*launches, (2, 4, "wait")]).waiting_for == "other stream"


def test_the_thread_that_launches_next_is_asked_and_no_other() -> None:
    rows = [*FIRST, (SECOND, "wait", "join", 20, 45), (HOST, "python", "work", 20, 40), (HOST, "runtime", "launch", 40, 43)]
    found = only_gap([*rows, (QUEUE, "compute", "k1", 45, 50)], [(0, 1, "launch"), (4, 5, "launch")])
    assert (found.because, found.activity) == ("python", "work")


def test_the_longest_come_first_and_all_are_counted() -> None:
    rows = [(QUEUE, "compute", f"k{index}", start, start + 1) for index, start in enumerate([0, 3, 10, 12, 30])]
    found, count = gaps(timeline_of(rows), most=2)
    assert count == 4
    assert [round(gap.duration_s * 1e9) for gap in found] == [17, 6]
    assert gaps(timeline_of(rows), most=0) == ((), 4)


@settings(deadline=None)
@given(timelines())
def test_gaps_are_what_is_idle_and_no_more(t: Timeline) -> None:
    found, count = gaps(t, most=10**6)
    assert len(found) == count
    because = idle_because(t)
    for use in device_uses(t):
        mine = [gap for gap in found if gap.device == use.name]
        assert sum(round(gap.duration_s * 1e9) for gap in mine) == round(use.idle_s * 1e9)
        assert sum(because.get(use.name, {}).values()) == pytest.approx(use.idle_s)
        assert all(0 <= gap.covered_share <= 1 and gap.because in BECAUSE for gap in mine)


@settings(deadline=None)
@given(timelines(most=8))
def test_what_fills_a_gap_agrees_with_asking_at_every_tick(t: Timeline) -> None:
    """With one thread, and by the words of the kinds alone; what lies in what is asked of `parents`, which has its own second path."""
    from ridgeline.timeline.nesting import parents

    if any(track_of(t, i) == SECOND for i in range(len(t))):
        return
    up = parents(t)
    host = [i for i in range(len(t)) if not track_of(t, i).device]
    busy = {i: ticks_of(t, i) for i in range(len(t))}
    for device, seconds in idle_because(t).items():
        work = [i for i in range(len(t)) if track_of(t, i).device == device and kind_of(t, i) in DEVICE_WORK]
        covered = set().union(*(busy[i] for i in work))
        first, last = min(int(t.start_tick.values[i]) for i in work), max(int((t.start_tick.values + t.duration_tick.values)[i]) for i in work)
        waiting = 0
        for tick in set(range(first, last)) - covered:
            here = [i for i in host if tick in busy[i]]
            innermost = [i for i in here if not any(up[j] == i for j in here)]
            if len(innermost) != 1:  # an overlap in part: either may be told
                return
            line, at = [], innermost[0]
            while at >= 0:
                line.append(kind_of(t, at))
                at = int(up[at])
            waiting += line[0] == "wait" and "input" not in line and "profiler" not in line
        if t.links is None or not any(kind == 0 for kind in t.links.kind.values.tolist()):  # type: ignore[union-attr]
            assert round(seconds.get("synchronisation", 0.0) * 1e9) == waiting
