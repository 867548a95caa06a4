"""A block measured for real, in this process: what comes back fits together; more work takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from ridgeline.core import UsageError, Workload
from ridgeline.measurement import onnx_blocks
from ridgeline.measurement.onnx_blocks import _Beside, time_block
from ridgeline.measurement.thread_counters import ready_threads_s

pytest.importorskip("onnx", reason="onnx, which makes the blocks, is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime, which runs them, is not installed")


def timed(elements: int, copies: int = 4) -> float:
    found = time_block(Workload(kind="elementwise", variant="Erf", sizes={"elements": elements}), copies, "turn", 0.02, 1)
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
    found = time_block(Workload(kind="call", sizes={"nodes": 2}), 2, "turn", 0.01, 1)
    assert (found.writers_s, found.writers_spread_s, found.order) == (0.0, 0.0, "turn")


def test_what_is_swept_is_said_and_taken_off() -> None:
    work = Workload(kind="gemm", variant="MatMul", sizes={"m": 64, "n": 256, "k": 256})
    found = time_block(work, 4, "turn", 0.02, 1, 32_000_000)
    assert found.swept_bytes == 32_000_000
    assert (found.work.reuse_bytes or 0) > 32_000_000
    assert found.writers_s > 0


def test_a_call_is_also_made_as_users_make_it() -> None:
    """With arrays that are handed in, for blocks of operators that do nothing; of others only the operators are asked."""
    assert time_block(Workload(kind="call", sizes={"nodes": 2}), 1, "turn", 0.01, 1).run_s > 0
    assert time_block(Workload(kind="elementwise", variant="Erf", sizes={"elements": 8}), 1, "turn", 0.01, 1).run_s == 0


def test_what_was_beside_the_block_before_is_beside_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just behind it; later it is measured anew."""
    now, rates = 10.0, iter((3.0, 5.0, 7.0))
    beside = _Beside()
    monkeypatch.setattr(onnx_blocks.time, "monotonic", lambda: now)
    monkeypatch.setattr(onnx_blocks, "core_to_core_here", lambda: 4e-8)
    monkeypatch.setattr(beside, "_rate", lambda: next(rates))
    assert beside.now_or_just_before() == (3.0, 4e-8)
    now += 0.05
    assert beside.now_or_just_before() == (3.0, 4e-8)
    now += 1.0
    assert beside.now_or_just_before() == (5.0, 4e-8)
    assert beside.now() == (7.0, 4e-8)


def test_seconds_that_threads_waited_are_those_of_the_system(tmp_path: Path) -> None:
    """The second number of every thread's file, ns; what is no such file counts for nothing."""
    for name, text in {"1": "500 2000000000 7\n", "2": "9 500000000 1\n", "3": "", "4": "x y z\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "schedstat").write_text(text)
    (tmp_path / "5").mkdir()
    assert ready_threads_s(tmp_path) == 2.5
    assert ready_threads_s(tmp_path / "none") == 0.0


def test_a_block_whose_threads_waited_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that begins on the processor of the caller is waited for; what remains is said."""
    waited = iter((0.0, 100.0, 0.0, 0.0, *(100.0 * number for number in range(1, 50))))
    asked: list[float] = []

    def ready() -> float:
        asked.append(next(waited))
        return asked[-1]

    monkeypatch.setattr(onnx_blocks, "ready_threads_s", ready)
    found = time_block(Workload(kind="call", sizes={"nodes": 2}), 1, "turn", 0.01, 1)
    assert found.waited_share == 0.0
    assert asked[:4] == [0.0, 100.0, 0.0, 0.0], "the first go is thrown away"
    assert time_block(Workload(kind="elementwise", variant="Erf", sizes={"elements": 8}), 1, "turn", 0.01, 1).waited_share > 1.0


def test_no_operator() -> None:
    with pytest.raises(UsageError):
        time_block(Workload(kind="elementwise", variant="Nothing", sizes={"elements": 4}), 2, "turn", 0.01, 1)
