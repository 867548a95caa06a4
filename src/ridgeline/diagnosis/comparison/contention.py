"""Values that were taken while another program used the core: left out of what is compared, on both sides by one rule.

A thread of somebody else on the other half of a core makes calls longer by up to a half, for a tenth of a second to seconds, and no counter of ours
sees it. A short loop beside the calls does (`Series.sentinel_s`). The rule looks at that loop alone and never at the values, so that it says
nothing of which version is faster; where a version itself keeps the core busy (threads that spin after a call), its share gives it away, and all
values count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Series

__all__ = ["Clear", "clear_of"]

#: The fastest twentieth of the loops ran alone, if any did.
_ALONE = 0.05
#: Loops that took this many times as long had company.
_COMPANY = 1.1
#: Fewest values of a process, and the part of the processes of each side, that must be left.
_LEAST_VALUES, _LEAST_PART, _LEAST_PROCESSES = 5, 0.5, 5
#: Shares of values with company may differ by this much between the sides.
_ALIKE = 0.25


@dataclass(frozen=True)
class Clear:
    """The undisturbed values of each process that has enough of them, for both sides; and the shares that were disturbed."""

    a: tuple[NDArray[Any], ...]
    b: tuple[NDArray[Any], ...]
    shares: tuple[float, float]


def clear_of(a: Series, b: Series) -> Clear | None:
    """What is left of both sides without the values that had company; `None` where nobody looked, all were alone, or too little is left."""
    if a.sentinel_s is None or b.sentinel_s is None or not (len(a.values) and len(b.values)):
        return None
    looks = [series.sentinel_s.values for series in (a, b) if series.sentinel_s is not None]
    limit = _COMPANY * float(np.quantile(np.concatenate(looks), _ALONE))
    alone = [look <= limit for look in looks]
    shares = 1.0 - float(alone[0].mean()), 1.0 - float(alone[1].mean())
    if max(shares) == 0 or abs(shares[0] - shares[1]) > _ALIKE:
        return None
    left = [_left(series, kept) for series, kept in zip((a, b), alone, strict=True)]
    for series, units in zip((a, b), left, strict=True):
        if len(units) < max(_LEAST_PROCESSES, _LEAST_PART * len(series.by_process())):
            return None
    return Clear(left[0], left[1], shares)


def _left(series: Series, kept: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    values, process = series.values.values, series.process.values
    units = (values[(process == number) & kept] for number in np.unique(process))
    return tuple(unit.astype(np.float64) for unit in units if unit.size >= _LEAST_VALUES)
