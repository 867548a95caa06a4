"""Recorded calls of PyTorch as plans: families and sizes from what the dispatcher saw, written by hand so that torch is not needed."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.core import OutOfRange
from ridgeline.model.graphs.predicting import predicted
from ridgeline.model.graphs.recorded import plan_of_record
from ridgeline.work.torch import RecordedOp, TensorUse
from support.predicted import cpu


def use(buffer: int, *shape: int, constant: bool = False, persistent: bool = False, stride: tuple[int, ...] | None = None) -> TensorUse:
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return TensorUse(
        buffer=buffer, shape=shape, dtype="float32", stride=tuple(reversed(steps)) if stride is None else stride, storage_bytes=4 * step,
        constant=constant, persistent=persistent or constant,
    )  # fmt: skip


def op(kind: str, inputs: dict[str, Any], *outputs: TensorUse, **arguments: Any) -> RecordedOp:
    given = tuple(each for each in inputs.values() if isinstance(each, TensorUse))
    return RecordedOp(kind=f"aten::{kind}", arguments=inputs | arguments, inputs=given, outputs=outputs)


@pytest.mark.parametrize(
    ("recorded", "kind", "sizes"),
    [
        (op("mm", {"self": use(0, 4, 8), "mat2": use(1, 8, 16)}, use(2, 4, 16)), "gemm", {"m": 4, "n": 16, "k": 8, "batch": 1, "groups": 1}),
        (
            op("addmm", {"self": use(3, 16), "mat1": use(0, 4, 8), "mat2": use(1, 8, 16)}, use(2, 4, 16)), "gemm",
            {"m": 4, "n": 16, "k": 8, "batch": 1, "groups": 1},
        ),
        (
            op("bmm", {"self": use(0, 5, 4, 8), "mat2": use(1, 5, 8, 16)}, use(2, 5, 4, 16)), "gemm",
            {"m": 4, "n": 16, "k": 8, "batch": 5, "groups": 5},
        ),
        (
            # The same weights for each of five, only repeated.
            op("bmm", {"self": use(0, 5, 4, 8), "mat2": use(1, 5, 8, 16, stride=(0, 16, 1))}, use(2, 5, 4, 16)), "gemm",
            {"m": 20, "n": 16, "k": 8, "batch": 1, "groups": 1},
        ),
        (
            op("convolution", {"input": use(0, 2, 3, 8, 8), "weight": use(1, 16, 3, 3, 3, constant=True)}, use(2, 2, 16, 8, 8), groups=1),
            "convolution",
            {"n": 2, "c": 3, "h": 8, "w": 8, "k": 16, "p": 8, "q": 8, "r": 3, "s": 3, "groups": 1},
        ),
        (op("relu", {"self": use(0, 4, 8)}, use(1, 4, 8)), "elementwise", {"elements": 32, "inputs": 1}),
        (op("_softmax", {"self": use(0, 4, 8)}, use(1, 4, 8), dim=-1), "softmax", {"rows": 4, "columns": 8}),
        (
            op("native_layer_norm", {"input": use(0, 4, 8), "weight": use(2, 8, constant=True)}, use(1, 4, 8), normalized_shape=(8,)),
            "normalisation",
            {"rows": 4, "columns": 8, "weights": 2},
        ),
        (op("sum", {"self": use(0, 4, 8)}, use(1, 4), dim=(1,)), "reduction", {"rows": 4, "columns": 8}),
        (
            op("max_pool2d", {"self": use(0, 2, 3, 8, 8)}, use(1, 2, 3, 4, 4), kernel_size=(2, 2)), "pooling",
            {"n": 2, "c": 3, "h": 8, "w": 8, "p": 4, "q": 4, "r": 2, "s": 2},
        ),
        (
            op("embedding", {"weight": use(0, 100, 16, constant=True), "indices": use(1, 4, 5)}, use(2, 4, 5, 16)), "gather",
            {"rows": 100, "width": 16, "indices": 20},
        ),
    ],
)  # fmt: skip
def test_families_and_sizes(recorded: RecordedOp, kind: str, sizes: dict[str, int]) -> None:
    (task,) = plan_of_record([recorded], "f").tasks
    assert task.work is not None
    assert (task.work.kind, task.work.sizes) == (kind, sizes)
    assert task.reason == ""


def test_views_cost_nothing_and_a_call_of_views_is_refused() -> None:
    view = op("view", {"self": use(0, 4, 8)}, use(0, 32))
    assert len(plan_of_record([view, op("relu", {"self": use(0, 32)}, use(1, 32))], "f").tasks) == 1
    with pytest.raises(OutOfRange, match="does something"):
        plan_of_record([view], "f")


def test_memory_is_what_was_there_and_the_most_that_lives() -> None:
    weight = use(9, 8, 8, constant=True)
    ops = [op("mm", {"self": use(number, 8, 8), "mat2": weight}, use(number + 1, 8, 8)) for number in range(4)]
    held = plan_of_record(ops, "f").footprint
    assert held.weight_bytes == 256
    assert held.activation_bytes == 512


def test_what_is_odd_counts_by_its_bytes_and_is_said() -> None:
    odd = op("sorcery", {"self": use(0, 64, 64)}, use(1, 64, 64))
    found = predicted(plan_of_record([odd], "f"), cpu())
    assert any("only its bytes count" in reason for reason in found.out_of_range)
    assert any("one item" in reason for reason in found.out_of_range)
    assert found.runtime == "torch"
