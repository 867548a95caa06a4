"""How alike two orders of the same items are: rank correlations with ties.

Sources: C. Spearman, American Journal of Psychology 15, 1904; M. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945 (τ_b);
W. Knight, "A computer method for calculating Kendall's tau with ungrouped data", JASA 61, 1966 (discordant pairs by sorting).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..core.errors import UsageError
from ._checks import Values, floats

__all__ = ["kendall", "ranks", "spearman"]


def ranks(values: Values) -> NDArray[np.float64]:
    """Ranks from 1, shape (n,), a count; equal values share the mean of theirs.

    >>> ranks([3.0, 1.0, 3.0]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(floats(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    found: NDArray[np.float64] = (last - (counts - 1) / 2)[inverse]
    return found


def spearman(one: Values, other: Values) -> float | None:
    """The correlation of the ranks, dimensionless, in −1…1; `None` under two items, or where all of a side are equal.

    Raises:
        UsageError: unequal lengths, a value that is not finite.

    >>> spearman([1, 2, 3, 4], [10, 30, 20, 40])
    0.8
    """
    a, b = _pair(one, other)
    if a.size < 2:
        return None
    a, b = ranks(a), ranks(b)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return min(1.0, max(-1.0, float(a @ b) / scale)) if scale > 0 else None


def kendall(one: Values, other: Values) -> float | None:
    """τ_b = (concordant − discordant pairs) ÷ √((pairs untied in one) (pairs untied in the other)), dimensionless; `None` as `spearman`.

    Takes n log² n steps.

    Raises:
        UsageError: unequal lengths, a value that is not finite.

    >>> round(kendall([1, 2, 3, 4], [10, 30, 20, 40]), 4)
    0.6667
    """
    a, b = _pair(one, other)
    if a.size < 2:
        return None
    _, a_code = np.unique(a, return_inverse=True)
    _, b_code = np.unique(b, return_inverse=True)
    pairs = a.size * (a.size - 1) // 2
    tied_a, tied_b = _tied(a_code), _tied(b_code)
    tied_both = _tied(a_code.astype(np.int64) * (int(b_code.max()) + 1) + b_code)
    if pairs in (tied_a, tied_b):
        return None
    discordant = _inversions(b_code[np.lexsort((b_code, a_code))])
    difference = pairs - tied_a - tied_b + tied_both - 2 * discordant
    return min(1.0, max(-1.0, difference / math.sqrt((pairs - tied_a) * (pairs - tied_b))))


def _pair(one: Values, other: Values) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = floats(one, least=0), floats(other, least=0)
    if a.size != b.size:
        raise UsageError("two series of one length", found=f"{a.size} and {b.size}", remedy="give one value an item on both sides")
    return a, b


def _tied(codes: NDArray[np.integer]) -> int:
    _, counts = np.unique(codes, return_counts=True)
    return int((counts.astype(np.int64) * (counts.astype(np.int64) - 1) // 2).sum())


def _inversions(codes: NDArray[np.integer]) -> int:
    """Pairs i < j with codes[i] > codes[j]; codes are 0 … below n. Blocks of 1, 2, 4, … are merged, all blocks of a width at once."""
    size, most = codes.size, int(codes.max()) + 1
    ordered, place = codes.astype(np.int64), np.arange(codes.size)
    found, width = 0, 1
    while width < size:
        block = place // (2 * width)
        left = (place // width) % 2 == 0
        keyed = block * most + ordered
        # Both halves of each block are in order, so all left halves together are, and all right halves.
        lefts, rights = keyed[left], keyed[~left]
        above = np.searchsorted(lefts, (block[~left] + 1) * most) - np.searchsorted(lefts, rights, side="right")
        found += int(above.sum())
        ordered = np.sort(keyed, kind="stable") - block * most
        width *= 2
    return found
