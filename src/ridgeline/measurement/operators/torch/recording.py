"""A trace of several calls as the file that torch's profiler writes, for readers of traces.

Every call lies in a range `ProfilerStep#k`, the name that torch's own schedule gives its steps, so that whoever reads the file finds the calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .trace import marked_calls, session, take

__all__ = ["record_trace"]

#: Records of all calls together: each is about 300 bytes of the file, more with shapes or stacks.
_MOST_RECORDS = 200_000


def record_trace(
    call: Callable[[], Any],
    file: Path,
    iterations: int,
    *,
    synchronise: Callable[[Any], None] | None = None,
    seconds: float = math.inf,
    shapes: bool = False,
    stacks: bool = False,
) -> list[float]:
    """Record calls into `file`, Chrome trace events as JSON.

    Args:
        call: the workload, which has run before; its exceptions pass through.
        iterations: calls, ≥ 1; fewer where a call has so many operators that the file would grow out of hand, or takes so long under the profiler
            that all would take more than `seconds`.
        synchronise: waits until a result is finished.
        shapes, stacks: record the shapes of inputs, and the Python functions around the operators.

    Returns:
        Seconds of each recorded call, by a clock around it.

    Raises:
        BackendUnavailable: torch, or its profiler, is not there.
    """
    count = iterations
    if iterations > 1:
        # Pays for starting the profiler the first time as well.
        one = take(call, synchronise=synchronise)[0]
        count = max(1, min(iterations, _MOST_RECORDS // max(1, len(one.events))))
        if count * one.check_s > seconds:
            count = max(1, int(seconds / one.check_s))
    with session(record_shapes=shapes, with_stack=stacks) as profiler:
        walls = marked_calls(call, [f"ProfilerStep#{index}" for index in range(1, count + 1)], synchronise)
    profiler.export_chrome_trace(str(file))
    return walls
