"""Times for operators whose own profile was perturbed: from sampled lines, which do not disturb, joined to counts and shapes, which disturbance
does not change.

A perturbed level loses its times and keeps its counts. Where lines were sampled, a line's share of the samples × the native share of the wall is
the time of the operators on it. Several operators on one line divide it as their perturbed times less the cost of a record stand to each other,
and none gets a smaller part than its work at its ceiling has: of two short calls the one that is dear to make is the dear one, however little it
computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import Facts, OperatorRow, Quantity, Site
from ridgeline.stats import wilson_interval

__all__ = ["resampled_rows"]

_LEAST_SAMPLES = 100
_CONFIDENCE = 0.95


def resampled_rows(facts: Facts, wall_s: float, ideal_s: Sequence[float | None]) -> tuple[OperatorRow, ...] | None:
    """The operator rows with times from sampled lines.

    Args:
        facts: with operators, hot spots and the wall split.
        wall_s: median wall of the ground truth, seconds.
        ideal_s: seconds that each row's work needs at its ceiling, `None` where that is not known.

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
    calls = sum(row.calls for row in table.rows)
    record_s = max(0.0, table.wall_s.value - wall_s) / calls if calls else 0.0
    parts = _part_of_line(table.rows, ideal_s, record_s)
    if not any(_key(row.site) in hits for row in table.rows if row.site is not None):
        return None
    # Part of every line is the interpreter's: the samplers of the wall split know how much in all, not on which line.
    native = max(0.0, 1.0 - split.interpreter.value - split.blocked.value - split.waiting.value)
    return tuple(
        _retimed(row, hits.get(_key(row.site), 0), spots.samples, part * native * wall_s) for row, part in zip(table.rows, parts, strict=True)
    )


def _key(site: Site | None) -> tuple[str | None, int | None]:
    return (site.file, site.line) if site is not None else (None, None)


def _part_of_line(rows: Sequence[OperatorRow], ideal_s: Sequence[float | None], record_s: float) -> list[float]:
    """Each row's part of the time of its line, 0…1; `record_s` is what the profile added for each operator."""
    weights = [max(ideal or 0.0, row.total_s.value - record_s * row.calls, row.total_s.value / 20) for row, ideal in zip(rows, ideal_s, strict=True)]
    lines: dict[tuple[str | None, int | None], float] = {}
    for row, weight in zip(rows, weights, strict=True):
        lines[_key(row.site)] = lines.get(_key(row.site), 0.0) + weight
    return [
        weight / lines[_key(row.site)] if row.site is not None and lines[_key(row.site)] else 0.0 for row, weight in zip(rows, weights, strict=True)
    ]


def _retimed(row: OperatorRow, count: int, samples: int, scale_s: float) -> OperatorRow:
    """The row with `count` of `samples` × `scale_s` as its time."""
    low, high = wilson_interval(count, samples, confidence=_CONFIDENCE)
    time = Quantity(
        value=scale_s * count / samples,
        low=scale_s * low,
        high=scale_s * high,
        confidence=_CONFIDENCE,
        unit="s",
        source="measured",
        origin=f"{count} of {samples} sampled lines × native share of the wall",
    )
    return msgspec.structs.replace(row, total_s=time)
