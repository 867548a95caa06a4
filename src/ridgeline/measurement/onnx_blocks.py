"""The time of one operator in onnxruntime, from a block of equal ones.

A block is run as level 1 runs a model: warm, undisturbed, every sample kept, of which here the quantiles go back. What writes the inputs is run
apart, right behind. One session lives at a time: the spinning threads of a second would take the cores of the first. What a call takes besides its
operators is measured by blocks of operators that do nothing; both are taken off where rows are made, not here.
"""

from __future__ import annotations

import gc
import math
import os
import time
import weakref
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline import _native
from ridgeline.core import Workload
from ridgeline.targets.onnx import load_runtime
from ridgeline.targets.onnx_blocks import Order, block

from .core_to_core import core_to_core_here
from .harness import Plan, measure
from .thread_counters import ready_threads_s

__all__ = ["WAITED", "BlockTime", "time_block"]

Floats = NDArray[np.float64]

_SENTINEL_S, _SENTINELS = 0.002, 3
#: Of the best rate so far, from which one sentinel is enough.
_GOOD = 0.95
#: What was beside the block before is beside the next one, which is being made meanwhile.
_JUST_BEFORE_S = 0.1
#: A cache line that takes so many times as long as before: the host has moved the CPUs.
_MOVED = 2.0
#: Share of the wall that threads may have waited for a processor, and how often is measured until they have not.
WAITED, _PLACINGS = 0.05, 3
#: Of the time for a block, for what writes its inputs.
_WRITERS_SHARE = 0.5


class BlockTime(msgspec.Struct, frozen=True, kw_only=True):
    """One block.

    Args:
        work: the operator, with the distances that it has in the block; order: of writing and freeing there.
        copies, idle: operators in the block, and further ones that do nothing.
        swept_bytes: read before the first of them.
        least_s, lower_s, median_s, upper_s: minimum and quartiles of one call of the block.
        samples: calls.
        run_s: median of a call with arrays, as users make it, of a block of operators that do nothing; 0 of others: operands are bound.
        writers_s: median of a call of what writes the inputs alone; writers_spread_s: its quartiles' distance; 0 where nothing does.
        core_to_core_s: for a cache line between two CPUs, mean of before and after; moved: whether the two differ, so that neither holds.
        waited_share: of the wall, for which threads of this process were ready to run while something else ran, of the block or of its writers,
            whichever is more; 0 where the system does not say.
        quiet_flop_per_s: what multiply-adds on all processors reached before and after, the lower: less than usual where something else ran.
    """

    work: Workload
    order: Order = "turn"
    copies: int
    idle: int
    swept_bytes: int = 0
    least_s: float
    lower_s: float
    median_s: float
    upper_s: float
    samples: int
    run_s: float = 0.0
    writers_s: float = 0.0
    writers_spread_s: float = 0.0
    core_to_core_s: float = 0.0
    moved: bool = False
    waited_share: float = 0.0
    quiet_flop_per_s: float


def time_block(work: Workload, copies: int, order: Order, budget_s: float, threads: int, swept_bytes: int = 0) -> BlockTime:
    """Build, warm and measure one block in this process.

    Args:
        work, copies, order, swept_bytes: of `targets.onnx_blocks.block`.
        budget_s: of the measurement, without building; threads: of the session, 0 for the runtime's own choice.

    Raises:
        UsageError: no such operator. BackendUnavailable: onnx or onnxruntime is not installed.
    """
    made = block(work, copies, order=order, swept_bytes=swept_bytes)
    before, near = _BESIDE.now_or_just_before()
    wall, waited = _calls(made.model, made.feeds, budget_s, threads)
    least, lower, median, upper = (float(value) for value in np.quantile(wall, (0.0, 0.25, 0.5, 0.75)))
    run_s = float(np.median(_calls(made.model, made.feeds, budget_s, threads, bound=False)[0])) if work.kind == "call" else 0.0
    begin = middle = end = 0.0
    if made.writers:
        beside, waited_beside = _calls(made.writers, made.feeds, _WRITERS_SHARE * budget_s, threads)
        waited = max(waited, waited_beside)
        begin, middle, end = (float(value) for value in np.quantile(beside, (0.25, 0.5, 0.75)))
    after, far = _BESIDE.now()
    return BlockTime(
        work=made.work, order=order, copies=made.copies, idle=made.idle, swept_bytes=swept_bytes, least_s=least, lower_s=lower, median_s=median,
        upper_s=upper, samples=len(wall), run_s=run_s, writers_s=middle, writers_spread_s=end - begin, core_to_core_s=(near + far) / 2,
        moved=max(near, far) > _MOVED * min(near, far), waited_share=waited, quiet_flop_per_s=min(before, after),
    )  # fmt: skip


def _calls(model: bytes, feeds: Mapping[str, NDArray[Any]], budget_s: float, threads: int, *, bound: bool = True) -> tuple[Floats, float]:
    """Seconds of each call of a model, with operands that are bound beforehand or handed in; and the share of the wall that threads waited."""
    runtime = load_runtime()
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # As the file has them: the default order would run every reader at once, whatever is written before.
    options.execution_order = runtime.ExecutionOrder.PRIORITY_BASED
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session: Any = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    operands = session.io_binding()
    for given in session.get_inputs():
        operands.bind_ortvalue_input(given.name, runtime.OrtValue.ortvalue_from_numpy(feeds[given.name]))
    for output in session.get_outputs():
        operands.bind_output(output.name, "cpu")
    named = {given.name: feeds[given.name] for given in session.get_inputs()}

    def call() -> None:
        if bound:
            session.run_with_iobinding(operands)
        else:
            session.run(None, named)

    call()
    for _ in range(_PLACINGS):
        ready_s, begun_s = ready_threads_s(), time.perf_counter()
        result = measure(call, plan=Plan(budget_s=budget_s, at_least=5, samples=400, batched=False))
        waited = (ready_threads_s() - ready_s) / (time.perf_counter() - begun_s)
        # A thread that is new may spin on the processor of the one that calls, until the system moves it.
        if waited <= WAITED:
            break
    wall = np.asarray(result.samples.wall_s.values, np.float64)
    # Its threads spin until it is gone; a walk through all objects is only needed where something still holds it.
    gone = weakref.ref(session)
    session = operands = None
    if gone() is not None:
        gc.collect()
    return wall, max(0.0, waited)


class _Beside:
    """What goes on beside a block: multiply-adds on every processor that this process may use, 2 ms of them, and how far apart these are."""

    def __init__(self) -> None:
        self._best, self._last, self._last_s = 0.0, (0.0, 0.0), -math.inf

    def now(self) -> tuple[float, float]:
        """FLOP/s, and seconds of a cache line from one processor to another."""
        self._last = self._rate(), core_to_core_here()
        self._last_s = time.monotonic()
        return self._last

    def now_or_just_before(self) -> tuple[float, float]:
        """The same, of the end of the block before if that is just over."""
        return self._last if time.monotonic() - self._last_s < _JUST_BEFORE_S else self.now()

    def _rate(self) -> float:
        """The best of a few, since a thread may begin late; one is enough where it is nearly as good as the best so far."""
        cpus, found = tuple(sorted(os.sched_getaffinity(0))), 0.0
        for _ in range(_SENTINELS):
            operations, elapsed_s = _native.fma("fp32", _SENTINEL_S, cpus)
            found = max(found, operations / elapsed_s if elapsed_s > 0 else 0.0)
            self._best = max(self._best, found)
            if found >= _GOOD * self._best:
                break
        return found


_BESIDE = _Beside()
