"""Intervals that hold by group: conformal quantiles of normalised residuals on the log scale, for devices that are known and for new ones.

This module decides how wide an interval is, from residuals of rows or devices that were held out. It leaves the difficulty σ(x) of a query to whoever
trained it, and the groups (operator, device, precision, decile of size) to the caller. Scores are |log residual| ÷ σ; the quantile of n scores at a
level is the ⌈level (n + 1)⌉-th smallest. A group's quantile is weighed against its parent's by `PSEUDO_ROWS`, so that a small group falls back to the
parent, and one never seen takes the largest that is known below the deepest parent it has.
Sources: H. Papadopoulos et al., "Inductive confidence machines for regression", 2002 (normalised scores); V. Vovk et al., "Algorithmic learning in a
random world", section 4.5 (groups). A device that was left out is not exchangeable with the rows of others: there the unit is the device, see
`for_new_device`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError, UsageError

__all__ = ["LEAST_ROWS", "PSEUDO_ROWS", "Conformal", "fit_conformal", "for_new_device", "rescaled", "upper_quantile"]

Floats = NDArray[np.float64]

#: Rows that a parent's quantile counts as beside a group's own.
PSEUDO_ROWS = 100.0
#: A group of fewer rows has no quantile of its own.
LEAST_ROWS = 20
#: A few points of a device may widen an interval freely, but are too few to narrow it.
SCALE_RANGE = (1.2, 3.0)
Path = tuple[str, ...]


def upper_quantile(scores: Floats, level: float) -> float:
    """The ⌈level (n + 1)⌉-th smallest of n ≥ 1 scores; infinite where n is too small for the level: nothing finite would hold.

    >>> upper_quantile(np.arange(1.0, 20.0), 0.9), upper_quantile(np.arange(1.0, 9.0), 0.9)
    (18.0, inf)
    """
    rank = ceil(level * (len(scores) + 1) - 1e-9)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else float("inf")


class Conformal(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.conformal/1"):
    """Quantiles of normalised scores by group.

    Args:
        level: share that intervals are to cover.
        quantiles: words of a group joined by ` / ` → quantile; the empty text is all rows. Never infinite or negative.
        rows: how many rows each of them rests on.

    Raises:
        ReadError: a quantile that cannot be, or none of all rows.
    """

    level: float
    quantiles: dict[str, float]
    rows: dict[str, int] = {}

    def __post_init__(self) -> None:
        if not 0 < self.level < 1 or "" not in self.quantiles or not all(np.isfinite(each) and each >= 0 for each in self.quantiles.values()):
            found = f"level {self.level}, {len(self.quantiles)} quantiles"
            raise ReadError("quantiles of an interval, finite and from 0, one of all rows", found=found, remedy="train the model again")

    def quantile(self, group: Path) -> float:
        """That of a group, or of the deepest parent it has; the largest below that parent, for the group itself was never seen."""
        if _text(group) in self.quantiles:
            return self.quantiles[_text(group)]
        parent = next(_text(group[:depth]) for depth in range(len(group) - 1, -1, -1) if _text(group[:depth]) in self.quantiles)
        below = [each for name, each in self.quantiles.items() if not parent or name.startswith(parent + _BETWEEN)]
        return max([self.quantiles[parent], *below])

    def half_width(self, sigma: Floats, groups: Sequence[Path]) -> Floats:
        """Half-width of the log interval, (n,), for difficulties (n,) and a group each."""
        known = {group: self.quantile(group) for group in set(groups)}
        return np.asarray(sigma * np.array([known[group] for group in groups]))


_BETWEEN = " / "


def _text(group: Path) -> str:
    return _BETWEEN.join(group)


def fit_conformal(residuals: Floats, sigma: Floats, groups: Sequence[Path], *, level: float = 0.9) -> Conformal:
    """Quantiles by group and by each of its parents.

    Args:
        residuals: log residuals of rows that were held out, (n,); sigma: their difficulty, held out too, (n,), > 0.
        groups: words from the widest to the narrowest, such as (operator, device, decile), one a row.
        level: share to cover, in (0, 1).

    Raises:
        UsageError: too few rows for the level, or a difficulty that cannot be.
    """
    if len(residuals) != len(sigma) or len(sigma) != len(groups) or not (np.isfinite(residuals).all() and (sigma > 0).all()):
        raise UsageError(
            "a finite residual, a positive difficulty and a group for each row", found=f"{len(residuals)} rows", remedy="leave bad rows out"
        )
    scores = np.abs(residuals) / sigma
    whole = upper_quantile(scores, level) if len(scores) else float("inf")
    if not np.isfinite(whole):
        raise UsageError(f"enough rows for intervals at {level:g}", found=f"{len(scores)}", remedy="hold more rows out, or lower the level")
    quantiles, rows = {"": whole}, {"": len(scores)}
    for depth in range(1, max(map(len, groups)) + 1):
        names = np.array([_text(group[:depth]) if len(group) >= depth else "" for group in groups])
        for name in np.unique(names[names != ""]):
            own = scores[names == name]
            if len(own) < LEAST_ROWS:
                continue
            above = quantiles.get(name.rpartition(_BETWEEN)[0], whole)
            mine = min(upper_quantile(own, level), float(own.max()))
            quantiles[str(name)] = (len(own) * mine + PSEUDO_ROWS * above) / (len(own) + PSEUDO_ROWS)
            rows[str(name)] = len(own)
    return Conformal(level=level, quantiles=quantiles, rows=rows)


def for_new_device(scores: Mapping[str, Floats], *, level: float = 0.9) -> float:
    """A quantile for a device of which nothing was measured, from the scores of known devices each of which was left out.

    The quantile of each device at the level, and of those the ⌈level (n + 1)⌉-th smallest, at most the largest: with few devices the worst of them,
    which promises no more than that it held for all that are known.

    Args:
        scores: device → |log residual| ÷ σ when it was left out.

    Raises:
        UsageError: no device with a score.
    """
    each = np.array([min(upper_quantile(own, level), float(own.max())) for own in scores.values() if len(own)])
    if not len(each):
        raise UsageError("scores of at least one device that was left out", found="none", remedy="leave one out")
    return float(min(upper_quantile(each, level), each.max()))


def rescaled(scores: Floats, half_quantile: float, *, level: float = 0.9, allowed: tuple[float, float] = SCALE_RANGE) -> float:
    """The factor on an interval after a few points of the device itself.

    Args:
        scores: |log residual| ÷ σ of those points, each left out in turn; half_quantile: the quantile that the interval had before, > 0.
        allowed: least and greatest factor.
    """
    if not len(scores):
        return 1.0
    found = upper_quantile(scores, level)
    if not np.isfinite(found):
        found = float(scores.max())
    return float(np.clip(found / half_quantile, *allowed))
