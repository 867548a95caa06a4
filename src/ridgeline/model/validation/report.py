"""A `ValidationReport` from predictions of rows that were held out: pure, whatever the model was.

This module decides what is looked at (kind, device, tenth of size, fold), which cases are shown, how many points a drawing gets, and what is warned
of. The figures are computed in `metrics`, leaks are refused in `leakage`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Caution, Column, ErrorGroup, LatencyTable, UsageError, ValidationReport, WorstCase

from .leakage import refuse_leaks
from .metrics import Floats, deciles, errors, errors_by, worst_rows
from .splits import Split

__all__ = ["HeldOut", "validation_report"]

#: Points of a drawing, cases that are shown, and rows from which a group is judged.
_POINTS, _WORST, _JUDGED = 2000, 10, 100
#: Coverage under which a group is warned of, and distance of the whole from the level that is nothing.
_LEAST_OF_GROUP, _NEAR = 0.8, 0.02


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """Predictions of the test rows of one split, in the order of `split.test`.

    Args:
        split: of the table that is reported on.
        predicted_s: seconds, shape (number of test rows,); low_s, high_s: ends of the intervals, null without.
    """

    split: Split
    predicted_s: Floats
    low_s: Floats | None = None
    high_s: Floats | None = None


def validation_report(
    table: LatencyTable, parts: Sequence[HeldOut], *, model: str, data_version: str = "", level: float | None = None, check: bool = True
) -> ValidationReport:  # fmt: skip
    """What the held-out rows say; times in seconds.

    Args:
        table: all rows; parts: one for each split of one claim, of which no row is held out twice.
        level: nominal coverage of the intervals, a share in (0, 1).
        check: whether splits that leak are refused; only for splits that were checked before.

    Raises:
        UsageError: no parts, splits by different claims, a row that is held out twice, a split that leaks, predictions that do not fit.
    """
    by = _claim(parts)
    if check:
        for part in parts:
            refuse_leaks(table, part.split)
    at = np.concatenate([part.split.test for part in parts])
    if len(np.unique(at)) != len(at):
        raise UsageError(
            "splits that hold each row out once", found=f"{len(at) - len(np.unique(at))} rows held out again", remedy="report on each by itself"
        )
    predicted = np.concatenate([np.asarray(part.predicted_s, np.float64) for part in parts])
    low, high = (_ends(parts, name) for name in ("low_s", "high_s"))
    tested = table.rows(at)
    measured = tested.latency_s.values
    overall = errors(predicted, measured, low, high)
    groups: list[ErrorGroup] = []
    for name, names in _groupings(tested, parts).items():
        if len(set(names)) > 1 or name == "kind":
            groups += errors_by(name, names, predicted, measured, low, high)
    worst = tuple(_case(tested, index, predicted, low, high) for index in worst_rows(predicted, measured, _WORST))
    shown = _thinned(measured)
    return ValidationReport(
        model=model, data_version=data_version, held_out=by, how=_how(table, parts), seed=parts[0].split.seed, folds=len(parts), level=level,
        train_rows=round(float(np.mean([len(part.split.train) for part in parts]))), test_rows=len(at), overall=overall, groups=tuple(groups),
        worst=worst, predicted_s=Column(predicted[shown], "s"), measured_s=Column(measured[shown], "s"),
        point_kind=Column(tested.kind.values[shown], "1", "<i4"), point_kinds=table.kinds, excluded=table.excluded,
        warnings=_warnings(groups, overall.coverage.value if overall.coverage else None, len(at), level),
    )  # fmt: skip


def _claim(parts: Sequence[HeldOut]) -> str:
    claims = {part.split.by for part in parts}
    if len(claims) != 1:
        raise UsageError("splits by one claim", found=f"{sorted(claims)}", remedy="report on each claim by itself")
    return claims.pop()


def _ends(parts: Sequence[HeldOut], name: str) -> Floats | None:
    ends = [getattr(part, name) for part in parts]
    return np.concatenate(ends) if all(end is not None for end in ends) else None


def _groupings(tested: LatencyTable, parts: Sequence[HeldOut]) -> dict[str, list[str]]:
    size = tested.optional("flop")
    if not size.any():
        size = tested.optional("bytes")
    # Without any measure of the work its time is one; then a tenth is one of time.
    by_work = bool(size.any())
    names = [part.split.name for part in parts for _ in range(len(part.split.test))]
    tenth = "size decile" if by_work else "time decile"
    return {
        "kind": tested.texts("kind"), "device": tested.texts("device"), tenth: deciles(size if by_work else tested.latency_s.values), "fold": names,
    }  # fmt: skip


def _case(tested: LatencyTable, index: int, predicted: Floats, low: Floats | None, high: Floats | None) -> WorstCase:
    measured = float(tested.latency_s.values[index])
    return WorstCase(
        what=tested.described(index), device=tested.texts_at("device", index), place=tested.place(index), predicted_s=float(predicted[index]),
        measured_s=measured, ratio=float(predicted[index]) / measured, low_s=None if low is None else float(low[index]),
        high_s=None if high is None else float(high[index]),
    )  # fmt: skip


def _how(table: LatencyTable, parts: Sequence[HeldOut]) -> str:
    by, names = parts[0].split.by, [part.split.name for part in parts]
    once = f"{len(parts)} parts, each held out once" if len(parts) > 1 else names[0]
    among = f", of {len(set(table.texts('device')))} devices and {len(set(table.texts('kind')))} kinds of operator"
    return f"by {by}: {once}{among}"


def _thinned(measured: Floats) -> NDArray[np.intp]:
    order = np.argsort(measured, kind="stable")
    return order if len(order) <= _POINTS else order[np.linspace(0, len(order) - 1, _POINTS).round().astype(np.intp)]


def _warnings(groups: Sequence[ErrorGroup], coverage: float | None, rows: int, level: float | None) -> tuple[Caution, ...]:
    found = []
    if level is not None and coverage is not None and rows >= _JUDGED and abs(coverage - level) > _NEAR:
        wide = "wider than need be" if coverage > level else "too narrow"
        message = f"intervals at {100 * level:.3g} % cover {100 * coverage:.1f} % of the measurements"
        found.append(Caution(code="coverage", message=message, effect=f"they are {wide}"))
    for group in groups:
        covered = group.errors.coverage
        if covered is not None and group.errors.rows >= _JUDGED and covered.value < _LEAST_OF_GROUP:
            message = f"{group.by} {group.name}: intervals cover {100 * covered.value:.1f} % of {group.errors.rows} measurements"
            found.append(Caution(code="group-coverage", message=message, effect="its intervals promise too much"))
    return tuple(found)
