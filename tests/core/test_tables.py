"""Samples and Timeline refuse what would only fail far from where it was made."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ridgeline.core import Column, Graph, Links, Op, Tensor, Timeline, Track, UsageError
from ridgeline.core.samples import FLAG_GC, FLAG_PREEMPTED, FLAG_STOLEN, FLAG_THROTTLED, FLAG_WARMUP, Samples


def samples(**change: object) -> Samples:
    good: dict[str, object] = {
        "wall_s": Column([1.0, 3.0], "s"),
        "start_s": Column([0.0, 1.0], "s"),
        "process": Column([0, 0], "count"),
        "inner": Column([1, 4], "count"),
    }
    return Samples(**{**good, **change})  # type: ignore[arg-type]


def timeline(**change: object) -> Timeline:
    good: dict[str, object] = {
        "tick_s": 1e-9,
        "start_tick": Column([0, 5], "count"),
        "duration_tick": Column([5, 7], "count"),
        "name": Column([0, 1], "count"),
        "track": Column([0, 0], "count"),
        "strings": ("a", "b"),
        "tracks": (Track(name="main"),),
        "links": Links(source=Column([0], "count"), target=Column([1], "count")),
    }
    return Timeline(**{**good, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"start_s": Column([0.0], "s")},
        {"flags": Column([0], "count")},
        {"wall_s": Column([1.0, -1.0], "s")},
        {"inner": Column([1, 0], "count")},
        {"inner": Column([1.0, 1.0], "count")},
    ],
)
def test_samples_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    assert len(samples()) == 2
    with pytest.raises(UsageError):
        samples(**change)


def test_means_weigh_sums_by_inner_iterations() -> None:
    taken = samples(thread_cpu_s=Column([2.0, 8.0], "s"))
    assert taken.mean("wall_s") == 2.0
    assert taken.mean("thread_cpu_s") == 10.0 / 5
    assert taken.mean("system_s") is None
    empty = Column(np.zeros(0), "s")
    whole = Column(np.zeros(0, "i8"), "count")
    assert Samples(wall_s=empty, start_s=empty, process=whole, inner=whole).mean("wall_s") is None


@pytest.mark.parametrize(
    "change",
    [
        {"duration_tick": Column([5], "count")},
        {"start_tick": Column([0.0, 5.0], "count")},
        {"duration_tick": Column([5, -1], "count")},
        {"name": Column([0, 2], "count")},
        {"name": Column([0, -1], "count")},
        {"name": Column([0.0, 1.0], "count")},
        {"track": Column([0, 1], "count")},
        {"tracks": ()},
        {"tick_s": 0.0},
        {"tick_s": -1e-9},
        {"tick_s": math.nan},
        {"tick_s": math.inf},
        {"links": Links(source=Column([0], "count"), target=Column([2], "count"))},
        {"links": Links(source=Column([0], "count"), target=Column([1, 1], "count"))},
    ],
)
def test_timelines_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    assert len(timeline()) == 2
    with pytest.raises(UsageError):
        timeline(**change)


def test_an_empty_timeline_is_a_timeline() -> None:
    none = Column(np.zeros(0, "i8"), "count")
    assert len(timeline(start_tick=none, duration_tick=none, name=none, track=none, strings=(), tracks=(), links=None)) == 0


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ((2, 3), "float32", 24),
        ((), "float64", 8),
        ((3,), "int4", 2),
        ((0, 5), "int8", 0),
        (("N", 3), "float32", None),
        (None, "float32", None),
        ((2,), "odd", None),
    ],
)
def test_the_size_of_a_tensor_is_elements_times_bytes_or_unknown(shape: tuple[int | str, ...] | None, dtype: str, size: int | None) -> None:
    assert Tensor(name="t", shape=shape, dtype=dtype).size_bytes == size


def test_a_graph_finds_its_tensors_or_says_which_are_missing() -> None:
    graph = Graph(name="g", ops=(Op(name="o", kind="Relu", inputs=("x",), outputs=("y",)),), tensors=(Tensor(name="x", shape=(1,), dtype="float32"),))
    assert graph.tensor("x").shape == (1,)
    with pytest.raises(UsageError, match="y"):
        graph.tensor("y")


def test_disturbed_samples_are_those_that_were_flagged_or_waited_for_a_cpu() -> None:
    ones = Column([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "s")
    taken = samples(
        wall_s=ones,
        start_s=ones,
        process=Column([0] * 6, "count"),
        inner=Column([1, 1, 1, 1, 1, 10], "count"),
        flags=Column([0, FLAG_PREEMPTED, FLAG_STOLEN, FLAG_THROTTLED | FLAG_GC, FLAG_GC | FLAG_WARMUP, 0], "count"),
        run_queue_s=Column([0.06, 0.0, 0.0, 0.0, 0.05, 0.06], "s"),
    )
    assert taken.disturbed().tolist() == [True, True, True, True, False, False]
