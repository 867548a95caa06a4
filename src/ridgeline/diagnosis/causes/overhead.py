"""Time outside the kernels: the interpreter, the dispatch of operators, and memory that is asked for and given back on every call.

Dispatch is judged by operator count × a fitted cost and never by the profile of tiny operators, which measures the profiler. Allocation is
judged by system *time* and never by fault counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ridgeline.core import Evidence, HotSpot, Quantity, Where
from ridgeline.core.units import format_quantity

from ..case import Case, Finding, Proposal, Rule, fresh_bytes, measured_share

__all__ = ["Allocation", "Dispatch", "Interpreter"]

_LEAST = 0.2
#: Share of the cost of dispatching one operator that is itself spent in the interpreter: what a Python loop over operators shows as interpreter time.
_INTERPRETED_DISPATCH = 0.5

#: Groups of operator rows that are Python at work, not a library.
_INTERPRETED_GROUPS = ("python", "view")


class Dispatch(Rule):
    """Names `dispatch` when the count of operators, not their work, makes the time."""

    causes = ("dispatch",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding."""
        fit, share = case.facts.dispatch, case.dispatch_share
        if fit is None or share < _LEAST:
            return
        issued = [part for part in case.judged if part.row.group not in ("view", "python", "blocking")]
        busiest = max(issued or case.judged, key=lambda part: (part.row.calls, part.share), default=None)
        yield Finding(
            cause="dispatch",
            bound="latency",
            share=share,
            where=case.where(busiest) if busiest else Where(),
            evidence=(
                Evidence(name="operators per call", quantity=Quantity.exact(fit.operators, "count", source="counted", origin="operator profile")),
                Evidence(name="cost of one dispatch", quantity=fit.per_operator_s),
                measured_share("dispatch share of the wall", share, origin=fit.how or "fit of time over operator count"),
            ),
            proposals=tuple(self._proposals(case, share)),
            summary=self._summary(case, share),
        )

    def _summary(self, case: Case, share: float) -> str:
        fit = case.facts.dispatch
        assert fit is not None
        each, fitted = share * case.wall_s / fit.operators, fit.per_operator_s.value
        seen = f"{fit.operators:.0f} operators at {format_quantity(each, 's')} each are {share:.0%} of the wall"
        return f"{seen}; issuing one costs {format_quantity(fitted, 's')} by the fit, their work next to nothing"

    def _proposals(self, case: Case, share: float) -> Iterator[Proposal]:
        operators = case.facts.dispatch.operators if case.facts.dispatch else 0.0
        # A compiled graph issues a few fused kernels where the program issued many; ten to one is what fusing short chains gives at the least.
        name = "compile-graph" if case.facts.dispatch and case.facts.dispatch.library == "torch" else "fuse"
        yield Proposal(
            action=name, because=f"{operators:.0f} operators each pay dispatch; fused, a few do", gain=(2.0, max(2.5, min(20.0, operators / 4)))
        )
        yield Proposal(action="batch", because="one dispatch then serves many items", gain=(2.0, max(2.5, min(20.0, operators / 4))), metric="period")


class Interpreter(Rule):
    """Names `interpreter` when Python bytecode, not native code and not dispatch, makes the time."""

    causes = ("interpreter",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding with the hottest interpreted line."""
        split = case.facts.wall_split
        if split is None:
            return
        # A loop that only asks is the interpreter at work on nothing: its cause is what it asks for.
        share = max(0.0, case.share_of("interpreter") - _INTERPRETED_DISPATCH * case.dispatch_share) * (1.0 - case.spinning)
        if share < _LEAST:
            return
        spot, part = _interpreted_spot(case), _part_of_function(case)
        where = Where(function=spot.site.function, file=spot.site.file, line=spot.site.line) if spot else Where()
        # The share comes from samples: what the promise rests on has their interval.
        ends = tuple(part * share * end / split.interpreter.value for end in (split.interpreter.low, split.interpreter.high))
        held: Any = {"share": share * part, "share_range": ends}
        yield Finding(
            cause="interpreter",
            bound="latency",
            share=share,
            where=where,
            evidence=(
                Evidence(name="interpreter share of the wall", quantity=split.interpreter),
                measured_share("dispatch share of the wall", case.dispatch_share, origin="operators × fitted cost"),
                measured_share("sampled lines in this function", part, origin="sampled lines"),
            ),
            proposals=(
                # Only what this function holds of the interpreter's time can go with it.
                Proposal(action="vectorise", because="one native call over an array replaces the loop over its items", gain=(4.0, 50.0), **held),
                Proposal(action="compile", because="the same loop as compiled code", gain=(3.0, 50.0), **held),
            ),
            summary=f"{share:.0%} of the wall is the Python interpreter, not native code; {part:.0%} of the sampled lines are in this function",
        )


class Allocation(Rule):
    """Names `allocation` when the kernel's time for handing out memory, seen as system time, is what costs."""

    causes = ("allocation",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding; the place is the operator with the most fresh bytes."""
        share = case.share_of("system")
        # System time without memory behind it is not allocation: it is reading, writing or waking.
        if share < _LEAST or not case.system_is_memory():
            return
        # Waiting for a CPU stretches all of the program alike: what is deleted is a share of the time in which it ran.
        running = min(1.0, share / max(0.1, 1.0 - case.share_of("waiting")))
        place = max(case.fresh_parts, key=fresh_bytes, default=None)
        yield Finding(
            cause="allocation",
            bound="latency",
            share=share,
            where=case.where(place) if place else _spot_where(case),
            evidence=(
                measured_share("system time", share, origin="getrusage, per thread"),
                Evidence(name="page faults per call", quantity=Quantity.exact(case.faults, "count", source="counted", origin="getrusage")),
                measured_share("faults × cost of a fault ÷ wall", case.fault_share, origin="probe"),
            ),
            proposals=(
                Proposal(
                    action="reuse-buffers",
                    because=f"{share:.0%} of the wall is the kernel clearing fresh pages; kept buffers fault once",
                    gain=(4.0, 20.0),
                    share=running,
                ),
                Proposal(
                    action="change-allocator",
                    because="an allocator that keeps freed blocks does not return them to the kernel",
                    gain=(1.5, 20.0),
                    share=running,
                ),
            ),
            summary=f"{share:.0%} of the wall is system time for fresh memory ({case.faults:.0f} page faults a call)",
        )


def _interpreted_lines(case: Case) -> list[tuple[HotSpot, float]]:
    """Sampled lines with the samples that are the interpreter's: a line is busy as well while a library works for it, and an operator's time at
    that line says for how long."""
    spots = case.facts.hot_spots
    if spots is None:
        return []
    native: dict[tuple[str | None, int | None], float] = {}
    for part in case.judged:
        if part.row.site is not None and part.row.group not in _INTERPRETED_GROUPS:
            place = (part.row.site.file, part.row.site.line)
            native[place] = native.get(place, 0.0) + part.share * spots.samples
    left = []
    for spot in spots.spots:
        if spot.state != "blocked":
            place = (spot.site.file, spot.site.line)
            taken = min(float(spot.samples), native.get(place, 0.0))
            native[place] = native.get(place, 0.0) - taken
            left.append((spot, spot.samples - taken))
    return left


def _by_function(lines: list[tuple[HotSpot, float]]) -> dict[tuple[str | None, str | None], float]:
    functions: dict[tuple[str | None, str | None], float] = {}
    for spot, samples in lines:
        place = (spot.site.file, spot.site.function)
        functions[place] = functions.get(place, 0.0) + samples
    return functions


def _interpreted_spot(case: Case) -> HotSpot | None:
    """The hottest line of the hottest function: a loop spreads over its lines, and none of them may be the hottest of the program."""
    lines = _interpreted_lines(case)
    functions = _by_function(lines)
    hottest = max(functions, key=lambda place: functions[place], default=None)
    own = [line for line in lines if (line[0].site.file, line[0].site.function) == hottest]
    return max(own, key=lambda line: line[1])[0] if own else None


def _part_of_function(case: Case) -> float:
    """Part of the interpreter's sampled lines that the place's function holds; 1 where none were sampled."""
    functions = _by_function(_interpreted_lines(case))
    whole = sum(functions.values())
    return max(functions.values()) / whole if whole else 1.0


def _spot_where(case: Case) -> Where:
    spot = _interpreted_spot(case)
    return Where(function=spot.site.function, file=spot.site.file, line=spot.site.line) if spot else Where()
