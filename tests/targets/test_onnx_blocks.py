"""Operators alone, as blocks: each is the workload that was asked for, runs, and touches what it says."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from ridgeline.core import UsageError, Workload
from ridgeline.model.design import FORMS
from ridgeline.model.design.drawing import first
from ridgeline.model.families import sizes_of
from ridgeline.model.graphs.workloads import workloads
from ridgeline.targets.onnx_blocks import Order, block, size_of
from ridgeline.targets.onnx_blocks.nodes import values, weights

onnx = pytest.importorskip("onnx", reason="onnx, which makes the models, is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime, which runs the blocks, is not installed")

from ridgeline.work.onnx import graph  # noqa: E402

ORDERS: tuple[Order, ...] = ("turn", "first", "kept")


def drawn(form: str, count: int) -> list[Workload]:
    """The first workloads of one form's design, without those that take long to make here."""
    (chosen,) = [each for each in FORMS if each.name == form]
    found = (work for _, work in first(7, [chosen]))
    return list(itertools.islice((work for work in found if sum(size_of(work)) < 4e6), count))


def read_back(model: bytes) -> list[Any]:
    """The operators, without those that write their inputs."""
    read = graph(onnx.load_from_string(model))
    return [found for op, found in zip(read.ops, workloads(read), strict=True) if isinstance(found, Workload) and not op.name.startswith("written")]


@pytest.mark.parametrize("form", [form.name for form in FORMS if form.name != "call"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_block_holds_what_was_asked(form: str, order: Order) -> None:
    """A model of the operator is read back as the operator; for every form of the design."""
    for work in drawn(form, 6):
        made = block(work, 3, order=order)
        found = read_back(made.model)
        assert len(found) == 3, work
        for each in found:
            assert (each.kind, each.variant, each.layout, each.precision) == (work.kind, work.variant, work.layout, work.precision)
            assert each.weight_precision == work.weight_precision
            theirs, ours = sizes_of(each.kind, each.sizes), sizes_of(work.kind, work.sizes)
            if work.sizes.get("elements") != 1:  # one element is both a scalar and the whole
                assert {name: float(size) for name, size in theirs.items()} == {name: float(size) for name, size in ours.items()}, work


@pytest.mark.parametrize("form", [form.name for form in FORMS])
def test_a_block_runs(form: str) -> None:
    """onnxruntime takes each block as it is, and every copy gives a result of the shape that is said."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    for work in drawn(form, 2):
        made = block(work, 2, order="kept")
        session = onnxruntime.InferenceSession(made.model, options, providers=["CPUExecutionProvider"])
        (shape,) = session.run(None, made.feeds)
        assert len(shape) > 0 or work.sizes.get("elements") == 1
        assert {given.name for given in session.get_inputs()} == set(made.feeds)
        if made.writers:
            alone = onnxruntime.InferenceSession(made.writers, options, providers=["CPUExecutionProvider"])
            alone.run(None, {given.name: made.feeds[given.name] for given in alone.get_inputs()})


def test_values_are_those_of_networks() -> None:
    """Many different ones, weights on both sides of 0, bytes of all sizes, indices that any table of two rows has."""
    work = Workload(kind="gemm", variant="Gemm", sizes={"m": 64, "n": 300, "k": 300})
    kept = {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load_from_string(block(work, 2).model).graph.initializer}
    matrix = kept["operand1_0"]
    assert len(set(matrix.ravel().tolist())) > 80_000
    assert abs(float(matrix.mean())) < 1e-3
    assert float(abs(matrix).max()) < 1.0
    assert all(abs(value) > 1e-37 for value in matrix.ravel().tolist())
    assert (matrix != kept["operand1_1"]).mean() > 0.99, "equal weights would be kept once"
    whole = block(Workload(kind="gemm", variant="MatMulInteger", precision="int8", sizes={"m": 8, "n": 64, "k": 64}), 1)
    bytes_ = next(onnx.numpy_helper.to_array(each) for each in onnx.load_from_string(whole.model).graph.initializer if each.name == "operand1_0")
    assert (int(bytes_.min()), int(bytes_.max())) == (-128, 127)
    mask = block(Workload(kind="elementwise", variant="Where", sizes={"elements": 10_000, "inputs": 3}), 1).feeds["operand0"]
    turns = int((mask[1:] != mask[:-1]).sum())
    assert 0 < turns < len(mask) / 64, "a processor foresees a mask that holds for long, as those of models do"
    places = block(Workload(kind="gather", variant="Gather", sizes={"rows": 2, "width": 4, "indices": 30}), 1).feeds["operand1"]
    assert set(places.tolist()) == {0, 1}


def test_long_operands_begin_elsewhere_too() -> None:
    """Longer than what is kept of the drawn values, and of another copy: still different, and all there."""
    one, two = (values(weights(2**23 + 5), number) for number in (0, 1))
    assert len(one) == len(two) == 2**23 + 5
    assert (one != two).mean() > 0.99
    short = values(weights(1000), 1)
    assert (short == two[:1000]).all()


def test_what_a_block_touches() -> None:
    """Weights are each copy's own, inputs written from one that all share; bytes by hand for a product of 8 × 16 by 16 × 4."""
    work = Workload(kind="gemm", variant="MatMul", sizes={"m": 8, "n": 4, "k": 16})
    weights, inputs, results = 16 * 4 * 4, 8 * 16 * 4, 8 * 4 * 4
    assert size_of(work) == (weights, inputs, results)
    near, fresh, kept = (block(work, 5, order=order) for order in ORDERS)
    assert near.work.reuse_bytes == 5 * weights + 2 * inputs + results
    assert near.work.age_bytes == weights + inputs + results
    assert fresh.work.reuse_bytes == 5 * weights + 6 * inputs + results
    # Of the four other copies two are written and two run in between.
    assert fresh.work.age_bytes == weights + inputs + results + 2 * inputs + 2 * (weights + inputs + results)
    assert kept.work.reuse_bytes == 5 * (weights + inputs + results) + inputs
    assert kept.work.age_bytes == weights + inputs + results
    assert near.work.result_age_bytes == weights + 2 * inputs + results
    assert kept.work.result_age_bytes == kept.work.reuse_bytes
    assert set(near.feeds) == set(fresh.feeds) == set(kept.feeds) == {"operand0"}


def test_a_sweep_comes_first_and_is_taken_off(tmp_path: Path) -> None:
    """What is read before the block is touched between two executions, and is in what is measured beside; nothing else of the operator changes."""
    work = Workload(kind="gemm", variant="MatMul", sizes={"m": 8, "n": 4, "k": 16})
    for order in ORDERS:
        plain, made = block(work, 3, order=order), block(work, 3, order=order, swept_bytes=2_000_000)
        assert made.work.reuse_bytes == (plain.work.reuse_bytes or 0) + 2_000_000
        assert (made.work.age_bytes, made.work.result_age_bytes) == (plain.work.age_bytes, plain.work.result_age_bytes)
        assert made.feeds["swept"].nbytes == pytest.approx(2_000_000, rel=0.2)
        for model in (made.model, made.writers):
            read = {given.name: made.feeds[given.name] for given in onnx.load_from_string(model).graph.input}
            assert ran(model, read, tmp_path)[0] == "swept"
    unwritten = block(Workload(kind="call", sizes={"nodes": 2}), 2, swept_bytes=2_000_000)
    assert ran(unwritten.writers, {"swept": unwritten.feeds["swept"]}, tmp_path) == ["swept"]


def ran(model: bytes, feeds: dict[str, Any], folder: Path) -> list[str]:
    """Names of the nodes in the order in which onnxruntime ran them, without those that only see or free what others wrote."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED
    options.log_severity_level, options.enable_profiling, options.profile_file_prefix = 4, True, str(folder / "p")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session.run(None, feeds)
    events = json.loads(Path(session.end_profiling()).read_bytes())
    nodes = [each for each in events if each.get("cat") == "Node" and each["name"].endswith("_kernel_time")]
    return [each["name"].removesuffix("_kernel_time") for each in nodes if each["args"]["op_name"] not in ("Shape", "Reshape")]


@pytest.mark.parametrize("order", ORDERS)
def test_inputs_are_written_by_an_operator_before(order: Order, tmp_path: Path) -> None:
    """Just before each of the operators, or all before the first, and so it is run; the model that is taken off is the rest."""
    work = Workload(kind="elementwise", variant="Add", sizes={"elements": 100, "inputs": 2})
    made = block(work, 3, order=order)
    model, writers = onnx.load_from_string(made.model), onnx.load_from_string(made.writers)
    for node in model.graph.node:
        assert node.op_type != "Add" or all(name.startswith("written") for name in node.input)
    writes, adds = [[f"written{place}_{number}" for place in range(2)] for number in range(3)], [f"node{number}" for number in range(3)]
    turns = [*writes[0], adds[0], *writes[1], adds[1], *writes[2], adds[2]]
    assert ran(made.model, made.feeds, tmp_path) == ([*writes[0], *writes[1], *writes[2], *adds] if order == "first" else turns)
    assert len(model.graph.node) - len(writers.graph.node) == made.copies + made.idle
    assert {node.op_type for node in writers.graph.node} == {"LeakyRelu", "Shape", *(["Reshape"] if order == "kept" else [])}


def test_what_is_kept_has_memory_of_its_own() -> None:
    """With all results kept, a call needs as much more memory as they are; else the next one takes the place of the last."""
    work = Workload(kind="elementwise", variant="Erf", sizes={"elements": 99_999})

    def alive(model: bytes) -> int:
        """Most bytes of written inputs and results that are there at a time, by their last readers."""
        nodes = onnx.load_from_string(model).graph.node
        last = {name: place for place, node in enumerate(nodes) for name in node.input}
        made = [
            (place, last.get(name, place))
            for place, node in enumerate(nodes)
            for name in node.output
            if node.op_type in ("LeakyRelu", "MaxPool", "Erf")
        ]
        return max(sum(begin <= place <= end for begin, end in made) for place in range(len(nodes)))

    assert [alive(block(work, 6, order=order).model) for order in ORDERS] == [2, 7, 12]


@pytest.mark.parametrize(("elements", "kinds", "shape"), [
    (500, ["LeakyRelu"], (500,)), (528, ["LeakyRelu"], (528,)), (544, ["MaxPool", "Reshape"], (1, 16, 2, 17)),
    (4096, ["MaxPool", "Reshape"], (1, 16, 64, 4)),
])  # fmt: skip
def test_blocks_of_channels_are_written_in_lines_that_threads_share(elements: int, kinds: list[str], shape: tuple[int, ...]) -> None:
    """The written values are those that were handed in, in the operand's own shape."""
    made = block(Workload(kind="elementwise", variant="Relu", sizes={"elements": elements}), 1)
    nodes = list(onnx.load_from_string(made.writers).graph.node)
    assert [node.op_type for node in nodes] == [*kinds, "Shape"]
    assert made.feeds["operand0"].shape == shape
    model = onnx.load_from_string(made.model)
    model.graph.output.append(onnx.helper.make_tensor_value_info("result0_0", onnx.TensorProto.FLOAT, [elements]))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(["result0_0"], made.feeds)
    assert found.tolist() == made.feeds["operand0"].ravel().tolist()


@pytest.mark.parametrize("work", [
    Workload(kind="call", sizes={"nodes": 2}), Workload(kind="gather", variant="Gather", sizes={"rows": 8, "width": 4, "indices": 3}),
])  # fmt: skip
def test_whole_numbers_of_64_bits_are_handed_in(work: Workload) -> None:
    made = block(work, 3)
    assert made.writers == b""
    assert len(onnx.load_from_string(made.model).graph.node) == 6


@pytest.mark.parametrize(("work", "told"), [
    (Workload(kind="moe", sizes={"tokens": 1, "hidden": 8, "inner": 8, "experts": 2, "active": 1}), "dense"),
    (Workload(kind="gemm", variant="Einsum", sizes={"m": 1, "n": 1, "k": 1}), "MatMul"),
    (Workload(kind="elementwise", variant="Relu6", sizes={"elements": 4}), "Relu"),
    (Workload(kind="elementwise", variant="Add", sizes={"elements": 10, "span": 3, "held": 1}), "whole spans"),
    (Workload(kind="convolution", variant="Conv", sizes={"c": 4, "h": 10, "w": 10, "k": 4, "p": 4, "q": 4, "r": 1, "s": 1}), "window"),
])  # fmt: skip
def test_what_is_no_operator_is_refused(work: Workload, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        block(work, 2)
