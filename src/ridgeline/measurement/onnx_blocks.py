"""The time of one operator in onnxruntime, from a block of equal ones.

A block is run as level 1 runs a model: warm, undisturbed, every sample kept, of which here the quantiles go back. What writes the inputs is run
apart, right behind. One session lives at a time: the spinning threads of a second would take the cores of the first. What a call takes besides its
operators is measured by blocks of operators that do nothing; both are taken off where rows are made, not here.
"""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline import _native
from ridgeline.core import Workload
from ridgeline.targets.onnx import load_runtime
from ridgeline.targets.onnx_blocks import block

from .core_to_core import core_to_core_here
from .harness import Plan, measure

__all__ = ["BlockTime", "time_block"]

Floats = NDArray[np.float64]

_SENTINEL_S, _SENTINELS = 0.002, 3
#: Of the best rate so far, from which one sentinel is enough.
_GOOD = 0.95
#: A cache line that takes so many times as long as before: the host has moved the CPUs.
_MOVED = 2.0
#: Of the time for a block, for what writes its inputs.
_WRITERS_SHARE = 0.5


class BlockTime(msgspec.Struct, frozen=True, kw_only=True):
    """One block.

    Args:
        work: the operator, with the distances that it has in the block; fresh: whether inputs are as old as the block is long.
        copies, idle: operators in the block, and further ones that do nothing.
        least_s, lower_s, median_s, upper_s: minimum and quartiles of one call of the block.
        samples: calls.
        writers_s: median of a call of what writes the inputs alone; writers_spread_s: its quartiles' distance; 0 where nothing does.
        core_to_core_s: for a cache line between two CPUs, mean of before and after; moved: whether the two differ, so that neither holds.
        quiet_flop_per_s: what multiply-adds on all processors reached before and after, the lower: less than usual where something else ran.
    """

    work: Workload
    fresh: bool = False
    copies: int
    idle: int
    least_s: float
    lower_s: float
    median_s: float
    upper_s: float
    samples: int
    writers_s: float = 0.0
    writers_spread_s: float = 0.0
    core_to_core_s: float = 0.0
    moved: bool = False
    quiet_flop_per_s: float


def time_block(work: Workload, copies: int, fresh: bool, budget_s: float, threads: int) -> BlockTime:
    """Build, warm and measure one block in this process.

    Args:
        work, copies, fresh: of `targets.onnx_blocks.block`.
        budget_s: of the measurement, without building; threads: of the session, 0 for the runtime's own choice.

    Raises:
        UsageError: no such operator. BackendUnavailable: onnx or onnxruntime is not installed.
    """
    made = block(work, copies, fresh=fresh)
    before, near = _SENTINEL.rate(), core_to_core_here()
    wall = _calls(made.model, made.feeds, budget_s, threads)
    least, lower, median, upper = (float(value) for value in np.quantile(wall, (0.0, 0.25, 0.5, 0.75)))
    begin = middle = end = 0.0
    if made.writers:
        beside = _calls(made.writers, made.feeds, _WRITERS_SHARE * budget_s, threads)
        begin, middle, end = (float(value) for value in np.quantile(beside, (0.25, 0.5, 0.75)))
    far = core_to_core_here()
    return BlockTime(
        work=made.work, fresh=fresh, copies=made.copies, idle=made.idle, least_s=least, lower_s=lower, median_s=median, upper_s=upper,
        samples=len(wall), writers_s=middle, writers_spread_s=end - begin, core_to_core_s=(near + far) / 2,
        moved=max(near, far) > _MOVED * min(near, far), quiet_flop_per_s=min(before, _SENTINEL.rate()),
    )  # fmt: skip


def _calls(model: bytes, feeds: Mapping[str, NDArray[Any]], budget_s: float, threads: int) -> Floats:
    """Seconds of each call of a model."""
    runtime = load_runtime()
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session: Any = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    bound = session.io_binding()
    for given in session.get_inputs():
        bound.bind_ortvalue_input(given.name, runtime.OrtValue.ortvalue_from_numpy(feeds[given.name]))
    for output in session.get_outputs():
        bound.bind_output(output.name, "cpu")

    def call() -> None:
        session.run_with_iobinding(bound)

    call()
    result = measure(call, plan=Plan(budget_s=budget_s, at_least=5, samples=400, batched=False))
    wall = np.asarray(result.samples.wall_s.values, np.float64)
    # Its threads spin until it is gone; a walk through all objects is only needed where something still holds it.
    gone = weakref.ref(session)
    session = bound = None
    if gone() is not None:
        gc.collect()
    return wall


class _Sentinel:
    """FLOP/s of two milliseconds of multiply-adds on every processor that this process may use."""

    def __init__(self) -> None:
        self._best = 0.0

    def rate(self) -> float:
        """The best of a few, since a thread may begin late; one is enough where it is nearly as good as the best so far."""
        cpus, found = tuple(sorted(os.sched_getaffinity(0))), 0.0
        for _ in range(_SENTINELS):
            operations, elapsed_s = _native.fma("fp32", _SENTINEL_S, cpus)
            found = max(found, operations / elapsed_s if elapsed_s > 0 else 0.0)
            self._best = max(self._best, found)
            if found >= _GOOD * self._best:
                break
        return found


_SENTINEL = _Sentinel()
