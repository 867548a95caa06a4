"""Times for operators whose own profile was perturbed: from sampled lines, which do not disturb, joined to counts and shapes, which disturbance
does not change.

A perturbed level loses its times and keeps its counts. Where lines were sampled, a line's share of the samples × the native share of the wall is
the time of the operators on it; several operators on one line divide it as their ideal times stand to each other, so that
all of them show the one fraction of a ceiling that is known of their line; where the work of one is unknown, as their perturbed times do.
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
    parts = _part_of_line(table.rows, ideal_s)
    if not any(_key(row.site) in hits for row in table.rows if row.site is not None):
        return None
    # Part of every line is the interpreter's: the samplers of the wall split know how much in all, not on which line.
    native = max(0.0, 1.0 - split.interpreter.value - split.blocked.value - split.waiting.value)
    return tuple(
        _retimed(row, hits.get(_key(row.site), 0), spots.samples, part * native * wall_s) for row, part in zip(table.rows, parts, strict=True)
    )


def _key(site: Site | None) -> tuple[str | None, int | None]:
    return (site.file, site.line) if site is not None else (None, None)


def _part_of_line(rows: Sequence[OperatorRow], ideal_s: Sequence[float | None]) -> list[float]:
    """Each row's part of the time of its line, 0…1."""
    lines: dict[tuple[str | None, int | None], list[int]] = {}
    for index, row in enumerate(rows):
        if row.site is not None:
            lines.setdefault(_key(row.site), []).append(index)
    parts = [0.0] * len(rows)
    for members in lines.values():
        ideals = [ideal_s[index] for index in members]
        known = [ideal for ideal in ideals if ideal is not None]
        weights = known if len(known) == len(members) and sum(known) > 0 else [rows[index].total_s.value for index in members]
        for index, weight in zip(members, weights, strict=True):
            parts[index] = weight / sum(weights) if sum(weights) else 0.0
    return parts


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
