"""Real profiles of small models: structure, work and bookkeeping; never a time."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from ridgeline.core import OpTable, TargetFailed
from ridgeline.measurement.operators.onnxruntime import profile, profile_session
from ridgeline.targets import parse_target, prepare
from ridgeline.work.onnx import graph
from support.onnx_models import model, tensor

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def options() -> Any:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    return settings


def random(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def saved(found: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save_model(found, path)
    return path


@pytest.fixture
def perceptron(tmp_path: Path) -> Path:
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["a"], name="first"),
        helper.make_node("Erf", ["a"], ["t"], name="bend"),
        helper.make_node("Reshape", ["t", "shape"], ["r"], name="turn"),
        helper.make_node("MatMul", ["r", "w2"], ["y"], name="second"),
    ]
    constants = {"w1": random(16, 32), "b1": random(32), "w2": random(8, 5), "shape": np.array([16, 8], dtype=np.int64)}
    return saved(model(nodes, [tensor("x", 4, 16)], ["y"], constants), tmp_path)


@pytest.fixture
def table(perceptron: Path) -> OpTable:
    return profile_session(perceptron, {"x": random(4, 16)}, options, iterations=6)


def check_sums(found: OpTable) -> None:
    """What must hold for any profile; intervals, since medians of parts do not add exactly."""
    assert found.rows
    assert all(row.total_s.low >= 0 for row in found.rows)
    assert found.operators_s.value <= found.wall_s.value + 1e-6 * sum(row.calls for row in found.rows)
    assert found.check_wall_s is not None
    for index, row in enumerate(found.rows):
        assert index not in row.after
        assert all(0 <= before < len(found.rows) for before in row.after)


def test_rows_are_the_nodes_in_order_with_their_work(table: OpTable) -> None:
    check_sums(table)
    assert [row.kind for row in table.rows] == ["Gemm", "Erf", "Reshape", "MatMul"]
    assert [row.calls for row in table.rows] == [1, 1, 1, 1]
    assert [row.flop for row in table.rows] == [2 * 4 * 16 * 32, 4 * 32, 0, 2 * 16 * 8 * 5]
    assert [row.engine for row in table.rows] == ["fma", "erf", None, "fma"]
    assert [row.after for row in table.rows] == [(), (0,), (1,), (2,)]
    assert [row.placement.precision for row in table.rows] == ["fp32"] * 4
    assert {row.placement.provider for row in table.rows} == {"CPUExecutionProvider"}
    assert {row.placement.threads for row in table.rows} <= {1, None}
    assert table.iterations == 6
    assert not any(row.inserted for row in table.rows)


def test_buffers_are_shared_through_views_and_weights_are_constant(table: OpTable) -> None:
    first, bend, turn, second = table.rows
    assert first.reads is not None
    assert first.writes is not None
    assert bend.reads is not None
    assert bend.writes is not None
    assert second.reads is not None
    assert [(use.size_bytes, use.constant, use.persistent) for use in first.reads] == [
        (4 * 16 * 4, False, True),
        (16 * 32 * 4, True, True),
        (32 * 4, True, True),
    ]
    assert first.writes[0].buffer == bend.reads[0].buffer
    assert (turn.reads, turn.writes) == ((), ())
    # The product reads through the view what erf wrote.
    assert second.reads[0].buffer == bend.writes[0].buffer
    assert second.reads[1].constant


def test_the_target_is_profiled_through_its_flavour(perceptron: Path) -> None:
    prepared = prepare(parse_target(str(perceptron), []))
    found = profile(prepared, iterations=2)
    assert [row.kind for row in found.rows] == ["Gemm", "Erf", "Reshape", "MatMul"]
    assert found.iterations == 2


def test_nodes_of_the_taken_branch_are_rows_with_exclusive_holder(tmp_path: Path) -> None:
    then = helper.make_graph(
        [helper.make_node("MatMul", ["x", "x"], ["m"], name="inside"), helper.make_node("Exp", ["m"], ["t"], name="after")],
        "then", [], [helper.make_tensor_value_info("t", 1, None)],
    )  # fmt: skip
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"], name="never")], "else", [], [helper.make_tensor_value_info("e", 1, None)])
    choose = helper.make_node("If", ["c"], ["i"], name="choose", then_branch=then, else_branch=other)
    nodes = [choose, helper.make_node("Abs", ["i"], ["y"], name="last")]
    path = saved(model(nodes, [tensor("x", 8, 8), tensor("c", dtype="bool")], ["y"]), tmp_path)
    found = profile_session(path, {"x": random(8, 8), "c": np.array(True)}, options, iterations=3)
    check_sums(found)
    rows = {row.kind: row for row in found.rows}
    assert set(rows) == {"If", "MatMul", "Exp", "Abs"}
    assert rows["MatMul"].flop == 2 * 8**3
    positions = {row.kind: index for index, row in enumerate(found.rows)}
    # The result comes from the If and from the node in its branch.
    assert set(rows["Abs"].after) == {positions["If"], positions["Exp"]}


@pytest.fixture
def looping(tmp_path: Path) -> Path:
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", "s"], ["s2"], name="product"), helper.make_node("Identity", ["go"], ["go2"], name="on")],
        "body",
        [tensor("i", dtype="int64"), tensor("go", dtype="bool"), tensor("s", 4, 4)],
        [tensor("go2", dtype="bool"), tensor("s2", 4, 4)],
    )
    node = helper.make_node("Loop", ["m", "", "x"], ["y"], name="loop", body=body)
    return saved(model([node], [tensor("x", 4, 4), tensor("m", dtype="int64")], ["y"]), tmp_path)


def test_a_loop_counts_its_calls(looping: Path) -> None:
    found = profile_session(looping, {"x": np.eye(4, dtype=np.float32), "m": np.array(5)}, options, iterations=3)
    product = next(row for row in found.rows if row.kind == "MatMul")
    assert product.calls == 5
    assert product.flop == 5 * 2 * 64
    assert found.iterations == 3


@pytest.mark.parametrize(("steps", "iterations"), [(2, 9), (40, 4), (100, 1)])
def test_a_long_loop_is_profiled_for_fewer_runs(looping: Path, monkeypatch: pytest.MonkeyPatch, steps: int, iterations: int) -> None:
    # A step has two nodes; 405 events hold five runs of 40 steps and their Loop.
    monkeypatch.setattr("ridgeline.measurement.operators.onnxruntime.table._MOST_EVENTS", 405)
    found = profile_session(looping, {"x": np.eye(4, dtype=np.float32), "m": np.array(steps)}, options, iterations=9)
    assert found.iterations == iterations
    assert next(row for row in found.rows if row.kind == "MatMul").calls == steps


def test_names_show_what_was_fused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], name="conv1"), helper.make_node("Relu", ["a"], ["y"], name="relu1")]
    path = saved(model(nodes, [tensor("x", 1, 3, 8, 8)], ["y"], {"w": random(4, 3, 3, 3)}), tmp_path)
    found = profile_session(path, {"x": random(1, 3, 8, 8)}, options, iterations=2)
    conv = next(row for row in found.rows if "Conv" in row.kind)
    assert conv.name == "conv1 (fused: conv1+relu1)"
    # Four channels are padded to the width of the vector unit where the layout is blocked; only four are useful.
    assert conv.flop == 2 * 27 * 4 * 36
    assert all(row.inserted for row in found.rows if row.kind.startswith("Reorder"))


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_work_of_what_ran_is_the_work_of_the_model(name: str) -> None:
    path = LIGHT / f"light_{name}.onnx"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = session.get_inputs()[0]
    found = profile_session(path, {feed.name: random(*feed.shape)}, options, iterations=2)
    check_sums(found)
    assert sum(row.flop or 0 for row in found.rows if row.engine == "fma") == graph(path).flop
    assert not [row.name for row in found.rows if row.flop is None or row.reads is None or row.writes is None]


def packaged(package: str, pattern: str) -> Path | None:
    """A model inside an installed package; nothing of the package is imported."""
    spec = find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return next((path for folder in folders for path in Path(folder).glob(pattern)), None)


TRAINED = [
    ("magika", "models/*/model.onnx", {"bytes": np.ones((1, 2048), dtype=np.int32)}),
    ("silero_vad", "data/silero_vad_16k_op15.onnx", {"input": random(1, 512), "state": random(2, 1, 128), "sr": np.array(16000)}),
    ("rapidocr_onnxruntime", "models/*det*.onnx", {"x": random(1, 3, 96, 96)}),
    ("rapidocr_onnxruntime", "models/*rec*.onnx", {"x": random(1, 3, 48, 96)}),
    ("rapidocr_onnxruntime", "models/*cls*.onnx", {"x": random(1, 3, 48, 96)}),
]


@pytest.mark.parametrize(("package", "pattern", "feeds"), TRAINED, ids=[f"{package}:{pattern}" for package, pattern, _ in TRAINED])
def test_work_of_what_ran_is_the_work_of_a_trained_model(package: str, pattern: str, feeds: dict[str, Any]) -> None:
    path = packaged(package, pattern)
    if path is None:
        pytest.skip(f"the package {package}, which carries a trained model, is not installed")
    found = profile_session(path, feeds, options, iterations=2)
    check_sums(found)
    counted = graph(path, {name: array.shape for name, array in feeds.items()})
    assert counted.unknown == ()
    assert sum(row.flop or 0 for row in found.rows if row.engine == "fma") == counted.flop
    assert not [row.name for row in found.rows if row.flop is None or row.reads is None or row.writes is None]


def test_a_model_that_does_not_run_is_the_targets_failure(perceptron: Path) -> None:
    with pytest.raises(TargetFailed):
        profile_session(perceptron, {"x": random(4, 17)}, options, iterations=1)
    with pytest.raises(TargetFailed):
        profile_session(perceptron, {"wrong": random(4, 16)}, options, iterations=1)


def test_nothing_is_left_behind(perceptron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.chdir(folder)
    profile_session(perceptron, {"x": random(4, 16)}, options, iterations=1)
    assert list(folder.iterdir()) == []
