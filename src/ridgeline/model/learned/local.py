"""What the measured neighbours of a query say, as a first answer and as features for trees: tables measured on a grid of two sizes.

This module decides how a table of residuals (log measured less log analytical) is interpolated within groups that share a grid, such as the products
of one precision and m over (n, k). It leaves the form to `kernels` and what is left over to trees. Rows that may be learned from get what would be
said of them without themselves, the others what is said from all that may be: trees therefore see in training what they will see in prediction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError

from .kriging import krige

__all__ = ["COLUMNS", "Local", "local_values"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Names of the columns of `Local.columns`; all but the variance and the first answer are differences to the first answer, 0 where there is no
#: neighbour.
COLUMNS = ("first", "variance", "near", "far", "first-before", "first-after", "second-before", "second-after", "series-before", "series-after")
#: Relative nugget, and of the two other interpolations scale ÷ scale and their nuggets.
_OTHERS = ((0.5, 1.0), (2.5, 10.0))


class Local(NamedTuple):
    """`value`: the first answer, (N,); `columns`: features, (N, len(COLUMNS))."""

    value: Floats
    columns: Floats


def local_values(
    residual: Floats, known: NDArray[np.bool_], group: Ints, sites: Floats, *, scale: float, noise: float, series: Ints | None = None,
    order: Floats | None = None, out: Ints | None = None,
) -> Local:  # fmt: skip
    """First answers and features of all rows.

    Args:
        residual: of each row, (N,); not looked at where it is not `known`.
        known: rows that may be learned from, (N,).
        group: rows that are interpolated together, (N,), ≥ 0; sites: two coordinates of each row, (N, 2), each once in a group; logs of sizes.
        scale: of the interpolation, in the sites' units; noise: its nugget.
        series, order: rows of one series follow one another in `order` across groups, such as one pair (n, k) over m; without them the last two
            columns are 0.
        out: known rows of a group with the same number are held out together, (N,); each alone if not given.

    Raises:
        UsageError: a group without a known row, or with a site twice.
    """
    count = len(residual)
    first = np.full(count, np.nan)
    columns = np.zeros((count, len(COLUMNS)))
    at = np.lexsort((sites[:, 1], sites[:, 0], group))
    pieces = np.split(at, np.flatnonzero(np.diff(group[at])) + 1)
    for rows in _alike(pieces, sites, known, out):
        here = sites[rows[0]]
        if len(np.unique(here, axis=0)) != len(here) or not known[rows[0]].any():
            raise UsageError(
                "groups with a known row and each site once", found=f"group {group[rows[0][0]]}", remedy="join repeats, or leave the group out"
            )
        seen = known[rows[0]]
        values = np.where(seen[:, None], residual[rows].T, 0.0)
        apart = None if out is None else out[rows[0]][seen]
        answers = [
            _answered(here, values, seen, np.full(2, scale * wider), noise * more, apart) for wider, more in ((1.0, 1.0), *_OTHERS)
        ]  # fmt: skip
        base, variance = answers[0]
        first[rows] = base.T
        columns[rows, 0], columns[rows, 1] = base.T, variance
        columns[rows, 2], columns[rows, 3] = (answers[1][0] - base).T, (answers[2][0] - base).T
        for place, found in enumerate(_beside(here, values, seen, out is not None)):
            columns[rows, 4 + place] = np.where(np.isnan(found), 0.0, found - base).T
    if series is not None and order is not None:
        columns[:, 8], columns[:, 9] = _along(first, series, order)
    return Local(first, columns)


def _alike(pieces: list[Ints], sites: Floats, known: NDArray[np.bool_], out: Ints | None) -> list[Ints]:
    """Groups on the same sites of which the same are known, (groups, sites) each: one inverse serves them all."""
    found: dict[bytes, list[Ints]] = {}
    for piece in pieces:
        key = sites[piece].tobytes() + known[piece].tobytes() + (b"" if out is None else out[piece].tobytes())
        found.setdefault(key, []).append(piece)
    return [np.stack(same) for same in found.values()]


def _answered(here: Floats, values: Floats, seen: NDArray[np.bool_], scale: Floats, noise: float, apart: Ints | None) -> tuple[Floats, Floats]:
    made = krige(here[seen], values[seen], here[~seen], scale=scale, noise=noise, groups=apart)
    found, variance = np.empty_like(values), np.empty(len(here))
    found[seen], found[~seen] = made.held, made.value
    variance[seen], variance[~seen] = made.held_variance, made.variance
    return found, variance


def _beside(here: Floats, values: Floats, seen: NDArray[np.bool_], rows_out: bool) -> list[Floats]:
    """Values of the nearest known site before and after in each coordinate, the other one equal, (sites, columns) each; NaN where there is none."""
    found = []
    for axis in (0, 1):
        for step in (-1, 1):
            near = np.full(values.shape, np.nan)
            for line in np.unique(here[:, 1 - axis]):
                on = np.flatnonzero(here[:, 1 - axis] == line)
                on = on[np.argsort(here[on, axis] * -step, kind="stable")]
                # Walking towards the side that is asked for: the last known one that was passed.
                last = -1
                for place in on:
                    if last >= 0:
                        near[place] = values[last]
                    if seen[place]:
                        last = int(place)
            # Along the line that a held-out row takes away nothing may be seen.
            found.append(np.full(values.shape, np.nan) if rows_out and axis == 0 else near)
    return found


def _along(first: Floats, series: Ints, order: Floats) -> tuple[Floats, Floats]:
    """First answers of the rows before and after in the series, less the row's own."""
    at = np.lexsort((order, series))
    same = np.diff(series[at]) == 0
    before, after = np.zeros(len(first)), np.zeros(len(first))
    before[at[1:][same]] = (first[at[:-1]] - first[at[1:]])[same]
    after[at[:-1][same]] = (first[at[1:]] - first[at[:-1]])[same]
    return before, after
