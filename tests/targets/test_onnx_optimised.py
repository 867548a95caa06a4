"""The graph that onnxruntime makes of a model: from a process of its own, which a hostile model may take down and which answers for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx, which makes the models, is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime, which optimises the models, is not installed")

from ridgeline.core import Graph, ReadError, TargetFailed, UsageError  # noqa: E402
from ridgeline.machine import Limits  # noqa: E402
from ridgeline.targets.onnx_optimised import optimised_onnx  # noqa: E402
from ridgeline.work.onnx import graph  # noqa: E402
from support.onnx_models import model, tensor  # noqa: E402
from support.optimised import MODELS, optimise_and_run  # noqa: E402


def saved(name: str, folder: Path) -> str:
    path = folder / "model.onnx"
    onnx.save(MODELS[name][0](), path)
    return str(path)


def kinds(found: Graph) -> list[str]:
    return sorted(op.kind for op in found.ops)


@pytest.mark.parametrize("name", ["residual", "recurrent"])
def test_it_is_the_graph_that_runs(name: str, tmp_path: Path) -> None:
    shapes = MODELS[name][1]
    found = optimised_onnx(saved(name, tmp_path), shapes)
    path, executed = optimise_and_run(MODELS[name][0](), tmp_path, shapes)
    assert sorted(kind.rpartition(":")[2] for kind in kinds(found)) == sorted(one.kind for one in executed)
    assert found.flop == graph(path, shapes).flop
    assert found.unknown == ()


def test_a_model_of_fixed_shapes_computes_none(tmp_path: Path) -> None:
    nodes = [
        onnx.helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), onnx.helper.make_node("Shape", ["t"], ["s"]),
        onnx.helper.make_node("ConstantOfShape", ["s"], ["c"]), onnx.helper.make_node("Add", ["t", "c"], ["y"]),
    ]  # fmt: skip
    path = tmp_path / "model.onnx"
    onnx.save(model(nodes, [tensor("x", "n", 3)], ["y"]), path)
    free, fixed = (optimised_onnx(str(path), {"x": (5, 3)}, fixed=each) for each in (False, True))
    assert {"Shape", "ConstantOfShape"} <= set(kinds(free))
    assert {"Shape", "ConstantOfShape"}.isdisjoint(kinds(fixed))
    assert free.unknown == fixed.unknown == ()


def test_one_that_is_made_once_is_made_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved("recurrent", tmp_path)
    made: dict[str, Graph] = {}
    first = optimised_onnx(path, {"x": (9, 2, 12)}, made=made)
    assert optimised_onnx(path, {"x": (9, 2, 12)}, made=made) is first
    other = optimised_onnx(path, {"x": (4, 2, 12)}, made=made)
    assert other.flop < first.flop
    assert len(made) == 2
    path = saved("dynamic", tmp_path)  # another content under the same name
    assert kinds(optimised_onnx(path, {"x": (1, 3, 12, 12)}, made=made)) != kinds(first)


def test_what_is_no_model_is_said(tmp_path: Path) -> None:
    whole = Path(saved("residual", tmp_path)).read_bytes()
    for content in (b"", b"not a model at all" * 100, whole[: len(whole) // 2]):
        path = tmp_path / "broken.onnx"
        path.write_bytes(content)
        for fixed in (False, True):
            with pytest.raises(ReadError):
                optimised_onnx(str(path), fixed=fixed)
    with pytest.raises(ReadError, match="No such file"):
        optimised_onnx(str(tmp_path / "absent.onnx"))


def test_shapes_that_do_not_fit_are_said(tmp_path: Path) -> None:
    path = saved("recurrent", tmp_path)
    for fixed in (False, True):
        with pytest.raises(UsageError):
            optimised_onnx(path, {"no input": (1,)}, fixed=fixed)
        with pytest.raises(UsageError):
            optimised_onnx(path, {"x": (1, 3, 12)}, fixed=fixed)


def test_a_model_that_wants_more_memory_than_there_is_ends_its_own_process(tmp_path: Path) -> None:
    huge = np.array([2**16, 2**16, 4], np.int64)
    nodes = [
        onnx.helper.make_node("ConstantOfShape", ["huge"], ["c"]), onnx.helper.make_node("ReduceSum", ["c"], ["s"], keepdims=0),
        onnx.helper.make_node("Add", ["x", "s"], ["y"]),
    ]  # fmt: skip
    path = tmp_path / "huge.onnx"
    onnx.save(model(nodes, [tensor("x", 3)], ["y"], {"huge": huge}), path)
    try:
        found = optimised_onnx(str(path), limits=Limits(wall_s=60, memory_bytes=2**31))
    except (ReadError, TargetFailed):
        return
    assert kinds(found)  # a release that folds nothing that large


def test_time_is_limited(tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match="still running"):
        optimised_onnx(saved("residual", tmp_path), limits=Limits(wall_s=0.01))
