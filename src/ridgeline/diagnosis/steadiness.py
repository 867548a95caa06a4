"""Whether a benchmark has one steady state: of each process whether and where it settled, and of all whether at one level.

What is called `inconsistent` is that some processes settle and others do not, or that they settle at different levels: then neither one number nor
more calls of one process describe the benchmark. Source: L. Traini et al., Empirical Software Engineering 28, 2022 (the classes); the levels
are those of `stats.levels`.
"""

from __future__ import annotations

import numpy as np

from ridgeline.core import Benchmark, ProcessState, Steadiness
from ridgeline.core.units import format_quantity
from ridgeline.stats import LEAST_STEADY, Level, levels, steady_start

__all__ = ["steadiness_of"]

#: Fewest calls of which `never steady` is said: of fewer nobody can tell warm-up from noise.
_LEAST = 2 * LEAST_STEADY


def steadiness_of(bench: Benchmark) -> Steadiness:
    """The steadiness of a benchmark, from all its calls in order.

    Args:
        bench: calls of the warm-up among its samples.
    """
    wall, process = bench.samples.wall_s.values, bench.samples.process.values
    states = tuple(_state(int(index), wall[process == index]) for index in np.unique(process))
    judged = [state for state in states if state.state != "too few calls"]
    if not judged:
        return Steadiness(state="too few calls", processes=states, because=f"no process made {_LEAST} calls")
    never = [state for state in judged if state.state == "never steady"]
    if never:
        some = len(never) < len(judged)
        because = f"{len(never)} of {len(judged)} processes did not settle"
        return Steadiness(state="inconsistent" if some else "never steady", processes=states, because=because)
    found = levels([state.level_s for state in judged if state.level_s is not None])
    if found:
        return Steadiness(state="inconsistent", processes=states, levels_s=tuple(level.value for level in found), because=_at(found))
    return Steadiness(state="steady", processes=states, because=f"all {len(judged)} processes settled at one level")


def _at(found: tuple[Level, ...]) -> str:
    gathered = ", ".join(f"{format_quantity(level.value, 's')} ({level.share:.0%} of the processes)" for level in found)
    return f"every process settled, at different levels: {gathered}"


def _state(index: int, calls: np.ndarray) -> ProcessState:
    timed = calls[calls > 0]
    if timed.size < _LEAST:
        return ProcessState(process=index, state="too few calls")
    start = steady_start(timed)
    if start is None:
        return ProcessState(process=index, state="never steady")
    return ProcessState(process=index, state="steady", start=start, level_s=float(np.median(timed[start:])))
