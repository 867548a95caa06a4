"""`read` end to end on small files: what comes in goes through readers, analyses and rules; parts of the time add up to the whole."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Profile, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.core.read_report import ReadReport
from ridgeline.flows.read import read, report_of
from ridgeline.flows.reading.restricting import iteration_span, part_of, span_of
from ridgeline.readers.source import Limits
from ridgeline.reporting import terminal
from ridgeline.reporting.read_page import read_page
from ridgeline.timeline.use import device_uses
from support.traces import launch_bound, steady, trace_bytes
from timeline.building import HOST, stream, timeline_of


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.bin"
    path.write_bytes(launch_bound())
    return path


def test_a_launch_bound_trace_is_called_that_with_its_share(trace: Path) -> None:
    found = read(trace)
    assert (found.format, found.files, found.healthy) == ("chrome", (str(trace),), False)
    (device,) = found.devices
    # 40 kernels of 10 µs, from the start of the first (30 µs) to the end of the last (1600 µs).
    assert (device.events, device.busy_s, device.window_s) == (40, pytest.approx(400e-6), pytest.approx(1570e-6))
    assert device.idle_s == pytest.approx(1170e-6)
    assert sum(device.idle_because_s.values()) == pytest.approx(device.idle_s)
    assert found.findings[0].cause == "dispatch"
    assert found.findings[0].share == pytest.approx(device.idle_because_s["launch-bound"] / device.window_s)
    assert found.iterations is not None
    assert len(found.iterations.spans_s) == 10
    assert found.critical_path is not None
    assert found.critical_path.length_s == pytest.approx(found.window_s)
    assert found.figures


def test_work_back_to_back_is_healthy(tmp_path: Path) -> None:
    path = tmp_path / "steady.json"
    path.write_bytes(steady())
    found = read(path)
    assert (found.healthy, found.findings) == (True, ())
    assert found.devices[0].idle_s == 0


def test_the_report_survives_being_stored(trace: Path) -> None:
    found = read(trace)
    assert decode(encode(found), ReadReport) == found


def test_an_iteration_is_a_part_of_the_whole(trace: Path) -> None:
    found = read(trace, iteration=3)
    assert found.window_s == pytest.approx(160e-6)
    assert found.devices[0].busy_s == pytest.approx(40e-6)
    assert found.what.startswith("iteration 3")
    assert [entry.reason for entry in found.excluded] == ["outside the part that was asked for"]


def test_a_part_of_the_time(trace: Path) -> None:
    found = read(trace, window="0.3ms..0.5ms")
    assert found.devices[0].events == 5
    assert any(warning.code == "cut-events" for warning in found.warnings)


@pytest.mark.parametrize("window", ["5s..6s", "9..", "x..y", "3..2", "..", "1", "-1..2", "1..-2"])
def test_parts_that_there_are_not_are_refused(trace: Path, window: str) -> None:
    with pytest.raises(UsageError):
        read(trace, window=window)


@pytest.mark.parametrize(("number", "message"), [(0, "0 of 10"), (11, "11 of 10")])
def test_iterations_that_there_are_not_are_refused(trace: Path, number: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(trace, iteration=number)


def test_iterations_and_windows_of_a_file_without_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    path.write_text("main;f 3\nmain;g 5\n")
    with pytest.raises(UsageError, match="which has none"):
        read(path, window="1..2")
    with pytest.raises(UsageError, match="no iterations"):
        read(path, iteration=1)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("10ms..25ms", (0.01, 0.025)),
        ("..1s", (0.0, 1.0)),
        ("2s..", (2.0, None)),
        (" 1.5 .. 2.5 ", (1.5, 2.5)),
        (".5...75", (0.5, 0.75)),
        ("1us..2.5us", (1e-6, 2.5e-6)),
    ],
)
def test_spans_are_written_in_several_ways(text: str, span: tuple[float, float | None]) -> None:
    assert span_of(text) == pytest.approx(span) if span[1] is not None else span_of(text) == span


def test_an_iteration_may_begin_before_the_window_and_no_page_has_a_time_below_zero(tmp_path: Path) -> None:
    events = [{"ph": "X", "cat": "user_annotation", "name": "turn", "ts": at, "dur": 90, "pid": 1, "tid": 1} for at in (0, 100, 200, 300)] + [
        {"ph": "X", "cat": "cpu_op", "name": "work", "ts": at + 30, "dur": 50, "pid": 1, "tid": 1} for at in (0, 100, 200, 300)
    ]
    path = tmp_path / "turns.json"
    path.write_bytes(trace_bytes(events))
    whole, first = read(path), read(path, iteration=1)
    assert whole.iterations is not None
    assert [start for start, _ in whole.iterations.spans_s] == pytest.approx([-30e-6, 70e-6, 170e-6, 270e-6])
    assert first.what == "iteration 1, from before the window to 60.0 µs"
    text = terminal(read_page(whole), 120)
    assert "-30" not in text
    assert "it begins before the window" in text
    # Of a window of 350 µs the ranges take 60 + 90 + 90 + 80: what lies before and after is not in it.
    within = next(one for one in whole.figures if one.name == "within iterations")
    assert (within.numerator, within.denominator) == (pytest.approx(320e-6), pytest.approx(350e-6))


def test_an_iteration_that_ends_before_the_window_is_refused() -> None:
    with pytest.raises(UsageError, match="ends before the first event"):
        iteration_span(((-2.0, 1.0), (0.0, 1.0)), 1)


def test_an_iteration_is_counted_from_one() -> None:
    assert iteration_span(((0.0, 1.0), (1.0, 2.0)), 2) == (1.0, 3.0)


def test_what_if_names_what_there_is(trace: Path) -> None:
    found = read(trace, what_if={"gemm": None})
    (asked,) = found.what_if
    assert (asked.what, asked.factor, asked.before_s) == ("gemm", None, pytest.approx(1600e-6))
    # Without the last kernel, the last operator ends at 1599 µs; the others end before the next one is issued.
    assert asked.after_s == pytest.approx(1599e-6)
    with pytest.raises(UsageError, match="what-if"):
        read(trace, what_if={"no such": None})


@pytest.mark.parametrize(
    ("text", "what", "same"),
    [
        ("gemm", "gemm", "gemm"), ("GEM", "gemm", "gemm"), ("g??m", "gemm", "gemm"), ("launch", "cudaLaunchKernel", "cudaLaunchKernel"),
        ("mm", "mm (2 names)", "*mm"), ("*mm", "*mm (2 names)", "mm"),
    ],
)  # fmt: skip
def test_a_part_of_a_name_means_all_that_have_it(trace: Path, text: str, what: str, same: str) -> None:
    (found,), (other,) = (read(trace, what_if={asked: None}).what_if for asked in (text, same))
    assert found.what == what
    assert (found.after_s, found.low_s, found.high_s) == (other.after_s, other.low_s, other.high_s)


@pytest.mark.parametrize("text", ["gem?m", "no such", "("])
def test_a_text_that_no_name_has_is_refused(trace: Path, text: str) -> None:
    with pytest.raises(UsageError, match="or a part of it"):
        read(trace, what_if={text: None})


def test_a_what_if_of_a_profile_without_times_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    path.write_text("main;work 10\nmain 1\n")
    with pytest.raises(UsageError, match="with times, for a what-if"):
        read(path, what_if={"main": 2.0})


def test_stacks_have_functions_and_no_times(tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    path.write_text("main;f 3\nmain;g 5\n")
    found = read(path)
    assert (found.format, found.window_s) == ("collapsed", None)
    assert [(use.function, use.own, use.own_share) for use in found.frames] == [("g", 5, 0.625), ("f", 3, 0.375), ("main", 0, 0.0)]


def test_the_limit_on_bytes_is_kept(trace: Path) -> None:
    with pytest.raises(ReadError, match="most-bytes"):
        read(trace, limits=Limits(unpacked_bytes=1000, whole_bytes=1000))


def test_unlike_files_are_refused_in_one_line(trace: Path, tmp_path: Path) -> None:
    stacks = tmp_path / "stacks.txt"
    stacks.write_text("main;f 3\n")
    with pytest.raises(UsageError, match="files of one run"):
        read([trace, stacks])
    with pytest.raises(UsageError, match="each file once"):
        read([trace, trace])
    with pytest.raises(UsageError):
        read([])


def test_several_files_of_stacks_are_summed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b")]
    for path, text in zip(paths, ("main;f 3\n", "main;f 4\nmain;g 1\n"), strict=True):
        path.write_text(text)
    assert {use.function: use.own for use in read(paths).frames} == {"main": 0, "f": 7, "g": 1}


def test_an_empty_timeline_has_no_answers() -> None:
    found = report_of(Profile(format="chrome", files=("x",), timeline=timeline_of([])))
    assert (found.window_s, found.devices, found.findings, found.healthy) == (None, (), (), None)


_EVENTS = st.lists(st.tuples(st.booleans(), st.integers(0, 100), st.integers(0, 30)), min_size=1, max_size=12)


@settings(deadline=None)
@given(rows=_EVENTS, cuts=st.lists(st.integers(1, 129), min_size=1, max_size=4, unique=True))
def test_parts_of_the_time_add_up_to_the_whole(rows: list[tuple[bool, int, int]], cuts: list[int]) -> None:
    timeline = timeline_of([(stream(7) if device else HOST, "compute" if device else "operator", "x", at, at + long) for device, at, long in rows])
    edges = [0, *sorted(cuts), 131]
    parts = [part_of(timeline, low, high) for low, high in itertools.pairwise(edges)]
    assert sum(int(part.duration_tick.values.sum()) for part, _, _ in parts) == int(timeline.duration_tick.values.sum())
    whole = sum(use.busy_s for use in device_uses(timeline))
    assert sum(use.busy_s for part, _, _ in parts for use in device_uses(part)) == pytest.approx(whole)
    for (part, outside, _), (low, high) in zip(parts, itertools.pairwise(edges), strict=True):
        assert len(part) + outside.events == len(timeline)
        assert bool(np.all(part.start_tick.values >= low))
        assert bool(np.all(part.start_tick.values + part.duration_tick.values <= high))


def test_links_of_a_part_lead_to_the_events_that_they_led_to() -> None:
    rows = [(HOST, "runtime", "a", 0, 1), (HOST, "runtime", "b", 10, 11), (stream(7), "compute", "k", 12, 15), (HOST, "runtime", "c", 50, 51)]
    timeline = timeline_of(rows, [(0, 2, "launch"), (1, 2, "launch"), (1, 3, "flow")])
    part, _, cut = part_of(timeline, 5, 20)
    assert part.links is not None
    assert [part.strings[name] for name in part.name.values] == ["b", "k"]
    assert (part.links.source.values.tolist(), part.links.target.values.tolist()) == ([0], [1])
    assert cut == 0
