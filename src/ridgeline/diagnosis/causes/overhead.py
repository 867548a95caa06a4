"""Time outside the kernels: the interpreter, the dispatch of operators, and memory that is asked for and given back on every call.

Dispatch is judged by operator count × a fitted cost and never by the profile of tiny operators, which measures the profiler. Allocation is
judged by system *time* and never by fault counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ridgeline.core import Evidence, HotSpot, Quantity, WallSplit, Where
from ridgeline.core.units import format_quantity

from ..bounds import DENSE, MOST, dense_share, kept_near, remaining, vanishing
from ..case import Case, Finding, Proposal, Rule, fresh_bytes, measured_share
from ..ceilings import bandwidth_ceiling
from ..interpreted import interpreted_lines, interpreter_share
from .objects import FoundCall, object_call
from .unexplained import UNKNOWN

__all__ = ["Allocation", "Dispatch", "Interpreter"]

_LEAST = 0.2
#: Fused or batched, no more than so many operators become one.
_MOST_FEWER = 20.0
#: Part of the interpreter's share that a loop holds at the least where no sampled line says which loop.
_NO_LINE = 0.5
#: A call of the target that takes no longer and holds no loop is mostly what Python needs to make it.
_SHORT_S = 50e-6
#: What is not explained, or only shared out among more items, weighs as if a third of it could be recovered.
_WEIGHT = 0.3
#: Kept buffers leave at the most a quarter of the system time: other memory, and the calls around it.
_KEPT = 4.0
#: Bytes that one fault clears at the least.
_PAGE = 4096
_COMPILED = Proposal(action="compile", because="the same loop as compiled code", gain=(3.0, MOST))
_VECTORISED = Proposal(action="vectorise", because="one native call over an array replaces the loop over its items", gain=(4.0, MOST))
#: What replaces the interpreter's work, by how the program comes to its lines again (`HotSpot.again`).
_INSTEAD = {
    "loop": (_VECTORISED, _COMPILED),
    "recursion": (replace(_COMPILED, because="the same recursion as compiled code"),),
    "": (
        replace(_VECTORISED, because="if it is a loop over items, one native call over an array replaces it"),
        replace(_COMPILED, because="the same lines as compiled code"),
    ),
    "no": (
        Proposal(
            action="batch",
            because="no loop is there to replace; where one call can do more, what Python needs for any call is shared by more items",
            gain=(1.0, MOST),
            metric="period",
        ),
    ),
}


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
                *([case.dispatch_evidence] if case.dispatch_evidence is not None else []),
            ),
            proposals=tuple(self._proposals(case, share)),
            summary=self._summary(case, share),
            # The place is the one that pays most often; the cost is of all of them.
            operators=max(1, round(fit.operators)),
        )

    def _summary(self, case: Case, share: float) -> str:
        fit = case.facts.dispatch
        assert fit is not None
        each, fitted = share * case.wall_s / fit.operators, fit.per_operator_s.value
        seen = f"{fit.operators:.0f} operators at {format_quantity(each, 's')} each are {share:.0%} of the wall"
        return f"{seen}; issuing one costs {format_quantity(fitted, 's')} by the fit, {self._fitted(case):.0%} in all, their work next to nothing"

    def _fitted(self, case: Case) -> float:
        fit = case.facts.dispatch
        return min(1.0, fit.per_operator_s.value * fit.operators / case.wall_s) if fit is not None and case.wall_s else 0.0

    def _proposals(self, case: Case, share: float) -> Iterator[Proposal]:
        operators = case.facts.dispatch.operators if case.facts.dispatch else 0.0
        fewer = max(2.5, min(_MOST_FEWER, operators / 4))
        # Of what the fit does not explain it is not known that fewer operators would take less.
        sure = min(share, case.dispatch_evidence.quantity.low) if case.dispatch_evidence is not None else share
        # Compiled or fused, all goes that is not arithmetic of products: intermediate results, their page faults, Python between the operators.
        around = max(share, vanishing(case, case.judged) - dense_share(case))
        rest = [part for part in case.judged if part.row.group not in DENSE]
        # A compiled graph issues a few fused kernels where the program issued many; ten to one is what fusing short chains gives at the least.
        name = "compile-graph" if case.facts.dispatch and case.facts.dispatch.library == "torch" else "fuse"
        because = f"{operators:.0f} operators each pay dispatch; fused, a few do"
        best = _at_best(around, share / fewer + remaining(case, rest, fewer_bytes=fewer))
        yield Proposal(action=name, because=because, gain=(2.0, best), share_range=(sure, around))
        # An item of a batch pays its arithmetic at the rate that large operands reach, and a part of everything else.
        everything = max(share, vanishing(case, case.judged))
        yield Proposal(
            action="batch",
            because="one dispatch then serves many items, and each operator runs at the rate of larger operands",
            gain=(2.0, _at_best(everything, share / fewer + remaining(case, case.judged, fewer_bytes=fewer))),
            metric="period",
            share_range=(sure, everything),
        )


def _at_best(share: float, left: float) -> float:
    """By what factor a share shrinks of which so much is left."""
    return max(2.0, min(MOST, share / left if left > 0 else MOST))


class Interpreter(Rule):
    """Names `interpreter` when Python bytecode, not native code and not dispatch, makes the time."""

    causes = ("interpreter", UNKNOWN)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding with the hottest interpreted line; a long call of a library has its own."""
        split = case.facts.wall_split
        if split is None:
            return
        call = object_call(case)
        share = _without(case, interpreter_share(case), call)
        if share >= _LEAST:
            yield _interpreted(case, split, share, call)


def _without(case: Case, share: float, call: FoundCall | None) -> float:
    """The interpreter's share without a call that goes through objects: the larger of what its time leaves and what its lines leave.

    To the sampler of program counters such a call is native code or the interpreter, as its library was built; so neither alone is enough. Of native
    code at work on one buffer nothing is the interpreter's.
    """
    if call is None or (call.native and not call.walks):
        return share
    whole, rest = (sum(samples for _, samples in interpreted_lines(case, apart)) for apart in (None, call.where))
    return max(share - call.share, share * rest / whole if whole else 0.0)


def _interpreted(case: Case, split: WallSplit, share: float, call: FoundCall | None) -> Finding:
    """The function with the most of the interpreter's time, a call of a library apart."""
    lines = interpreted_lines(case, call.where if call is not None else None)
    spot, part = _interpreted_spot(lines), _part_of_function(lines)
    where = Where(function=spot.site.function, file=spot.site.file, line=spot.site.line) if spot else Where()
    # The share comes from samples: what the promise rests on has their interval. Where no line was seen the loop may hold little of it.
    held = share * (1.0 if part is None else part)
    careful = _NO_LINE if part is None else 1.0
    ends = (held * careful * split.interpreter.low / split.interpreter.value, held * split.interpreter.high / split.interpreter.value)
    seen = f"{part:.0%} of the sampled lines are in this function" if part is not None else "no line of it was sampled"
    again = _again(lines, spot)
    open_ = again == "no" and case.wall_s > _SHORT_S
    return Finding(
        cause=UNKNOWN if open_ else "interpreter",
        bound="inconclusive" if open_ else "latency",
        share=share,
        where=where,
        evidence=(
            Evidence(name="interpreter share of the wall", quantity=split.interpreter),
            *([case.dispatch_evidence] if case.dispatch_evidence is not None else []),
            *([measured_share("sampled lines in this function", part, origin="sampled lines")] if part is not None else []),
        ),
        # Only what this function holds of the interpreter's time can go with it, and at the best all of that.
        proposals=() if open_ else tuple(replace(made, share=held, share_range=ends) for made in _INSTEAD[again]),
        summary=f"{share:.0%} of the wall is the Python interpreter, not native code; {seen}{_no_loop(case) if again == 'no' else ''}",
        missing="lines: what is called there was not looked into" if open_ else "",
        rank=share * _WEIGHT if again == "no" else None,
    )


def _no_loop(case: Case) -> str:
    if case.wall_s > _SHORT_S:
        return "; no loop of the program's is there, so it is what these lines call, in Python or built into it"
    return f"; no loop is there: a call takes {format_quantity(case.wall_s, 's')}, much of which is what Python needs for any call"


def _again(lines: list[tuple[HotSpot, float]], hottest: HotSpot | None) -> str:
    """How the program comes again to the lines of the hottest function: what any of them says, `no` only if all do."""
    if hottest is None:
        return ""
    found = {spot.again for spot, _ in lines if (spot.site.file, spot.site.function) == (hottest.site.file, hottest.site.function)}
    return next((way for way in ("loop", "recursion", "") if way in found), "no")


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
        # Pages that are kept are near as well: at the best, what the operators move comes from a cache.
        ends = (running, min(1.0, running + kept_near(case, case.fresh_parts)))
        place = max(case.fresh_parts, key=fresh_bytes, default=None)
        careful = _careful(case, running)
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
                    gain=(careful, MOST),
                    share=running,
                    share_range=ends,
                ),
                Proposal(
                    action="change-allocator",
                    because="an allocator that keeps freed blocks does not return them to the kernel",
                    gain=(min(1.5, careful), MOST),
                    share=running,
                    share_range=ends,
                ),
            ),
            summary=f"{share:.0%} of the wall is system time for fresh memory ({case.faults:.0f} page faults a call)",
            # The cause is as large as its share, however little of it a change is sure to save.
            rank=running * (1.0 - 1.0 / _KEPT),
        )


def _careful(case: Case, running: float) -> float:
    """By what factor the kernel's time for fresh memory shrinks at the least when buffers are kept.

    Clearing a page brings it into the cache, where the operator that writes it finds it; of a kept buffer the operator fetches each line itself. What
    is saved is system − fresh bytes ÷ bandwidth at their size, of which `_KEPT` leaves a quarter behind.
    """
    device, pages = case.facts.device, max(case.faults * _PAGE, sum(map(fresh_bytes, case.fresh_parts)))
    threads = max((part.threads for part in case.fresh_parts), default=1)
    roof = bandwidth_ceiling(device, "read", threads, pages) if device is not None and pages else None
    fetched = pages / roof.low / case.wall_s if roof is not None and roof.low > 0 and case.wall_s else 0.0
    saved = max(0.0, 1.0 - fetched / running) if running > 0 else 0.0
    return 1.0 / (1.0 - (1.0 - 1.0 / _KEPT) * saved)


def _by_function(lines: list[tuple[HotSpot, float]]) -> dict[tuple[str | None, str | None], float]:
    functions: dict[tuple[str | None, str | None], float] = {}
    for spot, samples in lines:
        place = (spot.site.file, spot.site.function)
        functions[place] = functions.get(place, 0.0) + samples
    return functions


def _interpreted_spot(lines: list[tuple[HotSpot, float]]) -> HotSpot | None:
    """The hottest line of the hottest function: a loop spreads over its lines, and none of them may be the hottest of the program."""
    functions = _by_function(lines)
    hottest = max(functions, key=lambda place: functions[place], default=None)
    own = [line for line in lines if (line[0].site.file, line[0].site.function) == hottest]
    return max(own, key=lambda line: line[1])[0] if own else None


def _part_of_function(lines: list[tuple[HotSpot, float]]) -> float | None:
    """Part of the interpreter's sampled lines that the place's function holds; `None` where none were sampled."""
    functions = _by_function(lines)
    whole = sum(functions.values())
    return max(functions.values()) / whole if whole else None


def _spot_where(case: Case) -> Where:
    spot = _interpreted_spot(interpreted_lines(case))
    return Where(function=spot.site.function, file=spot.site.file, line=spot.site.line) if spot else Where()
