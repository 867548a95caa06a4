"""Every case against what was worked out by hand, in each framework that has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from ridgeline.work.onnx import graph
from ridgeline.work.torch import Work, record, work_of
from work.suite.case import Case
from work.suite.suite import CASES


def works_of(case: Case) -> list[Work]:
    assert case.torch is not None
    call, arguments = case.torch()
    with torch.no_grad():
        return [work for work in map(work_of, record(lambda: call(*arguments))) if work.group != "view"]


def ids(cases: Sequence[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.torch or case.onnx for case in CASES)


@ids([case for case in CASES if case.torch])
def test_torch(case: Case) -> None:
    works = works_of(case)
    counted = [work for work in works if work.engine == case.engine]
    assert sum(work.flop or 0 for work in counted) == case.flop
    assert {work.precision for work in counted if work.flop} <= {case.precision}
    read, write = case.torch_bytes or (case.read, case.write)
    if case.torch_products is not None:
        works, (read, write) = counted, case.torch_products
    assert (sum(work.read_bytes or 0 for work in works), sum(work.write_bytes or 0 for work in works)) == (read, write)


@ids([case for case in CASES if case.onnx])
def test_onnx(case: Case) -> None:
    assert case.onnx is not None
    ops = graph(case.onnx()).ops
    counted = [op for op in ops if op.engine == case.engine and (op.flop or case.engine is None)]
    assert sum((op.flop or 0) * op.trips.count for op in counted) == pytest.approx(case.flop, rel=1e-15)
    assert {op.precision for op in counted if op.flop} <= {case.precision}
    read, write = case.onnx_bytes or (case.read, case.write)
    moved = tuple(sum((size or 0) * op.trips.count for op, size in zip(ops, sizes, strict=True)) for sizes in _bytes(ops))
    assert moved == (read, write)


def _bytes(ops: Sequence[Any]) -> tuple[list[int | None], list[int | None]]:
    return [op.read_bytes for op in ops], [op.write_bytes for op in ops]
