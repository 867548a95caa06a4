"""`ChangeTrial`: one change that was applied to a target and measured beside the original. Facts only; what follows is decided in `diagnosis`."""

from __future__ import annotations

from typing import Literal

import msgspec

from .quantity import Quantity

__all__ = ["ChangeTrial", "OutputCheck", "Untried"]


class OutputCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the changed target computes the same.

    Args:
        state: `equal` within the tolerance, `differs`, or `unknown` where nothing could be compared.
        difference: largest |after − before| of an array ÷ its largest |before|; 0 for bit-equal, null where it is no number.
        tolerance: what was allowed, in the same measure.
        reason: why it differs or cannot be compared, or in what an equal one is another.
    """

    state: Literal["equal", "differs", "unknown"]
    difference: float | None = None
    tolerance: float = 0.0
    reason: str = ""


class ChangeTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One change beside the original.

    Args:
        change: its name in the registry.
        actions: names of the actions that it carries out.
        metric: `latency` of one call or `period` between results.
        speedup: time of the original ÷ time with the change, of the same minute; null where the trial failed.
        tail: the same of the 95th percentile; null where there were too few calls.
        before_s, after_s: medians, seconds a call (for `period`: seconds an item).
        pairs: neighbouring blocks of calls of the two.
        rounds: fresh pairs of processes.
        output: whether it computes the same.
        failure: why there is no result, such as a crash.
        caveat: what a person who keeps the change must know.
    """

    change: str
    output: OutputCheck
    actions: tuple[str, ...] = ()
    metric: Literal["latency", "period"] = "latency"
    speedup: Quantity | None = None
    tail: Quantity | None = None
    before_s: Quantity | None = None
    after_s: Quantity | None = None
    pairs: int = 0
    rounds: int = 0
    failure: str = ""
    caveat: str = ""


class Untried(msgspec.Struct, frozen=True, kw_only=True):
    """An action that was not tried, by which change it would have been (empty where none does it), and why not."""

    action: str
    change: str = ""
    reason: str = ""
