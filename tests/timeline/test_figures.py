"""Figures: every share is its numerator by its denominator, and those of the report are those of the figures."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from ridgeline.core import Column, Figure, Links, RankUse, ReadReport, Timeline, Track
from ridgeline.timeline.figures import figures
from ridgeline.timeline.gaps import idle_because
from ridgeline.timeline.iterations import iterations
from ridgeline.timeline.operators import operator_uses
from ridgeline.timeline.overhead import overhead
from ridgeline.timeline.serial import serial_pairs
from ridgeline.timeline.use import device_uses, window_of
from timeline.building import HOST, stream, timeline_of
from timeline.generated import timelines
from timeline.test_operators import FLOATS, shaped


def report_of(t: Timeline) -> ReadReport:
    start, end = window_of(t)
    because = idle_because(t)
    return ReadReport(
        files=("f",),
        format="test",
        window_s=(end - start) * t.tick_s,
        devices=tuple(msgspec.structs.replace(use, idle_because_s=because.get(use.name, {})) for use in device_uses(t)),
        overhead=overhead(t),
        iterations=iterations(t),
        operators=operator_uses(t),
        serial=serial_pairs(t),
    )


def by_name(t: Timeline) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(report_of(t), t)}


@settings(deadline=None)
@given(timelines())
def test_every_share_is_its_numerator_by_its_denominator(t: Timeline) -> None:
    report = report_of(t)
    for figure in figures(report, t):
        assert math.isfinite(figure.value)
        assert figure.value == figure.numerator / figure.denominator
        assert 0 <= figure.value <= 1 + 1e-9
        assert figure.numerator_of
        assert figure.denominator_of
    named = by_name(t)
    for use in report.devices:
        if use.window_s:
            assert named[f"idle of {use.name}"].value == pytest.approx(use.idle_share)
            assert named[f"busy of {use.name}"].value + named[f"idle of {use.name}"].value == pytest.approx(1)


def test_what_is_left_out_is_told() -> None:
    rows = [(stream(7), "compute", "k", 0, 10), (stream(7), "annotation", "step", 0, 50), (stream(7), "compute", "k", 20, 40)]
    found = by_name(timeline_of(rows))["idle of GPU 0"]
    assert (found.value, found.left_out) == (0.25, "1 × named ranges on a device, which are no work")


def test_useful_work_of_an_operator_is_set_against_the_time_of_what_it_launched() -> None:
    shapes = [[300, 400], [400, 500]]
    t = shaped(("aten::matmul", shapes, FLOATS, None), ("aten::mm", shapes, FLOATS, None), ("aten::mm", None, None, None), nested=True)
    queue = Track(name="stream", device="GPU 0", role="queue")
    more = {"start_tick": [200, 1000], "duration_tick": [500, 250], "name": [1, 0], "track": [1, 1], "kind": [7, 7]}
    columns = {name: Column(np.concatenate((getattr(t, name).values, values)), "count", "int64") for name, values in more.items()}
    texts = {name: Column(np.concatenate((column.values, [-1, -1])), "count", "int64") for name, column in t.texts.items()}
    links = Links(source=Column([1], "count", "int64"), target=Column([3], "count", "int64"), kind=Column([0], "count", "uint8"))
    t = msgspec.structs.replace(t, **columns, texts=texts, tracks=(*t.tracks, queue), links=links)
    found = by_name(t)
    flop = 2 * 300 * 400 * 500
    while_busy = found["useful FLOP/s of matrix products and convolutions"]
    assert (while_busy.numerator, while_busy.denominator, while_busy.unit) == (flop, pytest.approx(500e-9), "FLOP/s")
    assert while_busy.left_out.startswith("0 calls of such operators")
    assert found["useful FLOP/s of the devices"].denominator == pytest.approx(750e-9)
    assert found["compulsory B/s of matrix products and convolutions"].numerator == 4 * (120_000 + 200_000 + 150_000)


def test_operators_whose_shapes_do_not_tell_are_counted_as_left_out() -> None:
    shapes = [[3, 4], [4, 5]]
    t = shaped(("aten::mm", shapes, FLOATS, None), ("aten::mm", None, None, None), ("aten::relu", shapes, FLOATS, None))
    found = by_name(t)
    assert found["useful FLOP/s of the host"].left_out == "1 calls of such operators whose shapes do not tell; all other operators"
    assert found["useful FLOP/s of the host"].value == pytest.approx(120 / 25e-9)


def test_waiting_of_a_rank_is_of_its_own_window() -> None:
    use = RankUse(rank=3, window_s=0.5, collectives=8, waited_s=0.1, waited_share=0.2, last=0, awaited_s=0.0, unlike=2)
    (figure,) = figures(ReadReport(files=("f",), format="test", ranks=(use,)))
    assert (figure.name, figure.value, figure.numerator, figure.denominator) == ("waiting of rank 3 for others", use.waited_share, 0.1, 0.5)
    assert "2 collectives" in figure.left_out


def test_nothing_has_no_figures() -> None:
    assert figures(ReadReport(files=(), format="x")) == ()
    assert figures(report_of(timeline_of([])), timeline_of([])) == ()
    assert figures(report_of(timeline_of([(HOST, "operator", "op", 5, 5)])), timeline_of([(HOST, "operator", "op", 5, 5)])) == ()
