"""Overhead and steps: closed-form answers, and second paths that mark every tick or try every period."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import DEVICE_WORK, Timeline, Track
from ridgeline.timeline.iterations import iteration_spans, iterations, repeated_suffix
from ridgeline.timeline.overhead import overhead
from ridgeline.timeline.use import window_of
from timeline.building import HOST, stream, timeline_of
from timeline.generated import SECOND, kind_of, ticks_of, timelines

QUEUE = stream(7)


def test_overhead_is_the_window_less_the_union_of_operators() -> None:
    rows = [
        (HOST, "iteration", "step#1", 0, 50),
        (HOST, "operator", "a", 5, 20),
        (HOST, "operator", "in a", 8, 12),
        (SECOND, "operator", "b", 15, 30),
    ]
    found = overhead(timeline_of(rows))
    assert found is not None
    assert (found.window_s, found.operators_s, found.gap_s, found.gap_share) == pytest.approx((50e-9, 25e-9, 25e-9, 0.5))
    assert (found.linked_s, found.all_s) == (None, None)
    assert found.iterations == (pytest.approx((50e-9, 25e-9)),)


def test_work_that_no_operator_launched_tells_the_two_definitions_apart() -> None:
    rows = [
        (HOST, "operator", "op", 0, 20), (HOST, "runtime", "launch in op", 5, 8), (HOST, "runtime", "launch alone", 30, 33),
        (QUEUE, "compute", "k0", 10, 40), (QUEUE, "compute", "k1", 40, 60), (QUEUE, "compute", "k2", 60, 100),
    ]  # fmt: skip
    found = overhead(timeline_of(rows, [(1, 3, "launch"), (2, 4, "launch")]))
    assert found is not None
    assert (found.linked_s, found.all_s) == pytest.approx((70e-9, 10e-9))


def test_pauses_between_operators_are_told_from_what_issuing_them_takes() -> None:
    ms = 10**6
    rows = [
        (HOST, "iteration", "step#1", 0, 10 * ms), (HOST, "iteration", "step#2", 10 * ms, 20 * ms),
        (HOST, "operator", "a", 0, 2 * ms), (HOST, "operator", "in a", 1 * ms, 2 * ms), (HOST, "python", "sleep", 2 * ms, 6 * ms),
        (HOST, "operator", "b", 6 * ms, 9 * ms), (HOST, "operator", "c", 9 * ms + 500, 19 * ms), (HOST, "operator", "outside", 50 * ms, 51 * ms),
    ]  # fmt: skip
    found = overhead(timeline_of(rows))
    assert found is not None
    # Of 4 ms, 500 ns and 1 ms within the steps only the first is longer than a millisecond; what lies outside of them is in no step.
    assert [(one.start_s, one.duration_s, one.after, one.during) for one in found.pauses] == [
        (pytest.approx(2e-3), pytest.approx(4e-3), "a", "sleep")
    ]
    assert found.pauses_s == pytest.approx(4e-3)
    assert found.calls == 4
    # Without steps all counts: 31 ms up to the last operator as well.
    alone = overhead(timeline_of(rows[2:]))
    assert alone is not None
    assert [one.duration_s for one in alone.pauses] == pytest.approx([31e-3, 4e-3])
    assert (alone.pauses_s, alone.calls) == (pytest.approx(35e-3), 5)


@pytest.mark.parametrize(
    ("beside", "during"),
    [
        ([("annotation", "gloo:all_reduce", 1, 9)], "gloo:all_reduce"),
        ([("annotation", "backward", 0, 20), ("python", "wait", 2, 9)], "wait"),
        ([("python", "wait", 1, 4), ("python", "wait", 5, 8)], "wait"),
        ([("python", "outer", 0, 20), ("python", "inner", 1, 9)], "inner"),
        ([("python", "wait", 1, 4)], ""),
        ([("iteration", "step", 0, 20), ("profiler", "flush", 0, 20)], ""),
    ],
)
def test_what_goes_on_in_a_pause(beside: list[tuple[str, str, int, int]], during: str) -> None:
    ms, other = 10**6, Track(name="thread 2", role="thread", process="1", thread="2")
    rows = [(HOST, "operator", "a", 0, ms // 2), (HOST, "operator", "b", 10 * ms, 11 * ms)]
    found = overhead(timeline_of([*rows, *((other, kind, name, low * ms, high * ms) for kind, name, low, high in beside)]))
    assert found is not None
    assert [(one.after, one.during) for one in found.pauses[:1]] == [("a", during)]


def test_no_operator_has_no_overhead() -> None:
    assert overhead(timeline_of([(HOST, "python", "f", 0, 9), (QUEUE, "compute", "k", 0, 3)])) is None
    assert overhead(timeline_of([])) is None


@settings(deadline=None)
@given(timelines())
def test_overhead_agrees_with_marking_every_tick(t: Timeline) -> None:
    found = overhead(t)
    operators = [i for i in range(len(t)) if kind_of(t, i) == "operator"]
    if found is None:
        assert not operators or window_of(t)[0] == window_of(t)[1]
        return
    start, end = window_of(t)
    covered = set().union(*(ticks_of(t, i) for i in operators))
    assert round(found.gap_s * 1e9) == end - start - len(covered)
    work = [ticks_of(t, i) for i in range(len(t)) if kind_of(t, i) in DEVICE_WORK]
    if found.all_s is not None:
        assert round(found.all_s * 1e9) == end - start - len(set().union(*work))
        assert found.linked_s is not None
        assert found.linked_s >= found.all_s


def marks(*lengths: int, pause: int = 2) -> Timeline:
    starts = np.cumsum([0, *(length + pause for length in lengths)])
    rows = [(HOST, "iteration", f"ProfilerStep#{i}", int(at), int(at) + length) for i, (at, length) in enumerate(zip(starts, lengths, strict=False))]
    return timeline_of([*rows, (SECOND, "iteration", "other", 0, 5)])


def test_marks_are_the_steps_and_the_first_stands_apart() -> None:
    found = iterations(marks(1000, 100, 101, 99))
    assert found is not None
    assert (found.how, found.name, found.first, len(found.spans_s)) == ("marks", "ProfilerStep", 1, 4)
    assert (found.median_s, found.least_s, found.most_s) == pytest.approx((100e-9, 99e-9, 101e-9))
    assert found.median_ci_s is None
    assert found.spans_s[1] == pytest.approx((1002e-9, 100e-9))


def test_two_steps_have_no_median_and_six_have_an_interval() -> None:
    two, six = iterations(marks(100, 120)), iterations(marks(100, 101, 102, 103, 104, 105))
    assert two is not None
    assert two.median_s is None
    assert (two.least_s, two.most_s) == pytest.approx((100e-9, 120e-9))
    assert six is not None
    assert six.median_ci_s == pytest.approx((100e-9, 105e-9))
    assert six.first == 0


def test_many_steps_are_cut_where_they_become_steady() -> None:
    found = iterations(marks(*[900] * 4, *[100, 101, 99] * 8))
    assert found is not None
    assert found.first == 4
    assert found.median_s == pytest.approx(100e-9)


def test_a_named_range_that_comes_again_and_again() -> None:
    rows = [(HOST, "annotation", name, 100 * i + start, 100 * i + end) for i in range(3) for name, start, end in [("step", 0, 95), ("part", 10, 60)]]
    found = iterations(timeline_of([*rows, (HOST, "annotation", "all", 0, 300), (HOST, "operator", "op", 0, 295)]))
    assert found is not None
    assert (found.how, found.name, len(found.spans_s)) == ("ranges", "step", 3)
    counted = iterations(timeline_of([(HOST, "annotation", f"step {i}", 100 * i, 100 * i + 90) for i in range(8, 12)]))
    assert counted is not None
    assert (counted.how, counted.name, len(counted.spans_s)) == ("ranges", "step", 4)


def test_ranges_that_come_in_turn_are_one_step() -> None:
    rows = []
    for step in range(4):
        at = 100 * step
        rows += [
            (HOST, "annotation", "forward", at, at + 15), (HOST, "annotation", "backward", at + 20, at + 80),
            (HOST, "annotation", "in backward", at + 30, at + 40), (HOST, "annotation", "optim", at + 80, at + 95),
            (HOST, "operator", "op", at + 2, at + 94),
        ]  # fmt: skip
    found = iterations(timeline_of(rows))
    assert found is not None
    assert (found.how, found.name) == ("ranges", "forward … optim")
    assert [round(length * 1e9) for _, length in found.spans_s] == [95] * 4
    # One of them fewer, and they come in turn no more.
    fewer = iterations(timeline_of([row for row in rows if row[2] != "optim"] + [(HOST, "annotation", "optim", 390, 395)]))
    assert fewer is not None
    assert (fewer.name, [round(length * 1e9) for _, length in fewer.spans_s]) == ("forward … backward", [80] * 4)


def test_ranges_that_are_no_steps() -> None:
    twice = [(HOST, "annotation", "step", 0, 50), (HOST, "annotation", "step", 50, 100)]
    sparse = [(HOST, "annotation", "save", 100 * i, 100 * i + 9) for i in range(5)]
    numbered = [(HOST, "annotation", f"layer {i}", 100 * k, 100 * k + 90) for k, i in enumerate([3, 1, 2])]
    beside = [(HOST, "annotation", "step", 30 * i, 30 * i + 90) for i in range(5)]
    for rows in (twice, sparse, numbered, beside):
        assert iterations(timeline_of([*rows, (HOST, "operator", "op", 0, 400)])) is None


def kernels(names: str, pauses: dict[str, int] | None = None) -> Timeline:
    at, rows = 0, []
    for name in names:
        at += (pauses or {}).get(name, 1)
        rows.append((QUEUE, "compute", name, at, at + 10))
        at += 10
    return timeline_of(rows)


def test_a_pattern_of_launches_begins_after_its_longest_pause() -> None:
    found = iterations(kernels("xy" + "bca" * 6, {"a": 7}))
    assert found is not None
    assert (found.how, found.name, len(found.spans_s)) == ("pattern", "a", 5)
    # Launch to launch: three kernels, two pauses of 1 and one of 7.
    assert {round(length * 1e9) for _, length in found.spans_s[:-1]} == {39}
    assert found.busy_share[0] == pytest.approx(30 / 39)


@pytest.mark.parametrize("names", ["a" * 50, "abc" * 3, "abcdefgh", "abab" * 3 + "q", "x" * 40 + "ab" * 5, "ab" * 2 + "c" + "ab" * 2 + "d"])
def test_no_pattern_is_invented(names: str) -> None:
    assert iteration_spans(kernels(names)) is None


def test_layers_that_repeat_within_steps_are_not_the_steps() -> None:
    found = iteration_spans(kernels(("p" + "lm" * 8 + "e") * 5))
    assert found is not None
    assert len(np.unique(np.diff(found.start))) == 1
    assert int(found.start[1] - found.start[0]) == 18 * 11


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), max_size=40))
def test_the_repeated_end_agrees_with_trying_every_period(names: list[int]) -> None:
    best = (0, 0)
    for length in range(len(names), 0, -1):
        end = names[len(names) - length :]
        period = next(p for p in range(1, length + 1) if end[p:] == end[: length - p])
        if length >= 3 * period:
            best = period, length
            break
    assert repeated_suffix(np.array(names, dtype=np.int64)) == best


def test_a_series_longer_than_what_is_looked_at_goes_on_before_it() -> None:
    names = np.concatenate(([7, 8], np.tile([1, 2, 3, 4], 60_000)))
    assert repeated_suffix(names) == (4, 240_000)
