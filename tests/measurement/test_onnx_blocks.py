"""A block measured for real, in this process: what comes back fits together; more work takes longer."""

from __future__ import annotations

import pytest

from ridgeline.core import UsageError, Workload
from ridgeline.measurement.onnx_blocks import time_block

pytest.importorskip("onnx", reason="onnx, which makes the blocks, is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime, which runs them, is not installed")


def timed(elements: int, copies: int = 4) -> float:
    found = time_block(Workload(kind="elementwise", variant="Erf", sizes={"elements": elements}), copies, False, 0.02, 1)
    assert 0 < found.least_s <= found.lower_s <= found.median_s <= found.upper_s
    assert found.samples >= 5
    assert (found.copies, found.idle) == (copies, copies)
    assert found.work.reuse_bytes == 12 * elements
    assert found.writers_s > 0
    assert found.writers_spread_s >= 0
    assert found.quiet_flop_per_s > 1e8
    return found.least_s


def test_a_thousand_times_the_work_takes_longer() -> None:
    assert timed(1_000_000) > timed(1_000)


def test_nothing_writes_what_is_handed_in() -> None:
    found = time_block(Workload(kind="call", sizes={"nodes": 2}), 2, False, 0.01, 1)
    assert (found.writers_s, found.writers_spread_s, found.fresh) == (0.0, 0.0, False)


def test_no_operator() -> None:
    with pytest.raises(UsageError):
        time_block(Workload(kind="elementwise", variant="Nothing", sizes={"elements": 4}), 2, False, 0.01, 1)
