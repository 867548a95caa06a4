"""Operators alone, as blocks: each is the workload that was asked for, runs, and touches what it says."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ridgeline.core import UsageError, Workload
from ridgeline.model.design import FORMS
from ridgeline.model.design.drawing import first
from ridgeline.model.families import sizes_of
from ridgeline.model.graphs.workloads import workloads
from ridgeline.targets.onnx_blocks import block, size_of

onnx = pytest.importorskip("onnx", reason="onnx, which makes the models, is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime, which runs the blocks, is not installed")

from ridgeline.work.onnx import graph  # noqa: E402


def drawn(form: str, count: int) -> list[Workload]:
    """The first workloads of one form's design, without those that take long to make here."""
    (chosen,) = [each for each in FORMS if each.name == form]
    found = (work for _, work in first(7, [chosen]))
    return list(itertools.islice((work for work in found if sum(size_of(work)) < 4e6), count))


def read_back(model: bytes) -> list[Any]:
    return [found for found in workloads(graph(onnx.load_from_string(model))) if isinstance(found, Workload)]


@pytest.mark.parametrize("form", [form.name for form in FORMS if form.name != "call"])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_block_holds_what_was_asked(form: str, fresh: bool) -> None:
    """A model of the operator is read back as the operator; for every form of the design."""
    for work in drawn(form, 6):
        made = block(work, 3, fresh=fresh)
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
        made = block(work, 2, fresh=True)
        session = onnxruntime.InferenceSession(made.model, options, providers=["CPUExecutionProvider"])
        (shape,) = session.run(None, made.feeds)
        assert len(shape) > 0 or work.sizes.get("elements") == 1
        assert {given.name for given in session.get_inputs()} == set(made.feeds)


def test_what_a_block_touches() -> None:
    """Weights are each copy's own, inputs only if fresh; bytes by hand for a product of 8 × 16 by 16 × 4."""
    work = Workload(kind="gemm", variant="MatMul", sizes={"m": 8, "n": 4, "k": 16})
    weights, inputs, results = 16 * 4 * 4, 8 * 16 * 4, 8 * 4 * 4
    assert size_of(work) == (weights, inputs, results)
    shared, fresh = block(work, 5), block(work, 5, fresh=True)
    assert shared.work.reuse_bytes == 5 * weights + inputs + results
    assert shared.work.age_bytes == weights + inputs + results
    assert fresh.work.reuse_bytes == fresh.work.age_bytes == 5 * (weights + inputs) + results
    assert set(shared.feeds) == {"operand0"}
    assert len(fresh.feeds) == 5


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
