"""Transfer: copies between host and device on the path.

Which of the three changes applies is decided from the copies themselves: small ones pay their fixed cost each time, what goes down and comes up
again could stay, and the rest can overlap with the work. Copies within one memory are the business of `copy`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ridgeline.core import Evidence, Quantity, Where

from ..case import Case, Finding, Proposal, Rule, measured_share

__all__ = ["Transfer"]

_LEAST = 0.1
_DOWN = re.compile(r"memcpy.?(dtoh|tohost)|copy to the host|enqueueread|enqueuemap", re.IGNORECASE)
_UP = re.compile(r"memcpy.?(htod|fromhost)|copy to the device|enqueuewrite", re.IGNORECASE)
#: A copy of fewer bytes than this is its fixed cost nearly alone: some microseconds against the time of so many bytes on any link.
_SMALL_BYTES = 65_536
#: Copies of small pieces worth collecting, and how many of them one copy replaces for sure: it moves all of their bytes.
_MANY, _SURELY = 8, 20.0
_NEARLY_ALL = 0.8


@dataclass(frozen=True)
class _Copy:
    """Copies of one kind and place in one call of the target: share of the wall, number, bytes (0 if not known)."""

    where: Where
    name: str
    share: float
    calls: float
    moved_bytes: float

    @property
    def down(self) -> bool:
        """From the device to the host."""
        return _DOWN.search(self.name) is not None

    @property
    def each_bytes(self) -> float:
        """Bytes of one copy."""
        return self.moved_bytes / self.calls if self.calls else 0.0


class Transfer(Rule):
    """Names `transfer` when copies between host and device take a good part of the wall."""

    causes = ("transfer",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding for all copies together; the place is the longest."""
        copies = list(_copies(case))
        share = min(1.0, sum(copy.share for copy in copies))
        if share < _LEAST:
            return
        top = max(copies, key=lambda copy: copy.share)
        moved = sum(copy.moved_bytes for copy in copies)
        count = sum(copy.calls for copy in copies)
        evidence = [
            measured_share("transfers ÷ wall", share, origin=top.name),
            Evidence(name="transfers per call", quantity=Quantity.exact(count, "count", source="counted", origin=top.name)),
        ]
        if moved:
            evidence.append(Evidence(name="bytes per call", quantity=Quantity.exact(moved, "B", source="counted", origin=top.name)))
        yield Finding(
            cause="transfer",
            bound="latency" if _small(copies) else "bandwidth",
            share=share,
            where=top.where,
            evidence=tuple(evidence),
            proposals=tuple(_proposals(copies, share)),
            summary=f"{count:.0f} copies between host and device take {share:.0%} of the wall",
        )


def _proposals(copies: list[_Copy], share: float) -> Iterator[Proposal]:
    back = _there_and_back(copies)
    if back:
        yield Proposal(
            action="keep-on-device",
            because="what comes down goes up again at the same size: kept on the device, neither copy is needed",
            gain=(2.0, 20.0),
            share=back,
        )
    small = _small(copies)
    if small:
        fixed = sum(copy.share for copy in small)
        count = sum(copy.calls for copy in small)
        low = 1.0 + (min(count, _SURELY) - 1.0) / 4
        # Where the copies are nearly all there is, the loop around them goes with them.
        alone = fixed >= _NEARLY_ALL
        yield Proposal(
            action="batch-transfers",
            because=f"{count:.0f} copies of {small[0].each_bytes / 1e3:.1f} kB at most pay the cost of starting one each; together they pay it once",
            gain=(1.0 / (1.0 - fixed * (1.0 - 1.0 / low)), count) if alone else (low, count),
            share=1.0 if alone else fixed,
        )
    rest = 1.0 - share
    best = 1.0 / max(share, rest)
    yield Proposal(
        action="overlap-transfer",
        because=f"copies and work take turns: {share:.0%} and {rest:.0%} become the larger of the two when the next item is copied meanwhile",
        gain=(1.0 + (best - 1.0) / 2, best),
        metric="period",
        share=1.0,
    )


def _small(copies: list[_Copy]) -> list[_Copy]:
    """Copies whose fixed cost is what they take; only where there are many of them."""
    return [copy for copy in copies if 0 < copy.each_bytes < _SMALL_BYTES and copy.calls >= _MANY]


def _there_and_back(copies: list[_Copy]) -> float:
    """Share of the wall in copies down that have one of the same size up again, pair by pair; 0 if there is no such pair."""
    down = {copy.each_bytes: copy.share for copy in copies if copy.down and copy.each_bytes}
    up = {copy.each_bytes: copy.share for copy in copies if not copy.down and copy.each_bytes}
    # The first upload and the last download stay: what can go is the smaller of the two, twice.
    return sum(2 * min(down[size], up[size]) for size in down.keys() & up.keys()) / 2


def _copies(case: Case) -> Iterator[_Copy]:
    table = case.facts.waits
    if case.shares_hold:
        for part in case.judged:
            name = f"{part.row.kind} {part.row.placement.kernel}"
            if _DOWN.search(name) or _UP.search(name):
                moved = part.row.calls * sum(use.size_bytes for use in part.row.writes or ())
                yield _Copy(case.where(part), name.strip(), part.share, part.row.calls, moved)
    for wait in table.waits if table is not None and table.wall_s.value > 0 else ():
        if wait.kind == "transfer":
            site = wait.site
            where = Where(function=site.function, file=site.file, line=site.line) if site else Where(lane="device")
            yield _Copy(where, wait.on, wait.caller_s.value / table.wall_s.value if table else 0.0, wait.calls, wait.moved_bytes or 0.0)
