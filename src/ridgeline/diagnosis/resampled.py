"""Times for operators whose own profile was perturbed: from sampled lines, which do not disturb, joined to counts and shapes, which disturbance
does not change.

A perturbed level loses its times and keeps its counts. Where lines were sampled, a line's share of the samples × the native share of the wall is
the time of the operators on it; several operators on one line divide it as their perturbed times stand to each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import Facts, OperatorRow, Quantity, Site
from ridgeline.stats import wilson_interval

__all__ = ["resampled_rows"]

_LEAST_SAMPLES = 100
_CONFIDENCE = 0.95


def resampled_rows(facts: Facts, wall_s: float) -> tuple[OperatorRow, ...] | None:
    """The operator rows with times from sampled lines.

    Args:
        facts: with operators, hot spots and the wall split.
        wall_s: median wall of the ground truth, seconds.

    Returns:
        The rows in the same order, or `None` where there are too few samples, no lines, or no place to join them by.
    """
    table, spots, split = facts.operators, facts.hot_spots, facts.wall_split
    if table is None or spots is None or split is None or spots.samples < _LEAST_SAMPLES or wall_s <= 0:
        return None
    hits: dict[tuple[str | None, int | None], int] = {}
    for spot in spots.spots:
        if spot.state != "blocked":
            hits[_key(spot.site)] = hits.get(_key(spot.site), 0) + spot.samples
    perturbed = _time_by_line(table.rows)
    if not any(key in hits for key in perturbed):
        return None
    # Part of every line is the interpreter's: the samplers of the wall split know how much in all, not on which line.
    native = max(0.0, 1.0 - split.interpreter.value - split.blocked.value - split.waiting.value)
    return tuple(_retimed(row, hits, perturbed, spots.samples, native * wall_s) for row in table.rows)


def _key(site: Site | None) -> tuple[str | None, int | None]:
    return (site.file, site.line) if site is not None else (None, None)


def _time_by_line(rows: Sequence[OperatorRow]) -> dict[tuple[str | None, int | None], float]:
    times: dict[tuple[str | None, int | None], float] = {}
    for row in rows:
        if row.site is not None:
            times[_key(row.site)] = times.get(_key(row.site), 0.0) + row.total_s.value
    return times


def _retimed(
    row: OperatorRow,
    hits: dict[tuple[str | None, int | None], int],
    perturbed: dict[tuple[str | None, int | None], float],
    samples: int,
    native_s: float,
) -> OperatorRow:
    key = _key(row.site)
    on_line = perturbed.get(key, 0.0)
    part = row.total_s.value / on_line if on_line else 0.0
    count = hits.get(key, 0)
    low, high = wilson_interval(count, samples, confidence=_CONFIDENCE)
    scale = part * native_s
    time = Quantity(
        value=scale * count / samples,
        low=scale * low,
        high=scale * high,
        confidence=_CONFIDENCE,
        unit="s",
        source="measured",
        origin=f"{count} of {samples} sampled lines × native share of the wall",
    )
    return msgspec.structs.replace(row, total_s=time)
