"""Whether a benchmark has one steady state: of each process whether and where it settled, and of all whether at one level.

What is called `inconsistent` is that some processes settle and others do not, or that they settle at different levels: then neither one number nor
more calls of one process describe the benchmark. Two things must not be taken for it. Calls that were disturbed from outside (preempted, waiting
for a CPU, in time that was stolen or throttled) say nothing about whether the program settled, and are left out where enough others are left. And
one process in ten that did not settle is what a passing neighbour makes of a program that does: it is counted and said, and changes no verdict.
Source: L. Traini et al., Empirical Software Engineering 28, 2022 (the classes); the levels are those of `stats.levels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Benchmark, ProcessState, Steadiness
from ridgeline.core.units import format_quantity
from ridgeline.stats import LEAST_STEADY, Level, levels, steady_start

__all__ = ["steadiness_of"]

#: Fewest calls of which `never steady` is said: of fewer nobody can tell warm-up from noise.
_LEAST = 2 * LEAST_STEADY
#: One process in so many may not settle without the benchmark being called inconsistent.
_ONE_IN = 10
#: Calls that were disturbed are left out if at least this part of the calls of their process is left.
_LEFT = 0.5


def steadiness_of(bench: Benchmark) -> Steadiness:
    """The steadiness of a benchmark, from all its calls in order.

    Args:
        bench: calls of the warm-up among its samples.
    """
    samples, process = bench.samples, bench.samples.process.values
    wall, disturbed = samples.wall_s.values, samples.disturbed()
    states = tuple(_state(int(index), wall[process == index], disturbed[process == index]) for index in np.unique(process))
    judged = [state for state in states if state.state != "too few calls"]
    if not judged:
        return Steadiness(state="too few calls", processes=states, because=f"no process made {_LEAST} calls")
    settled = [state.level_s for state in judged if state.level_s is not None]
    never = len(judged) - len(settled)
    counts = f"all {len(judged)} processes" if not never else f"{len(settled)} of {len(judged)} processes"
    if never * _ONE_IN > len(judged):
        return Steadiness(
            state="inconsistent" if settled else "never steady",
            processes=states,
            settled=len(settled),
            because=f"{never} of {len(judged)} processes did not settle",
        )
    found = levels(settled)
    if found:
        at = tuple(level.value for level in found)
        return Steadiness(state="inconsistent", processes=states, settled=len(settled), levels_s=at, because=f"{counts} settled, {_at(found)}")
    return Steadiness(state="steady", processes=states, settled=len(settled), because=f"{counts} settled at one level")


def _at(found: tuple[Level, ...]) -> str:
    gathered = ", ".join(f"{format_quantity(level.value, 's')} ({level.share:.0%} of the processes)" for level in found)
    return f"at different levels: {gathered}"


def _state(index: int, calls: NDArray[Any], disturbed: NDArray[np.bool_]) -> ProcessState:
    timed = np.flatnonzero(calls > 0)
    if timed.size < _LEAST:
        return ProcessState(process=index, state="too few calls")
    kept = timed[~disturbed[timed]]
    if kept.size < max(_LEAST, _LEFT * timed.size):
        kept = timed
    left_out = timed.size - kept.size
    start = steady_start(calls[kept])
    if start is None:
        return ProcessState(process=index, state="never steady", left_out=left_out)
    level_s = float(np.median(calls[kept[start:]]))
    # Steady from the first call that was looked at is steady from the first call.
    return ProcessState(process=index, state="steady", start=int(kept[start]) if start else 0, level_s=level_s, left_out=left_out)
