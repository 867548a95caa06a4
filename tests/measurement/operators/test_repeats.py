"""Repeated work of torch programs and of ONNX graphs: what is the same, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.core import OperatorRow
from ridgeline.measurement.operators.onnxruntime.repeats import repeated
from ridgeline.work.onnx import Node, Value
from ridgeline.work.onnx.nodes import Placed

torch = pytest.importorskip("torch")

from ridgeline.measurement.operators.torch import profile  # noqa: E402


def rows(call: Any) -> dict[str, OperatorRow]:
    """Rows by kind; of several of one kind the last."""

    def workload() -> Any:
        with torch.inference_mode():
            return call()

    return {row.kind.removeprefix("aten::"): row for row in profile(workload, iterations=1).rows}


def counts(row: OperatorRow) -> tuple[float, float | None]:
    return row.calls, row.distinct


def test_the_same_product_and_what_follows_from_it() -> None:
    a, b = torch.rand(40, 40), torch.rand(40, 40)

    def call() -> list[Any]:
        return [torch.mm(a, b).relu() for _ in range(4)]

    found = rows(call)
    assert counts(found["mm"]) == (4, 1)
    assert counts(found["relu"]) == (4, 1)


def test_in_place_work_goes_on() -> None:
    a, b = torch.rand(40, 40), torch.rand(40, 40)

    def call() -> None:
        for _ in range(4):
            a.mul_(0.9)
            torch.mm(a, b)

    found = rows(call)
    assert counts(found["mul_"]) == (4, 4)
    assert counts(found["mm"]) == (4, 4)


def test_other_slices_and_other_numbers_are_other_work() -> None:
    a = torch.rand(40, 40)
    assert counts(rows(lambda: [a[k : k + 8].exp() for k in range(4)])["exp"]) == (4, 4)
    assert counts(rows(lambda: [torch.add(a, 2, alpha=k) for k in range(1, 5)])["add"]) == (4, 4)
    assert counts(rows(lambda: [torch.add(a, 2, alpha=1) for _ in range(4)])["add"]) == (4, 1)


def test_random_numbers_never_repeat_and_nothing_that_reads_them() -> None:
    def call() -> list[Any]:
        return [torch.rand(40, 40).exp() for _ in range(4)]

    found = rows(call)
    assert found["exp"].distinct == 4
    a = torch.rand(40, 40)
    assert all(row.distinct is None for kind, row in rows(lambda: [torch.bernoulli(a) for _ in range(4)]).items() if "bernoulli" in kind)


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Placed:
    made = Node(kind=kind, inputs=tuple(Value(name=name) for name in inputs.split()), outputs=(Value(name=output),), attributes=attributes)
    return Placed(node=made, name=output, own_name=output, path=())


def distinct(*nodes: Placed, calls: float = 1.0, path: tuple[str, ...] = ()) -> list[float | None]:
    keys = [(path, placed.name, index) for index, placed in enumerate(nodes)]
    return repeated(keys, dict.fromkeys(keys, calls), dict(zip(keys, nodes, strict=True)))


def test_common_subexpressions_of_a_graph() -> None:
    twice = (node("MatMul", "x w", "a"), node("Relu", "a", "b"), node("MatMul", "x w", "c"), node("Relu", "c", "d"))
    assert distinct(*twice) == [1, 1, 0, 0]


def test_what_differs_is_no_common_subexpression() -> None:
    assert distinct(node("MatMul", "x w", "a"), node("MatMul", "x v", "b"), node("MatMul", "w x", "c")) == [1, 1, 1]
    assert distinct(node("Softmax", "x", "a", axis=1), node("Softmax", "x", "b", axis=-1)) == [1, 1]
    assert distinct(node("RandomNormalLike", "x", "a"), node("RandomNormalLike", "x", "b")) == [None, None]
    assert distinct(node("Constant", "", "a"), node("Constant", "", "b")) == [None, None]
    assert distinct(node("Relu", "x", "a"), node("Relu", "x", "b"), calls=3.0) == [None, None]
    assert distinct(node("Relu", "x", "a"), node("Relu", "x", "b"), path=("loop",)) == [None, None]
