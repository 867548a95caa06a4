"""Input-output: the wall is spent asleep, waiting for a disk, a network, a timer or another process, or in the kernel on its way there.

System time counts here only where no fresh memory explains it; that is `allocation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ridgeline.core import HotSpot, Where

from ..case import Case, Finding, Proposal, Rule, measured_share

__all__ = ["InputOutput"]

_LEAST = 0.2


class InputOutput(Rule):
    """Names `input-output` when the caller sleeps and no thread of the process works for it."""

    causes = ("input-output",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding with the line that waits longest."""
        blocked = case.share_of("blocked")
        calling = 0.0 if case.system_is_memory() else case.share_of("system")
        if blocked + calling < _LEAST:
            return
        where = _where(case)
        yield Finding(
            cause="input-output",
            bound="latency",
            share=min(1.0, blocked + calling),
            where=where,
            evidence=(
                measured_share("blocked", blocked, origin="wall − CPU − run queue, no thread of the process working"),
                measured_share("system calls", calling, origin="system time without fresh memory behind it"),
            ),
            proposals=(
                Proposal(
                    action="cache",
                    because=f"{blocked:.0%} of the wall is waiting and {calling:.0%} is in system calls; a result kept from before needs neither",
                    gain=(2.0, math.inf),
                ),
                Proposal(
                    action="prefetch",
                    because="ask for the next item before it is needed: waiting and work then overlap, the sum becomes the larger of the two",
                    gain=_overlap(blocked),
                    metric="period",
                    share=1.0,
                ),
            ),
            summary=f"{blocked:.0%} of the wall is asleep, waiting for something outside the process"
            + (f", {calling:.0%} is in system calls" if calling >= 0.05 else ""),
        )


def _overlap(blocked: float) -> tuple[float, float]:
    """Sum → max: 1 ÷ max(blocked, rest), and half of that saving as the careful end."""
    best = 1.0 / max(blocked, 1.0 - blocked)
    return 1.0 + (best - 1.0) / 2, best


def _where(case: Case) -> Where:
    blocking = [part for part in case.judged if part.row.group == "blocking"]
    if blocking and case.shares_hold:
        return case.where(max(blocking, key=lambda part: part.share))
    spot = _blocked_spot(case)
    if spot is not None:
        return Where(function=spot.site.function, file=spot.site.file, line=spot.site.line)
    if blocking:
        return case.where(max(blocking, key=lambda part: part.share))
    return Where(lane="process")


def _blocked_spot(case: Case) -> HotSpot | None:
    spots = case.facts.hot_spots
    if spots is None:
        return None
    asleep = [spot for spot in spots.spots if spot.state == "blocked"]
    return max(asleep, key=lambda spot: spot.samples, default=None)
