"""Graphs of optimised models against the profile of the runtime that wrote them: shapes and kinds, node by node."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="onnxruntime, which optimises the models, is not installed")

from ridgeline.core import Graph, Op
from ridgeline.work.onnx import graph
from support.optimised import MODELS, Executed, Shape, optimise_and_run


def differences(found: Graph, executed: list[Executed]) -> list[str]:
    """What the profile says otherwise than the graph."""
    tensors = {tensor.name: tensor for tensor in found.tensors}
    ops = {op.name: op for op in found.ops}
    wrong = [f"{name} did not run" for name in ops.keys() - {one.name for one in executed}]
    for one in executed:
        op = ops.get(one.name)
        if op is None or op.kind.rpartition(":")[2] != one.kind:
            wrong.append(f"{one.kind} {one.name} is not in the graph")
        elif tuple(tensors[name].shape for name in op.outputs if name) != one.outputs:
            wrong.append(f"{one.kind} {one.name}: {[tensors[name].shape for name in op.outputs]}, executed {one.outputs}")
        elif not _read(op, one.inputs, tensors):
            wrong.append(f"{one.kind} {one.name}: reads {[tensors[name].shape for name in op.inputs if name]}, executed {one.inputs}")
    return wrong


def _read(op: Op, executed: tuple[Shape, ...], tensors: dict[str, object]) -> bool:
    """Whether the operands are those of the profile, from which constants may be missing."""
    left = list(executed)
    for name in filter(None, op.inputs):
        if left and tensors[name].shape == left[0]:
            left.pop(0)
        elif not tensors[name].constant:
            return False
    return not left


@pytest.mark.parametrize("name", MODELS)
def test_every_node_is_as_it_was_executed(name: str, tmp_path: Path) -> None:
    make, shapes = MODELS[name]
    path, executed = optimise_and_run(make(), tmp_path, shapes)
    found = graph(path, shapes)
    assert differences(found, executed) == []
    assert found.unknown == ()
    assert all(op.read_bytes is not None and op.write_bytes is not None for op in found.ops)


@pytest.mark.parametrize("name", ["residual", "transformer", "dynamic", "recurrent", "products", "old products"])
def test_optimising_changes_no_useful_work(name: str, tmp_path: Path) -> None:
    """Where all channels fill the blocks or stand beside a reorder."""
    make, shapes = MODELS[name]
    before = graph(make(), shapes)
    path, _ = optimise_and_run(make(), tmp_path, shapes)
    after = graph(path, shapes)
    assert after.flop == before.flop or any("pad the block" in op.reason for op in after.ops)


def test_channels_that_only_pad_are_no_useful_work(tmp_path: Path) -> None:
    make, shapes = MODELS["convolutions"]
    before = graph(make(), shapes)
    path, _ = optimise_and_run(make(), tmp_path, shapes)
    after = graph(path, shapes)
    unsure = [op for op in after.ops if "pad the block" in op.reason]
    executed = sum(op.flop or 0.0 for op in unsure)
    assert before.flop <= after.flop <= before.flop + executed


def test_what_is_fused_stays_in_the_attributes(tmp_path: Path) -> None:
    make, shapes = MODELS["residual"]
    path, _ = optimise_and_run(make(), tmp_path, shapes)
    found = graph(path, shapes)
    fused = [op for op in found.ops if op.kind.endswith("Conv") and len(op.inputs) > 3]
    if not any(op.kind == "com.microsoft.nchwc:Conv" for op in found.ops):
        pytest.skip("onnxruntime has no blocked layout on this CPU")
    assert fused
    assert all(op.attributes["activation"] == "Relu" for op in fused)
    tensors = {tensor.name: tensor for tensor in found.tensors}
    for op in fused:  # the sum that is fused in is read
        assert op.read_bytes == sum(tensors[name].size_bytes or 0 for name in op.inputs)
