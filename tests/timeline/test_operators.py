"""Operators by name and kind: closed-form answers, and a second path that marks every tick."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ridgeline.core import DEVICE_WORK, Column, OperatorUse, Timeline
from ridgeline.timeline.nesting import parents
from ridgeline.timeline.operators import operator_uses
from ridgeline.timeline.use import window_of
from ridgeline.timeline.useful import useful_work, work_of_events
from timeline.building import HOST, stream, timeline_of
from timeline.generated import SECOND, kind_of, ticks_of, timelines, track_of

QUEUE, OTHER = stream(7), stream(8)


def use_of(t: Timeline, name: str) -> OperatorUse:
    return next(use for use in operator_uses(t) if use.name == name)


def test_own_time_device_time_and_spread_of_a_name() -> None:
    rows = [
        (HOST, "operator", "linear", 0, 40), (HOST, "operator", "addmm", 5, 30),
        (HOST, "runtime", "launch", 10, 14), (HOST, "runtime", "launch", 20, 22),
        (HOST, "operator", "addmm", 50, 60), (QUEUE, "compute", "gemm", 15, 45), (OTHER, "compute", "gemm", 35, 65), (QUEUE, "copy", "back", 90, 100),
    ]  # fmt: skip
    t = timeline_of(rows, [(2, 5, "launch"), (3, 6, "launch")])
    linear, addmm, gemm, launch = (use_of(t, name) for name in ("linear", "addmm", "gemm", "launch"))
    assert (linear.calls, linear.total_s, linear.own_s, linear.share) == (1, pytest.approx(40e-9), pytest.approx(15e-9), pytest.approx(0.15))
    assert (addmm.calls, addmm.total_s, addmm.own_s) == (2, pytest.approx(35e-9), pytest.approx(29e-9))
    assert (addmm.least_s, addmm.median_s, addmm.most_s) == pytest.approx((10e-9, 17.5e-9, 25e-9))
    assert linear.device_s == addmm.device_s == launch.device_s == pytest.approx(50e-9)
    assert gemm.share == pytest.approx(0.5)
    assert gemm.device_s is None
    assert operator_uses(t, most=1)[0].name == "gemm"


def test_a_range_outside_of_the_window_has_no_share_of_it() -> None:
    rows = [
        (HOST, "annotation", "loading", 0, 100), (HOST, "annotation", "run", 90, 150), (HOST, "operator", "op", 100, 140),
        (HOST, "operator", "late", 180, 200),
    ]  # fmt: skip
    t = timeline_of(rows)
    assert window_of(t) == (100, 200)
    assert (use_of(t, "loading").own_s, use_of(t, "loading").share) == (pytest.approx(100e-9), 0.0)
    # Of the 60 ticks of the range 20 are its own, and 10 of these lie in the window.
    assert (use_of(t, "run").own_s, use_of(t, "run").share) == (pytest.approx(20e-9), pytest.approx(0.1))


def test_threads_at_once_count_once_in_the_share() -> None:
    t = timeline_of([(HOST, "operator", "op", 0, 100), (SECOND, "operator", "op", 0, 100), (SECOND, "operator", "inner", 20, 40)])
    assert use_of(t, "op").share == 1.0
    assert use_of(t, "op").own_s == pytest.approx(180e-9)


@settings(deadline=None)
@given(timelines())
def test_uses_agree_with_marking_every_tick(t: Timeline) -> None:
    up = parents(t)
    first, last = window_of(t)
    own = [ticks_of(t, i) - set().union(*(ticks_of(t, j) for j in range(len(t)) if up[j] == i)) for i in range(len(t))]
    launched = _launched(t, up.tolist())
    uses = {(use.name, use.kind): use for use in operator_uses(t)}
    assert set(uses) == {(t.strings[t.name.values[i]], kind_of(t, i)) for i in range(len(t))}
    for (name, kind), use in uses.items():
        mine = [i for i in range(len(t)) if t.strings[t.name.values[i]] == name and kind_of(t, i) == kind]
        lengths = sorted(len(ticks_of(t, i)) for i in mine)
        assert (use.calls, round(use.total_s * 1e9), round(use.own_s * 1e9)) == (len(mine), sum(lengths), sum(len(own[i]) for i in mine))
        assert [round(each * 1e9, 3) for each in (use.least_s, use.median_s, use.most_s)] == [lengths[0], float(np.median(lengths)), lengths[-1]]
        busy = set().union(*(ticks_of(t, i) if track_of(t, i).device else own[i] for i in mine))
        inside = sum(first <= tick < last for tick in busy)
        assert use.share == pytest.approx(inside / (last - first) if last > first else 0)
        pieces = set().union(*(launched[i] for i in mine))
        if not pieces:
            assert use.device_s is None
        else:
            assert use.device_s is not None
            assert round(use.device_s * 1e9) == len(set().union(*(ticks_of(t, i) for i in pieces)))


def _launched(t: Timeline, up: list[int]) -> list[set[int]]:
    """The pieces of work that each event, or what lies in it, launched."""
    found: list[set[int]] = [set() for _ in range(len(t))]
    assert t.links is not None
    assert t.links.kind is not None
    for source, target, kind in zip(t.links.source.values.tolist(), t.links.target.values.tolist(), t.links.kind.values.tolist(), strict=True):
        if kind == 0 and kind_of(t, target) in DEVICE_WORK:
            at = source
            while at >= 0:
                found[at].add(target)
                at = up[at]
    return found


def shaped(*rows: tuple[str, object, object, object], nested: bool = False) -> Timeline:
    """Operators with shapes, types and concrete inputs as PyTorch writes them, one in the other or one after the other."""
    texts = [text for row in rows for text in (json.dumps(each) if each is not None else "" for each in row[1:])]
    spans = [(index, 100 - index) if nested else (10 * index, 10 * index + 5) for index in range(len(rows))]
    t = timeline_of([(HOST, "operator", row[0], *span) for row, span in zip(rows, spans, strict=True)])
    added = list(dict.fromkeys(texts))
    strings = (*t.strings, *added)
    places = np.array([added.index(text) for text in texts]).reshape(-1, 3) + len(t.strings)
    columns = {name: Column(places[:, at], "count", "int64") for at, name in enumerate(("shapes", "types", "concrete"))}
    return Timeline(
        tick_s=t.tick_s, start_tick=t.start_tick, duration_tick=t.duration_tick, name=t.name, track=t.track, strings=strings, tracks=t.tracks,
        kind=t.kind, texts=columns,
    )  # fmt: skip


FLOATS = ["float"] * 9
SETTINGS = ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]


@pytest.mark.parametrize(
    ("name", "shapes", "types", "concrete", "flop", "moved"),
    [
        ("aten::mm", [[3, 4], [4, 5]], FLOATS, None, 2 * 3 * 4 * 5, 4 * (12 + 20 + 15)),
        ("aten::mm", [[3, 4], [4, 5]], ["c10::Half", "c10::Half"], None, 120, 2 * 47),
        ("aten::mm", [[3, 4], [4, 5]], None, None, 120, None),
        ("aten::addmm", [[5], [3, 4], [4, 5], [], []], FLOATS, None, 120, 4 * (5 + 12 + 20 + 15)),
        ("aten::bmm", [[7, 3, 4], [7, 4, 5]], FLOATS, None, 7 * 120, 4 * 7 * 47),
        ("aten::baddbmm", [[7, 3, 5], [7, 3, 4], [7, 4, 5]], FLOATS, None, 7 * 120, 4 * 7 * 62),
        ("aten::matmul", [[2, 1, 3, 4], [6, 4, 5]], FLOATS, None, 12 * 120, 4 * (24 + 120 + 180)),
        ("aten::matmul", [[4], [4]], FLOATS, None, 8, 4 * 9),
        ("aten::linear", [[2, 3, 4], [5, 4], [5]], FLOATS, None, 2 * 120, 4 * (24 + 20 + 5 + 30)),
        ("aten::convolution", [[1, 3, 224, 224], [64, 3, 7, 7], []], FLOATS, SETTINGS, None, None),
        ("aten::convolution", [[1, 3, 5, 5], [8, 3, 3, 3], []], FLOATS, SETTINGS, 2 * 8 * 9 * 27, 4 * (75 + 216 + 72)),
        ("aten::convolution", [[1, 3, 5, 5], [8, 3, 3, 3], []], FLOATS, None, None, None),
        ("aten::convolution", [[1, 3, 5, 5], [8, 3, 3, 3], []], FLOATS, [*SETTINGS[:6], "True", "", ""], None, None),
        ("aten::mm", [[3, 4], [5, 5]], FLOATS, None, None, None),
        ("aten::mm", [[3, -4], [-4, 5]], FLOATS, None, None, None),
        ("aten::mm", "nonsense", FLOATS, None, None, None),
        ("aten::mm", [[2**40] * 9, [[]]], FLOATS, None, None, None),
        ("aten::relu", [[3, 4]], FLOATS, None, None, None),
    ],
)
def test_useful_work_follows_from_shapes(name: str, shapes: object, types: object, concrete: object, flop: float | None, moved: float | None) -> None:
    if name == "aten::convolution" and shapes == [[1, 3, 224, 224], [64, 3, 7, 7], []]:  # the first layer of ResNet-50: padding 3
        concrete, flop, moved = [*SETTINGS[:4], "[3, 3]", *SETTINGS[5:]], 2 * 64 * 112 * 112 * 147, 4 * (150528 + 9408 + 802816)
    (use,) = operator_uses(shaped((name, shapes, types, concrete)))
    assert (use.flop, use.moved_bytes) == (flop, moved)


def test_an_operator_and_what_it_calls_are_counted_once() -> None:
    shapes = [[3, 4], [4, 5]]
    t = shaped(("aten::matmul", shapes, FLOATS, None), ("aten::mm", shapes, FLOATS, None), nested=True)
    work = work_of_events(t)
    assert work.flop.tolist() == [120.0, 120.0]
    assert useful_work(t, parents(t), work).tolist() == [True, False]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(timelines(), st.integers(1, 4))
def test_in_batches_as_in_one(monkeypatch: pytest.MonkeyPatch, t: Timeline, size: int) -> None:
    whole = operator_uses(t)
    with monkeypatch.context() as patch:
        patch.setattr("ridgeline.timeline.operators._BATCH", size)
        assert operator_uses(t) == whole
