"""The median of measured seconds as a Quantity: distribution-free interval where there are enough of them, else their whole range, and the
confidence that either has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ridgeline.core import Quantity
from ridgeline.stats import median_interval

__all__ = ["median_of"]

_CONFIDENCE = 0.95


def median_of(seconds: Sequence[float], origin: str) -> Quantity:
    """Median of at least one time in seconds.

    The range of n values covers the median with probability 1 − 2^(1−n) (n ≥ 2): under 6 values that is all there is to say at 95 %.
    """
    values = np.asarray(seconds, dtype=np.float64)
    found = median_interval(values, _CONFIDENCE)
    covered = 1.0 - 2.0 ** (1 - len(values)) if len(values) > 1 else 0.01
    return Quantity(
        value=float(np.median(values)),
        low=found.low if found else float(values.min()),
        high=found.high if found else float(values.max()),
        confidence=_CONFIDENCE if found else covered,
        unit="s",
        source="measured",
        origin=origin,
    )
