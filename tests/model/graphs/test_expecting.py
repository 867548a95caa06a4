"""What a graph's operators should take, as a table of facts."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import ExpectedTable, OutOfRange
from ridgeline.core.documents import decode, encode
from ridgeline.model.graphs.expecting import expected
from ridgeline.model.graphs.predicting import predicted
from ridgeline.model.graphs.tasks import plan_of_graph
from support.predicted import chain, cpu


def test_operators_have_the_seconds_that_a_prediction_gives_them() -> None:
    graph, device = chain(3, rows=256, columns=256), cpu(threads=2)
    found = expected(graph, device)
    whole = predicted(plan_of_graph(graph, "onnxruntime", made=True), device)
    assert [op.name for op in found.operators] == ["MatMul_0", "MatMul_1", "MatMul_2"]
    for op, other in zip(found.operators, whole.operators, strict=False):
        assert op.seconds is not None
        assert other.latency_s is not None
        assert (op.name, op.seconds.value, op.seconds.low, op.seconds.high) == (
            other.name, other.latency_s.value, other.latency_s.low, other.latency_s.high,
        )  # fmt: skip
        assert op.outputs == ((256, 256),)
        assert set(op.alternatives) >= {"one thread", "no vector lanes", "a second dispatch"}
    assert (found.device, found.trained) == (device.name, False)
    assert decode(encode(found), ExpectedTable) == found


def test_shapes_that_are_not_known_are_left_out() -> None:
    graph = chain(1)
    open_axis = msgspec.structs.replace(graph, tensors=tuple(msgspec.structs.replace(each, shape=("N", 64)) if each.name == "x1" else each for each in
                                                             graph.tensors))  # fmt: skip
    assert expected(open_axis, cpu()).operators[0].outputs == ()


def test_a_device_without_ceilings_is_refused() -> None:
    with pytest.raises(OutOfRange):
        expected(chain(1), msgspec.structs.replace(cpu(), ceilings=()))
