"""The time of one operator in onnxruntime, from a block of equal ones.

A block is run as level 1 runs a model: warm, undisturbed, every sample kept, of which here the quantiles go back. One session lives at a time: the
spinning threads of a second would take the cores of the first. What a call takes besides its operators is measured by blocks of operators that do
nothing; it is taken off where rows are made, not here.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import msgspec
import numpy as np

from ridgeline import _native
from ridgeline.core import Workload
from ridgeline.targets.onnx import load_runtime
from ridgeline.targets.onnx_blocks import block

from .harness import Plan, measure

__all__ = ["BlockTime", "time_block"]

_SENTINEL_S, _SENTINELS = 0.002, 3


class BlockTime(msgspec.Struct, frozen=True, kw_only=True):
    """One block.

    Args:
        work: the operator, with the distances that it has in the block.
        copies, idle: operators in the block, and further ones that do nothing.
        least_s, lower_s, median_s, upper_s: minimum and quartiles of one call of the block.
        samples: calls.
        quiet_flop_per_s: what multiply-adds on all processors reached before and after, the lower: less than usual where something else ran.
    """

    work: Workload
    copies: int
    idle: int
    least_s: float
    lower_s: float
    median_s: float
    upper_s: float
    samples: int
    quiet_flop_per_s: float


def time_block(work: Workload, copies: int, fresh: bool, budget_s: float, threads: int) -> BlockTime:
    """Build, warm and measure one block in this process.

    Args:
        work, copies, fresh: of `targets.onnx_blocks.block`.
        budget_s: of the measurement, without building; threads: of the session, 0 for the runtime's own choice.

    Raises:
        UsageError: no such operator. BackendUnavailable: onnx or onnxruntime is not installed.
    """
    runtime = load_runtime()
    made = block(work, copies, fresh=fresh)
    before = _quiet()
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session: Any = runtime.InferenceSession(made.model, options, providers=["CPUExecutionProvider"])
    bound = session.io_binding()
    for name, value in made.feeds.items():
        bound.bind_ortvalue_input(name, runtime.OrtValue.ortvalue_from_numpy(value))
    for output in session.get_outputs():
        bound.bind_output(output.name, "cpu")

    def call() -> None:
        session.run_with_iobinding(bound)

    call()
    result = measure(call, plan=Plan(budget_s=budget_s, at_least=5, samples=400, batched=False))
    wall = np.asarray(result.samples.wall_s.values, np.float64)
    least, lower, median, upper = (float(value) for value in np.quantile(wall, (0.0, 0.25, 0.5, 0.75)))
    # Its threads spin until it is gone.
    session = bound = None
    gc.collect()
    return BlockTime(
        work=made.work, copies=made.copies, idle=made.idle, least_s=least, lower_s=lower, median_s=median, upper_s=upper, samples=len(wall),
        quiet_flop_per_s=min(before, _quiet()),
    )  # fmt: skip


def _quiet() -> float:
    """FLOP/s of two milliseconds on every processor that this process may use; the best of a few, since a thread may begin late."""
    cpus, rates = tuple(sorted(os.sched_getaffinity(0))), []
    for _ in range(_SENTINELS):
        operations, elapsed_s = _native.fma("fp32", _SENTINEL_S, cpus)
        rates.append(operations / elapsed_s if elapsed_s > 0 else 0.0)
    return float(max(rates))
