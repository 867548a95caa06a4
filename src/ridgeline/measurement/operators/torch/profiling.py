"""`profile`: the operator profile of a workload, from record to table.

It decides the order of things: warm up, profile, then record once, so that nothing the recorder does can show in the times. Clean calls in between
are the caller's business (`profile_once` and `tabulate` are there for that), and so is the judgement whether the profile disturbed what it measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ridgeline.core import BackendUnavailable, OpTable, UsageError
from ridgeline.work.torch import RecordedOp, record

from .table import tabulate
from .trace import Iteration, take

__all__ = ["profile", "profile_once", "record_or_explain"]

# Records of all calls together that are still digested in seconds.
_EVENT_BUDGET = 200_000


def profile(
    call: Callable[[], Any], *, iterations: int = 10, synchronise: Callable[[Any], None] | None = None, threads: int | None = None, warmup: int = 2
) -> OpTable:
    """Profile a workload that computes with torch, operator by operator.

    Args:
        call: the workload, without arguments; its exceptions pass through.
        iterations: profiled calls, ≥ 1; fewer where a call has so many operators that ten would not fit (the table says how many).
        synchronise: waits until a result is finished.
        threads: torch's intra-op threads; asked of torch if `None`.
        warmup: calls before anything is taken, the last one under the profiler.

    Raises:
        UsageError: iterations < 1.
        BackendUnavailable: torch is not installed.
    """
    if iterations < 1:
        raise UsageError("at least one profiled call", found=repr(iterations), remedy="give iterations ≥ 1")
    available = torch_threads() if threads is None else threads
    for _ in range(warmup - 1):
        call()
    taken = take(call, synchronise=synchronise)  # also pays for starting the profiler the first time
    count = max(1, min(iterations, max(3, _EVENT_BUDGET // max(1, len(taken[0].events)))))
    if count > 1:
        taken = take(call, iterations=count, synchronise=synchronise)
    ops, note = record_or_explain(call)
    return tabulate(ops, taken, threads=available, note=note)


def profile_once(call: Callable[[], Any], *, synchronise: Callable[[Any], None] | None = None) -> Iteration:
    """Profile one call, for a caller that interleaves profiled calls with clean ones; `tabulate` joins them."""
    return take(call, synchronise=synchronise)[0]


def record_or_explain(call: Callable[[], Any]) -> tuple[tuple[RecordedOp, ...], str]:
    """Record a call; where recording itself fails although the workload runs, an empty record and why.

    Some programs refuse a dispatch mode (function transforms, exotic tensor subclasses). Their times are still worth having.
    """
    try:
        return record(call), ""
    except BackendUnavailable:
        raise
    except Exception as error:
        call()  # raises what the workload itself raises; else the recorder is at fault
        return (), f"the dispatcher's record failed ({type(error).__name__}), so work is unknown"


def torch_threads() -> int:
    """Intra-op threads of torch in this process."""
    try:
        import torch
    except ImportError as error:
        raise BackendUnavailable("PyTorch", found=str(error), remedy="pip install 'ridgeline[torch]'") from error
    return int(torch.get_num_threads())
