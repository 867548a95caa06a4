"""Look-ups by rows are copies, by single elements look-ups, and every framework says the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ridgeline.work import numpy as by_numpy
from ridgeline.work.gathering import STRETCH_BYTES, looked_up
from ridgeline.work.onnx import graph
from ridgeline.work.torch import record, work_of
from work.suite.case import Spec, f, of, single

INDEX = torch.tensor([5, 6, 7])
GRAD = torch.ones(3, 64)


def of_torch(call: Callable[[], Any]) -> tuple[float | None, str | None]:
    work = work_of(record(call)[-1])
    assert work.group == "gather"
    return work.flop, work.engine


@pytest.mark.parametrize(
    ("call", "flop", "engine"),
    [
        (lambda: torch.ones(10, 64)[INDEX], 0, None),
        (lambda: torch.ones(10, 7)[INDEX], 21, "gather"),  # 28 bytes of each row: less than a stretch
        (lambda: torch.ones(10, 8)[INDEX], 0, None),  # 32 bytes
        (lambda: torch.ones(10, 64).T[:, INDEX], 192, "gather"),  # a column of the view is a row in memory, but its elements are walked one by one
        (lambda: torch.ones(10, 64)[:, INDEX], 30, "gather"),  # three of each row
        (lambda: torch.ones(2, 10, 64)[:, INDEX], 0, None),  # rows of each of two tables
        (lambda: torch.ones(10, 64)[INDEX, INDEX], 3, "gather"),
        (lambda: torch.ones(10, 8, 64)[INDEX, :, INDEX], 24, "gather"),
        (lambda: torch.ones(10, 64)[torch.arange(10) > 5], 0, None),
        (lambda: torch.ones(10, 64)[torch.ones(10, 64) > 0], 640, "gather"),
        (lambda: torch.ones(10, 64).index_select(0, INDEX), 0, None),
        (lambda: torch.ones(10, 64).index_select(1, INDEX), 30, "gather"),
        (lambda: torch.ones(10, 64).gather(1, INDEX.expand(10, 3)), 30, "gather"),
        (lambda: torch.nn.functional.embedding(INDEX, torch.ones(10, 64)), 0, None),
        (lambda: torch.zeros(10, 64).index_copy_(0, INDEX, GRAD), 0, None),
        (lambda: torch.zeros(10, 64).index_add_(0, INDEX, GRAD), 192, "add"),
        (lambda: torch.zeros(64, 10).index_add_(1, INDEX, GRAD.T), 192, "gather"),
        (lambda: torch.zeros(10, 64).index_put_((INDEX,), GRAD), 0, None),
        (lambda: torch.zeros(10, 64).index_put_((INDEX,), GRAD, accumulate=True), 192, "add"),
        (lambda: torch.zeros(10, 64).scatter_add_(0, INDEX[:, None].expand(3, 64), GRAD), 192, "gather"),
    ],
)
def test_torch(call: Callable[[], Any], flop: float, engine: str | None) -> None:
    assert of_torch(call) == (flop, engine)


@pytest.mark.parametrize(
    ("kind", "inputs", "result", "attributes", "flop", "engine"),
    [
        ("Gather", [f(10, 64), of("INT64", 3)], f(3, 64), {}, 0, None),
        ("Gather", [f(10, 7), of("INT64", 3)], f(3, 7), {}, 21, "gather"),
        ("Gather", [f(10, 64), of("INT64", 3)], f(10, 3), {"axis": -1}, 30, "gather"),
        ("Gather", [f(2, 10, 64), of("INT64", 3)], f(2, 3, 64), {"axis": 1}, 0, None),
        ("GatherElements", [f(10, 64), of("INT64", 10, 3)], f(10, 3), {"axis": 1}, 30, "gather"),
        ("GatherND", [f(10, 8, 64), of("INT64", 3, 2)], f(3, 64), {}, 0, None),
        ("GatherND", [f(10, 8, 64), of("INT64", 3, 3)], f(3), {}, 3, "gather"),
        ("GatherND", [f(2, 10, 64), of("INT64", 2, 1)], f(2, 64), {"batch_dims": 1}, 0, None),
        ("ScatterND", [f(10, 64), of("INT64", 3, 1), f(3, 64)], f(10, 64), {}, 0, None),
        ("ScatterND", [f(10, 64), of("INT64", 3, 1), f(3, 64)], f(10, 64), {"reduction": "add"}, 192, "add"),
        ("ScatterND", [f(10, 64), of("INT64", 3, 2), f(3)], f(10, 64), {}, 3, "gather"),
        ("ScatterElements", [f(10, 64), of("INT64", 3, 64), f(3, 64)], f(10, 64), {}, 192, "gather"),
    ],
)
def test_onnx(kind: str, inputs: list[Spec], result: Spec, attributes: dict[str, Any], flop: float, engine: str | None) -> None:
    (op,) = graph(single(kind, inputs, [result], **attributes)).ops
    assert (op.flop, op.engine, op.attributes["group"]) == (flop, engine, "gather")


@pytest.mark.parametrize(("width", "flop", "engine"), [(64, 0, None), (8, 0, None), (7, 21, "gather")])
def test_numpy_says_the_same(width: int, flop: float, engine: str | None) -> None:
    facts = [
        by_numpy.ArrayFacts(shape=shape, dtype=dtype, item_bytes=size, buffer=number)
        for number, (shape, dtype, size) in enumerate([((10, width), "float32", 4), ((3,), "int64", 8), ((3, width), "float32", 4)])
    ]
    work = by_numpy.work_of("numpy.take", facts[:2], facts[2:], {"axis": 0})
    assert (work.flop, work.engine) == (flop, engine)


def test_a_row_is_a_stretch_from_half_a_line_on() -> None:
    assert [looked_up(10, width)[:2] for width in (STRETCH_BYTES - 1, STRETCH_BYTES)] == [(10, "gather"), (0, None)]
    assert looked_up(10, STRETCH_BYTES, adds=True)[:2] == (10, "add")
