"""Traces as files: how many calls they hold where a call has many events, and that those of the two frameworks are told apart by their readers."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from ridgeline.core import TargetFailed
from ridgeline.readers.reading import read_profile
from ridgeline.timeline.iterations import iterations

onnx = pytest.importorskip("onnx", reason="the models of the tests are made with onnx")


def steps(file: Path) -> int:
    profile = read_profile(file)
    assert profile.timeline is not None
    found = iterations(profile.timeline)
    return len(found.spans_s) if found is not None else 0


@pytest.mark.parametrize(("most", "calls"), [(1000, 6), (25, 2), (1, 1)])
def test_torch_records_fewer_calls_where_one_has_many_operators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, calls: int) -> None:
    torch = pytest.importorskip("torch", reason="a PyTorch function to record")
    from ridgeline.measurement.operators.torch import record_trace, recording

    def call() -> object:
        value = torch.ones(2)
        for _ in range(9):
            value = value.neg()
        return value

    monkeypatch.setattr(recording, "_MOST_RECORDS", most)
    waited = []
    walls = record_trace(call, tmp_path / "trace.json", 6, synchronise=waited.append)
    assert len(walls) == calls == steps(tmp_path / "trace.json") or (calls, len(walls)) == (1, 1)
    # One more, which told how many events a call has.
    assert len(waited) == calls + 1


def test_torch_records_fewer_calls_where_they_take_long_under_the_profiler(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="a PyTorch function to record")
    from ridgeline.measurement.operators.torch import record_trace

    def call() -> object:
        time.sleep(0.02)
        return torch.ones(2).neg()

    assert len(record_trace(call, tmp_path / "trace.json", 6, seconds=0.01)) == 1
    assert len(record_trace(call, tmp_path / "trace.json", 6, seconds=60)) == 6


def _loop(path: Path, rounds: int) -> Path:
    """A model whose loop runs one node so many times."""
    from support.onnx_models import model, tensor

    helper = onnx.helper
    body = helper.make_graph(
        [helper.make_node("Sin", ["a"], ["b"], name="inner"), helper.make_node("Identity", ["go"], ["on"], name="again")],
        "body",
        [tensor("i", dtype="int64"), tensor("go", dtype="bool"), tensor("a", 4)],
        [tensor("on", dtype="bool"), tensor("b", 4)],
    )
    nodes = [helper.make_node("Loop", ["n", "yes", "x"], ["y"], name="loop", body=body)]
    onnx.save(model(nodes, [tensor("x", 4)], ["y"], {"n": np.array(rounds), "yes": np.array(True)}), path)
    return path


@pytest.mark.parametrize(("most", "calls", "before"), [(100_000, 5, 1), (80, 3, 1), (5, 1, 1)])
def test_onnxruntime_records_fewer_runs_where_a_loop_has_many_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, calls: int, before: int
) -> None:
    pytest.importorskip("onnxruntime", reason="an ONNX model to record")
    from ridgeline.measurement.operators.onnxruntime import record_trace, recording
    from ridgeline.targets import parse_target, prepare

    prepared = prepare(parse_target(str(_loop(tmp_path / "loop.onnx", 9))))
    monkeypatch.setattr(recording, "_MOST_EVENTS", most)
    folder = tmp_path / "out"
    folder.mkdir()
    found = record_trace(prepared.flavour, folder, 5)
    assert (len(found.walls_s), found.warm_up) == (calls, before)
    assert steps(found.file) == calls + before


def test_a_workload_that_uses_the_profiler_itself_is_told_so(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="a PyTorch function to record")
    from ridgeline.measurement.operators.torch import record_trace

    def call() -> object:
        with torch.profiler.profile():
            return torch.ones(2).neg()

    with pytest.raises(TargetFailed, match="starts torch's profiler itself"):
        record_trace(call, tmp_path / "trace.json", 3)
