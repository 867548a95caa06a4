"""`Budget`: a limit on one order statistic of the latency, written `33.3ms@p99`, and whether a ground truth keeps it.

This module decides what the text means and when an interval settles the question; what follows from a missed budget is left to whoever asked.
"""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from .errors import UsageError
from .units import format_quantity, parse
from .verdict import GroundTruth

__all__ = ["Budget", "BudgetState", "parse_budget"]

BudgetState = Literal["met", "missed", "undecided"]
_NAMES = {"median": "median", "p50": "median", "p99": "p99"}


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """At most `limit_s` seconds at `at` (`median` or `p99`)."""

    limit_s: float
    at: Literal["median", "p99"] = "median"

    def state(self, truth: GroundTruth) -> BudgetState:
        """`met` where the whole confidence interval lies at or under the limit, `missed` where it lies above, else `undecided`.

        A p99 that has too few samples is undecided, unless the median alone already exceeds the limit (p99 ≥ median).
        """
        interval = truth.median_ci_s if self.at == "median" else truth.p99_ci_s
        if interval is not None and interval[1] <= self.limit_s:
            return "met"
        lowest = max(interval[0] if interval else 0.0, truth.median_ci_s[0])
        return "missed" if lowest > self.limit_s else "undecided"

    def __str__(self) -> str:
        return f"{format_quantity(self.limit_s, 's')} at {'the median' if self.at == 'median' else self.at}"


def parse_budget(text: str) -> Budget:
    """Read `33.3ms@p99`, `5 ms@median` or `5ms` (the median).

    Raises:
        UsageError: no positive time with its unit, or an order statistic other than median (p50) and p99.

    >>> parse_budget("33.3ms@p99")
    Budget(limit_s=0.0333, at='p99')
    """
    limit, at, name = text.partition("@")
    name = name.strip().lower() if at else "median"
    if name not in _NAMES:
        raise UsageError(
            "a budget at the median (p50) or at p99, such as 33.3ms@p99", found=repr(text), remedy="write TIME, TIME@median, TIME@p50 or TIME@p99"
        )
    if limit.strip() and limit.strip()[-1] in "0123456789.":
        # A bare 33 may be meant as milliseconds, and would be taken for half a minute.
        raise UsageError("a budget with its unit, such as 33.3ms@p99", found=repr(text), remedy="write the unit behind the number: us, ms or s")
    limit_s = parse(limit, "s")
    if not limit_s > 0:
        raise UsageError("a budget above zero, such as 33.3ms@p99", found=repr(text), remedy="give the time that a call may take")
    return Budget(limit_s=limit_s, at=cast(Literal["median", "p99"], _NAMES[name]))
