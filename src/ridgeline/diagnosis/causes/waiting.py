"""Input-output: the wall is spent asleep, waiting for a disk, a network, a timer or another process, or in the kernel on its way there.

System time counts here only where no fresh memory explains it; that is `allocation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ridgeline.core import HotSpot, Wait, Where

from ..case import Case, Finding, Proposal, Rule, measured_share
from ..waited import busy_waits

__all__ = ["InputOutput"]

_LEAST = 0.2


class InputOutput(Rule):
    """Names `input-output` when the caller sleeps and no thread of the process works for it."""

    causes = ("input-output",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding with the line that waits longest."""
        # Waiting for a lock or for one's own threads is no input and no output unless these are asleep for it.
        blocked = max(0.0, case.share_of("blocked") - busy_waits(case))
        # A loop that gives its CPU away again and again is in the kernel for nothing: that is no input and no output.
        calling = 0.0 if case.system_is_memory() else case.share_of("system") * (1.0 - case.spinning)
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
                *_children_at_once(case),
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
            summary=f"{blocked:.0%} of the wall is asleep, waiting for {_what(case)}"
            + (f", {calling:.0%} is in system calls" if calling >= 0.05 else ""),
        )


def _overlap(blocked: float) -> tuple[float, float]:
    """Sum → max: 1 ÷ max(blocked, rest), and half of that saving as the careful end."""
    best = 1.0 / max(blocked, 1.0 - blocked)
    return 1.0 + (best - 1.0) / 2, best


def _children(case: Case) -> list[Wait]:
    """Waits of the caller for child processes, the longest first."""
    table = case.facts.waits
    waits = [wait for wait in table.waits if wait.kind == "process" and wait.caller_s.value > 0] if table is not None else []
    return sorted(waits, key=lambda wait: -wait.caller_s.value)


def _children_share(case: Case) -> float:
    table = case.facts.waits
    return min(1.0, sum(wait.caller_s.value for wait in _children(case)) / table.wall_s.value) if table is not None else 0.0


def _what(case: Case) -> str:
    waits = _children(case)
    if not waits or _children_share(case) < case.share_of("blocked") / 2:
        return "something outside the process"
    count = sum(wait.calls for wait in waits)
    return f"{count:.0f} child processes, one after another" if count >= 1.5 else "a child process"


def _children_at_once(case: Case) -> Iterator[Proposal]:
    """Several children that are waited for one after another could run at once: the longest of them instead of the sum, as far as the CPUs carry
    their CPU time; one a CPU at a time where that is not known."""
    waits, share = _children(case), _children_share(case)
    count = sum(wait.calls for wait in waits)
    total = sum(wait.caller_s.value for wait in waits)
    if count < 1.5 or share < _LEAST or total <= 0:
        return
    longest = max(min(wait.longest_s or total, wait.caller_s.value) for wait in waits)
    known = all(wait.child_cpu_s is not None for wait in waits)
    cpu = min(total, sum(wait.child_cpu_s or 0.0 for wait in waits)) if known else total
    gain = 1.0 / min(1.0, max(longest / total, cpu / total / case.cores, 1.0 / count))
    if gain >= 1.1:
        because = f"{count:.0f} child processes take {share:.0%} of the wall one after another; started together they take as long as the longest"
        yield Proposal(
            action="parallelise",
            because=f"{because}, and no less than their CPU time on {case.cores} CPUs",
            gain=(1.0 + (gain - 1.0) / 2, gain),
            share=share,
        )


def _where(case: Case) -> Where:
    children = _children(case)
    if children and children[0].site is not None and _children_share(case) >= case.share_of("blocked") / 2:
        site = children[0].site
        return Where(function=site.function, file=site.file, line=site.line)
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
