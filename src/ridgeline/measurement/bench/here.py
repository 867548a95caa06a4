"""A call that exists only in this process, such as a lambda: measured here, in one process, which is said."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ridgeline.core import Benchmark, TargetInfo
from ridgeline.targets import Prepared

from ..agent.bench import measured
from ..core_to_core import CoreToCoreWatch
from .columns import columns_of
from .gathered import Gathered
from .plan import BenchPlan, ProcessPlan

__all__ = ["bench_here"]

#: Part of the budget that goes to calls.
_PART = 0.9
#: One process stands for all here.
_MOST_SAMPLES = 50_000


def bench_here(
    call: Callable[..., Any],
    name: str,
    plan: BenchPlan,
    *,
    seed: int = 0,
    threads: int = 0,
    inputs: Any = None,
    synchronise: str | Callable[..., Any] = "auto",
) -> Benchmark:
    """Measure a call in this process.

    Args:
        call: without arguments, or of one where there are inputs.
        name: what it is called in the record.
        plan: its budget; everything about processes means nothing here.
        inputs: list, mapping or generator of inputs, or a function that returns one, as `file.py:function`; null for none.
        synchronise: `auto`, `none`, or a function that waits, itself or as `file.py:function`.

    Raises:
        UsageError: inputs without a function of one argument, or that are none.
        Exception: whatever the call raises.
    """
    from ridgeline.targets.given import given_here
    from ridgeline.targets.preparation import first_call

    began_ns = time.monotonic_ns()
    gathered = Gathered(began_ns, seed=seed, cache=plan.cache)
    prepared = Prepared(call=call, info=TargetInfo(spec=name, kind="python", name=name, threads=threads))
    given_here(prepared, inputs, synchronise)
    first_call(prepared)
    apart = CoreToCoreWatch()
    apart.look()
    seconds = plan.process_s or _PART * plan.budget_s
    report = measured(
        prepared, ProcessPlan(seconds=seconds, most_s=seconds, samples=plan.samples, most_samples=_MOST_SAMPLES, cache=plan.cache, seed=seed)
    )
    apart.look()
    gathered.target, gathered.input_names = report.info, report.input_names
    gathered.add(
        columns_of(report.pieces, report.batches, report.device),
        start_ns=began_ns,
        first_s=report.first_s,
        load_s=None,
        overhead=report.overhead,
        cautions=report.warnings,
        stages=report.stages,
    )
    gathered.placed(apart.taken())
    return gathered.benchmark()
