"""One side of a comparison: its values as units that may be taken for independent, and its summary.

Units are processes where these are known. Where all values of a side come from one process, or nobody knows, they are the values themselves, or
blocks of them where neighbours resemble each other; then what differs from process to process is not in the interval, which is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import GroundTruth, Series, SideSummary
from ridgeline.stats import QuantileInterval, clustered_quantile_interval, median_interval, process_quantiles

from .contention import clear_of

__all__ = ["Side", "ground_truth_of", "sides_of", "summary_of"]

Floats = NDArray[Any]
#: Fewest values from which autocorrelation is read, and the longest block.
_LEAST_CORRELATED = 20
_CONFIDENCE = 0.95
#: What lies beyond was never measured, and its square is no number.
_TINY, _HUGE = 1e-150, 1e150


@dataclass(frozen=True)
class Side:
    """A side.

    Attributes:
        series: what it is made of.
        processes: values of each process, those that are no value left out.
        units: what is compared: the processes, or the values or blocks of one.
        unit: `process`, `value` or `block`.
        zeros: values left out since they are not above zero, or no measure at all.
        disturbed: share of the values that are in no unit, since the core was slowed beside them.
        clock: what the values of the median unit were divided by, to be at one clock on both sides.
    """

    series: Series
    processes: tuple[Floats, ...]
    units: tuple[Floats, ...]
    unit: str
    zeros: int = 0
    disturbed: float = 0.0
    clock: float = 1.0

    @cached_property
    def values(self) -> Floats:
        """All of them, process by process."""
        return np.concatenate(self.processes) if self.processes else np.empty(0)

    @cached_property
    def has_ratio(self) -> bool:
        """Whether there are values and all are above zero, so that one side can be divided by the other."""
        return bool(self.units) and bool((self.values > _TINY).all())

    @cached_property
    def medians(self) -> Floats:
        """Of each unit."""
        found: Floats = process_quantiles(self.units, (0.5,))[0]
        return found

    @cached_property
    def tail(self) -> QuantileInterval | None:
        """The p99 of all values."""
        return clustered_quantile_interval(self.processes, 0.99, _CONFIDENCE)


def sides_of(a: Series, b: Series) -> tuple[Side, Side]:
    """Both sides, with the units that suit the pair."""
    parts = [_of_runs(series) for series in (a, b)]
    # One process against several is one draw against several: its values are no more than that.
    by_process = a.processes_known and b.processes_known and max(len(processes) for processes, _ in parts) > 1
    sides = [_side(series, processes, zeros, by_process) for series, (processes, zeros) in zip((a, b), parts, strict=True)]
    clear = clear_of(a, b) if all(side.unit == "process" and not side.zeros for side in sides) else None
    if clear is None:
        return sides[0], sides[1]
    units = zip(sides, (clear.a, clear.b), clear.shares, clear.clocks, strict=True)
    first, second = (replace(side, units=left, disturbed=share, clock=clock) for side, left, share, clock in units)
    return first, second


def _of_runs(series: Series) -> tuple[tuple[Floats, ...], int]:
    """The values of each process and how many are left out: a time or a rate of zero is that of a run that did not take place."""
    fails = series.unit == "s" or series.better == "higher"
    least = _TINY if fails else -_HUGE
    kept = [process[(process > least) & (process < _HUGE)] for process in series.by_process()]
    return tuple(process.astype(np.float64) for process in kept if process.size), len(series.values) - sum(process.size for process in kept)


def _side(series: Series, processes: tuple[Floats, ...], zeros: int, by_process: bool) -> Side:
    if by_process or (series.processes_known and len(processes) > 1):
        return Side(series, processes, processes, "process", zeros)
    values = np.concatenate(processes) if processes else np.empty(0)
    length = _block_length(values)
    units = tuple(np.array_split(values, values.size // length)) if values.size else ()
    return Side(series, processes, units, "value" if length == 1 else "block", zeros)


def _block_length(values: Floats) -> int:
    """⌈(1 + ρ) ÷ (1 − ρ)⌉ values, the reach of the autocorrelation ρ from one value to the next; 1 where it may be chance."""
    if values.size < _LEAST_CORRELATED or (values <= 0).any():
        return 1
    logs = np.log(values)
    # Without the reach of a single outlier.
    held = np.clip(logs, *np.quantile(logs, [0.05, 0.95]))
    if np.ptp(held) == 0:
        return 1
    left = held - held.mean()
    total = float(left @ left)
    correlation = min(0.95, float(left[1:] @ left[:-1]) / total)
    if correlation < 2 / math.sqrt(values.size):
        return 1
    return min(math.ceil((1 + correlation) / (1 - correlation)), values.size)


def summary_of(series: Series, side: Side) -> SideSummary:
    """The side in the unit of its values."""
    values = side.values
    found = SideSummary(
        name=series.name,
        unit=series.unit,
        samples=values.size,
        processes=len(side.processes) if series.processes_known else min(1, values.size),
        processes_known=series.processes_known,
        aggregates=series.aggregates,
        core_to_core=series.core_to_core,
    )
    if not values.size:
        return found
    tail = side.tail
    return msgspec.structs.replace(
        found,
        median=float(np.median(side.medians)),
        lower_quartile=float(np.median(process_quantiles(side.units, (0.25,))[0])),
        minimum=float(values.min()),
        p99=tail.value if tail else None,
    )


def ground_truth_of(series: Series, side: Side) -> GroundTruth | None:
    """The side as ground truth; `None` unless its values are times."""
    values = side.values
    if series.unit != "s" or not values.size:
        return None
    medians, tail = side.medians, side.tail
    found = median_interval(medians, _CONFIDENCE)
    return GroundTruth(
        samples=values.size, processes=len(side.processes) if series.processes_known else 1, warmup=0, first_s=None,
        median_s=float(np.median(medians)),
        median_ci_s=(found.low, found.high) if found else (float(medians.min()), float(medians.max())),
        p99_s=tail.value if tail else None, p99_ci_s=(tail.low, tail.high) if tail else None,
        min_s=float(values.min()), batched_s=None, noise_floor=None, overhead_s=None,
    )  # fmt: skip
