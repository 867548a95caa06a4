"""Stages beside the latency: some calls more with the recorder on, after the samples, in processes whose target marks stages.

Recording costs well under a microsecond a stage, so these calls are not among the samples. A stage's time is that of all its entries in a call
together, whether they overlap or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["stage_medians"]

_CALLS, _LEAST = 30, 3


def stage_medians(call: Callable[[], Any], synchronise: Callable[[Any], Any] | None, seconds: float) -> dict[str, float]:
    """Stage → median seconds a call.

    Args:
        seconds: about how long to record, after three calls.
    """
    from ..stages.recorder import recording

    windows: list[tuple[int, int]] = []
    until = time.monotonic() + seconds
    with recording() as found:
        while len(windows) < _CALLS and (len(windows) < _LEAST or time.monotonic() < until):
            before = time.monotonic_ns()
            result = call()
            if synchronise is not None:
                synchronise(result)
            windows.append((before, time.monotonic_ns()))
    starts, ends = found.events["start_ns"], found.events["end_ns"]
    medians = {}
    for index, name in enumerate(found.names):
        own = (found.events["name"] == index) & (index not in found.models)
        if own.any():
            each = [int((ends - starts)[own & (starts >= before) & (starts <= after)].sum()) for before, after in windows]
            medians[name] = float(np.median(each)) / 1e9
    return medians
