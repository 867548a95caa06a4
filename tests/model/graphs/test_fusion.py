"""What is said a runtime makes of a graph against what onnxruntime makes of it, and against what the graph still does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Graph, Op, Tensor, UsageError, Workload
from ridgeline.model.graphs.fusion import RUNTIMES, Fused, fused
from ridgeline.model.graphs.workloads import workloads

onnx = pytest.importorskip("onnx", reason="onnx, which makes the models, is not installed")
from ridgeline.work.onnx import graph  # noqa: E402
from support.optimised import MODELS, Builder, optimise_and_run  # noqa: E402


def kinds(found: Graph) -> Counter[str]:
    return Counter(op.kind for op in found.ops)


def block_of(real: Graph) -> int:
    """Channels of a block in what onnxruntime wrote on this CPU; 0 if it has no such layout."""
    tensors = {tensor.name: tensor for tensor in real.tensors}
    filters = [tensors[op.inputs[1]].shape[0] for op in real.ops if op.kind == "com.microsoft.nchwc:Conv"]
    return 0 if not filters else 16 if all(count % 16 == 0 for count in filters) else 8


def bound(model: Any, shapes: dict[str, tuple[int, ...]]) -> Any:
    """The model as if exported with these shapes."""
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False):
            dim.ClearField("dim_param")
            dim.dim_value = size
    return model


# Quantised convolutions run with channels last on some CPUs; the transposes around them are not said.
@pytest.mark.parametrize("fixed", [False, True], ids=["free", "fixed"])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "quantised"])
def test_it_is_what_onnxruntime_makes(name: str, fixed: bool, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime, which says it, is not installed")
    make, shapes = MODELS[name]
    path, _ = optimise_and_run(bound(make(), shapes) if fixed else make(), tmp_path, shapes)
    real = graph(path, shapes)
    found = fused(graph(make(), shapes), block=block_of(real), fixed=fixed)
    assert kinds(found.graph) == kinds(real)
    tensors = [{tensor.name: tensor for tensor in each.tensors} for each in (found.graph, real)]

    def results(each: Graph, of: dict[str, Tensor]) -> Counter[tuple[str, Any]]:
        return Counter((op.kind, of[op.outputs[0]].shape) for op in each.ops)

    assert results(found.graph, tensors[0]) == results(real, tensors[1])


def test_quantised_operators_run_on_integers() -> None:
    found = kinds(fused(graph(MODELS["quantised"][0](), {})).graph)
    assert found["QLinearConv"] == 2
    assert found["QLinearMatMul"] == found["com.microsoft:QLinearAdd"] == found["com.microsoft:QLinearConcat"] == 1


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", MODELS)
def test_laws(name: str, runtime: str) -> None:
    make, shapes = MODELS[name]
    before = graph(make(), shapes)
    after, members = fused(before, runtime)
    # No operator is in two kernels, and useful products are neither lost nor made, but for factors that become convolutions.
    every = [member for group in members.values() for member in group]
    assert len(every) == len(set(every))
    assert set(every) <= {op.name for op in before.ops}
    assert members.keys() == {op.name for op in after.ops}
    assert after.flop == before.flop
    # What is read is made before, and every result is there.
    there = {*after.inputs, *(tensor.name for tensor in after.tensors if tensor.constant), ""}
    for op in after.ops:
        assert there.issuperset(op.inputs), op
        there.update(op.outputs)
    assert there.issuperset(after.outputs)
    assert all(op.read_bytes is not None and op.write_bytes is not None for op in after.ops)
    assert len(after.ops) <= len(before.ops) + sum(not group for group in members.values())
    assert all(isinstance(each, Workload) or each.idle or "no model knows" in each.reason for each in workloads(after))


def test_runtimes_join_more_and_more() -> None:
    make, shapes = MODELS["residual"]
    before = graph(make(), shapes)
    eager, compiled, npu = (len(fused(before, runtime).graph.ops) for runtime in ("torch", "torch.compile", "npu"))
    assert len(before.ops) >= eager > compiled > npu


def test_an_accelerator_finishes_a_convolution_with_all_that_follows() -> None:
    b = Builder(x=(1, 8, 6, 6), y=(1, 8, 6, 6))
    model = b.model(b.add("Relu", b.add("Add", b.norm(b.conv("x", 8, 8), 8), "y")))
    after, members = fused(graph(model), "npu")
    (op,) = after.ops
    assert op.kind == "Conv+Add+Relu"
    assert len(members[op.name]) == 4
    (only,) = workloads(after)
    assert isinstance(only, Workload)
    assert (only.kind, only.variant) == ("convolution", "Conv+Add+Relu")


def test_a_convolution_that_others_read_stays_by_itself() -> None:
    b = Builder(x=(1, 16, 6, 6))
    conv = b.conv("x", 16, 16)
    model = b.model(b.add("Relu", conv), b.add("Exp", conv))
    assert kinds(fused(graph(model), block=0).graph) == Counter({"Conv": 1, "Relu": 1, "Exp": 1})


def test_what_the_whole_graph_gives_stays() -> None:
    b = Builder(x=(1, 16, 6, 6))
    conv = b.conv("x", 16, 16)
    model = b.model(conv, b.add("Relu", conv))
    found = fused(graph(model), block=16).graph
    layout = "com.microsoft.nchwc:"
    assert kinds(found) == Counter({layout + "Conv": 1, "Relu": 1, layout + "ReorderInput": 1, layout + "ReorderOutput": 2})
    assert found.outputs == graph(model).outputs


_CHANNELS = [(3, 1, True), (18, 1, False), (20, 1, True), (32, 2, True), (48, 4, False), (24, 24, True)]


@pytest.mark.parametrize(("channels", "group", "within"), _CHANNELS)
def test_which_convolutions_go_into_the_blocked_layout(channels: int, group: int, within: bool) -> None:
    b = Builder(x=(1, channels, 6, 6))
    model = b.model(b.conv("x", channels, channels if group > 1 else 40, group=group))
    assert (kinds(fused(graph(model), block=16).graph)["com.microsoft.nchwc:Conv"] == 1) is within


def test_what_is_no_question_is_refused() -> None:
    empty = Graph(name="none", ops=(), tensors=())
    with pytest.raises(UsageError, match="onnxruntime"):
        fused(empty, "no such runtime")
    with pytest.raises(UsageError):
        fused(empty, block=3)
    assert fused(empty) == Fused(empty, {})


_KINDS = [
    "Conv", "Add", "Relu", "Mul", "MatMul", "Identity", "Sigmoid", "Reshape", "Transpose", "Concat", "BatchNormalization", "Erf", "Sqrt", "MaxPool",
    "MatMulInteger", "DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear", "Slice", "Cast", "If", "LayerNormalization",
]  # fmt: skip
_OPS = st.lists(st.tuples(st.sampled_from(_KINDS), st.lists(st.integers(0, 9), max_size=5)), max_size=10)


@given(_OPS, st.sampled_from(list(RUNTIMES)), st.booleans())
def test_nonsense_is_survived(ops: list[tuple[str, list[int]]], runtime: str, fixed: bool) -> None:
    """Operators with too few operands, or others than their kind has: nothing is said about them, and nothing breaks."""
    names = ["x", "w"]
    made = []
    for number, (kind, operands) in enumerate(ops):
        made.append(Op(name=f"o{number}", kind=kind, inputs=tuple(names[each % len(names)] for each in operands), outputs=(f"v{number}",)))
        names.append(f"v{number}")
    tensors = [Tensor(name=name, shape=(1, 16, 4, 4) if len(name) % 2 else None, dtype="float32", constant=name == "w") for name in names]
    found = fused(Graph(name="g", ops=tuple(made), tensors=tuple(tensors), inputs=("x",), outputs=tuple(names[-1:])), runtime, fixed=fixed)
    assert len([member for group in found.members.values() for member in group]) <= len(ops)
