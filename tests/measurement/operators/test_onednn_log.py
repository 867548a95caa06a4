"""oneDNN inside the operators of torch: primitives matched to rows, and standard output given back."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ridgeline.core import Quantity
from ridgeline.measurement.operators.onednn.table import tabulate
from ridgeline.readers.onednn import PrimitiveRun, VerboseLog

torch = pytest.importorskip("torch")

from ridgeline.measurement.operators.onednn import primitives  # noqa: E402
from ridgeline.measurement.operators.torch import profile  # noqa: E402
from ridgeline.measurement.operators.torch import relayout as torch_relayout  # noqa: E402
from ridgeline.work.torch import record, work_of  # noqa: E402


def run(kind: str, milliseconds: float, mark: int | None) -> PrimitiveRun:
    return PrimitiveRun(kind=kind, implementation="jit", shapes="s", seconds=milliseconds / 1e3, mark=mark)


def test_executions_of_one_row_are_one_primitive() -> None:
    logs = [VerboseLog(runs=(run("reorder", 1, 0), run("reorder", 2, 1), run("reorder", 4, 5)), version="3.1") for _ in range(3)]
    table = tabulate(logs, {0: 7, 1: 7}, [0.01, 0.02, 0.03])
    assert [(one.operator, one.calls, pytest.approx(one.total_s.value)) for one in table.primitives] == [(7, 2, 3e-3), (None, 1, 4e-3)]
    assert (table.library, table.wall_s.value) == ("oneDNN", 0.02)
    assert "3.1" in table.instrument


def narrow_net() -> Any:
    torch.manual_seed(1)
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 9, 3), torch.nn.ReLU(), torch.nn.Conv2d(9, 9, 3)).eval()
    images = torch.rand(2, 3, 40, 40)

    def call() -> Any:
        with torch.inference_mode():
            return layers(images)

    return call


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch without oneDNN")
def test_the_reorders_of_a_convolution_are_found_at_its_row(capfd: pytest.CaptureFixture[str]) -> None:
    call = narrow_net()
    rows = profile(call, iterations=1).rows
    table = primitives(call, {(row.name, row.shapes): index for index, row in enumerate(rows)}, calls=1)
    convolutions = {one.operator for one in table.primitives if one.kind == "convolution"}
    assert convolutions == {index for index, row in enumerate(rows) if row.group == "convolution"}
    assert {one.operator for one in table.primitives if one.kind == "reorder"} <= convolutions
    assert all(isinstance(one.total_s, Quantity) for one in table.primitives)
    os.write(1, b"still here\n")
    written = capfd.readouterr().out
    assert "still here" in written
    assert "onednn_verbose" not in written


def test_what_is_thrown_while_logging_gives_standard_output_back(capfd: pytest.CaptureFixture[str]) -> None:
    made = narrow_net()
    calls = iter(range(100))

    def fails_late() -> Any:
        if next(calls) > 4:
            raise RuntimeError("enough")
        return made()

    with pytest.raises(RuntimeError, match="enough"):
        primitives(fails_late, {}, calls=3)
    os.write(1, b"still here\n")
    assert "still here" in capfd.readouterr().out


# -- steps and layouts of torch --


def uses(call: Any) -> list[int | None]:
    with torch.inference_mode():
        op = next(op for op in record(call) if not op.is_view)
    return [use.stride_bytes for use in work_of(op).reads or ()]


def test_steps_of_torch() -> None:
    square, other, out = torch.zeros(64, 64), torch.zeros(64, 64), torch.empty(64, 64)
    assert uses(lambda: square + other) == [None, None]
    assert uses(lambda: square + other.t()) == [None, 256]
    # The first operand leads: all by column is no step.
    assert uses(lambda: square.t() + other.t()) == [None, None]
    assert uses(lambda: torch.add(square.t(), other.t(), out=out)) == [256, 256]
    assert uses(lambda: square[:, 3].sum()) == [256]
    assert uses(lambda: square.sum(0)) == [None]
    assert uses(lambda: square @ other.t()) == [None, None]


def test_operators_of_torch_are_repeated_on_another_layout() -> None:
    square, other = torch.rand(64, 64), torch.rand(64, 64)
    call = narrow_net()

    def workload() -> Any:
        with torch.inference_mode():
            return call(), square + other.t(), square.to(torch.float64)

    rows = profile(workload, iterations=1).rows
    wanted = {(row.name, row.shapes): (index, row.calls, 0) for index, row in enumerate(rows)}
    found = {rows[one.operator].kind: one.layout for one in torch_relayout.relayouts(workload, wanted, 0.05)}
    assert found["aten::convolution"] == "channels last"
    assert found["aten::add"] == "side by side"
    # The dtype it was told is not in the record.
    assert "aten::_to_copy" not in found
    tiled = {key: (index, calls, 4096) for key, (index, calls, _) in wanted.items()}
    assert {one.layout for one in torch_relayout.relayouts(workload, tiled, 0.05)} <= {"in tiles"}
