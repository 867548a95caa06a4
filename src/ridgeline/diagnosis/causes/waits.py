"""Waiting for one another: a lock that everybody wants, a loop that only asks, turns at the interpreter's lock; and when waits are worth timing.

All rest on timed waits and on what went on meanwhile (`waited`). A pool or device that is drained at every step is `synchronisation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ridgeline.core import Evidence, Wait

from ..bounds import MOST
from ..case import Case, Finding, Proposal, Rule, measured_share
from ..waited import (
    FOR_THREADS,
    LEAST_GAIN,
    LOOKS_ERR,
    beside,
    caller_waits,
    careful,
    counted,
    disturbed,
    line_of,
    side_by_side,
    waits_of,
    wall_of,
    where_of,
)  # fmt: skip
from .synchronisation import Synchronisation

__all__ = ["LockContention", "SpinWait", "TakingTurns", "knows_why_it_waits", "wants_waits"]

_LEAST = 0.2
_MOST_GAIN = 10.0
_NEARLY = 0.8
#: Rank of a share whose cause is known and whose gain is not: a little more than that of an unexplained one.
_NO_PROMISE = 0.35
#: Part of the samples that two lines of one function hold where a loop may only be asking.
_TWO_LINES = 0.5
_CHANGED = "; watching it changed the time too much for a promise"


class LockContention(Rule):
    """Names `lock-contention` when threads that the caller waits for spend their time waiting for one lock."""

    causes = ("lock-contention",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding: the lock with the longest waits."""
        groups: dict[str, list[Wait]] = {}
        for wait in waits_of(case, "lock"):
            if wait.held_s is not None and wait.held_s.value > 0:
                groups.setdefault(wait.on, []).append(wait)
        if not groups or caller_waits(case) < _LEAST:
            return
        on, waits = max(groups.items(), key=lambda group: sum(wait.total_s.value for wait in group[1]))
        wall, waited = wall_of(case), sum(wait.total_s.value for wait in waits)
        held = max(wait.held_s.value for wait in waits if wait.held_s)
        share = min(1.0, held / wall)
        if share >= _NEARLY * caller_waits(case):
            # Held nearly as long as the caller waits: the gaps are threads handing it on, and go with it.
            share = max(share, caller_waits(case))
        if share < _LEAST or waited < _LEAST * wall:
            return
        top = max(waits, key=lambda wait: wait.total_s.value)
        threads = 1.0 + waited / held
        low, gain = side_by_side(case, share, top, threads, _at_once(waits, threads), math.inf)
        undecided = disturbed(case) or top.native is None or top.asleep is None
        yield Finding(
            cause="lock-contention",
            bound="latency",
            share=share,
            where=where_of(top.site),
            evidence=tuple(_lock_evidence(waits, held, wall, threads)),
            proposals=(_remove_lock(top, threads, (low, gain)),) if gain >= LEAST_GAIN and not undecided else (),
            summary=_lock_summary(case, on, top, waited / wall, share, gain),
            # A lock of which nothing can be promised is still why the threads wait: nothing else gets the word for that.
            rank=_NO_PROMISE * share if undecided else 0.0 if gain < LEAST_GAIN else share * (1.0 - 1.0 / gain),
        )


def _at_once(waits: Sequence[Wait], threads: float) -> float:
    """Threads that come to the lock at the same time, at the most: those that have waited for it, and no more than take it in one call."""
    taken = max((wait.acquisitions or 0.0) for wait in waits)
    return max(threads, min(taken, float(max(wait.threads for wait in waits))))


def _lock_evidence(waits: Sequence[Wait], held: float, wall: float, threads: float) -> Iterator[Evidence]:
    yield measured_share(
        "waiting for this lock, all threads ÷ wall", sum(wait.total_s.value for wait in waits) / wall, origin="stopwatch on the lock"
    )
    yield measured_share("lock held ÷ wall", held / wall, origin="stopwatch on the lock")
    yield Evidence(name="threads at the lock", quantity=counted(threads, "1 + waited ÷ held (Little's law)"))
    taken = max((wait.acquisitions or 0.0) for wait in waits)
    yield Evidence(name="acquisitions per call", quantity=counted(taken, "watched lock"))
    yield Evidence(name="contended waits per call", quantity=counted(sum(wait.calls for wait in waits), "watched lock"))
    top = max(waits, key=lambda wait: wait.total_s.value)
    if top.native is not None:
        yield measured_share("held while working without the interpreter's lock", top.native, origin="thread states")


def _remove_lock(top: Wait, threads: float, gain: tuple[float, float]) -> Proposal:
    held_by = f", held at {line_of(top.holder)}" if top.holder else ""
    return Proposal(
        action="remove-lock",
        because=f"{threads:.1f} threads are at the lock at a time{held_by}; with the work outside of it they run side by side",
        gain=gain,
    )


def _lock_summary(case: Case, on: str, top: Wait, waited: float, share: float, gain: float) -> str:
    said = f"threads wait {waited:.1f}× the wall for {on}, which is held {share:.0%} of the time"
    if top.holder is not None:
        said += f" (at {line_of(top.holder)})"
    if disturbed(case):
        return said + _CHANGED
    if top.native is None or top.asleep is None:
        return f"{said}; what its holders did meanwhile was not seen, so that nothing can be promised"
    if gain < LEAST_GAIN:
        why = "what runs inside it needs the interpreter's lock" if (top.interpreted or 0.0) >= 0.3 else "the CPUs are busy without it"
        return f"{said}; removing it gains nothing, since {why}"
    return said


class SpinWait(Rule):
    """Names `spin-wait` when a thread is busy asking whether something has happened."""

    causes = ("spin-wait",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding: the loop that takes the most."""
        spins = waits_of(case, "spin")
        top = max(spins, key=lambda wait: wait.total_s.value, default=None)
        if top is None:
            return
        share = min(1.0, top.total_s.value / wall_of(case))
        if share < _LEAST:
            return
        gain, changed = _spin_gain(case, top, share), disturbed(case)
        yield Finding(
            cause="spin-wait",
            bound="latency",
            share=share,
            where=where_of(top.site),
            evidence=(
                measured_share("time in the loop ÷ wall", share, origin="sampled lines and the loop's source"),
                measured_share("meanwhile others worked without the interpreter's lock", top.native or 0.0, origin="CPU clocks"),
                measured_share("meanwhile others held or wanted it", top.interpreted or 0.0, origin="CPU clocks"),
                measured_share("meanwhile nothing else ran", top.asleep or 0.0, origin="CPU clocks"),
            ),
            proposals=() if changed else tuple(_block_instead(case, top, gain)),
            summary=f"a loop asks `{top.on}` again and again and makes no progress" + (_CHANGED if changed else ""),
            # It names what the time is, which is worth more than not knowing, even where only CPU time is to be had.
            rank=None if gain[0] >= LEAST_GAIN and not changed else _NO_PROMISE * share,
        )


def _spin_gain(case: Case, top: Wait, share: float) -> tuple[float, float]:
    """By what factor the loop's time shrinks when it blocks: whoever shares the interpreter's lock with it then has it alone.

    1 ÷ (rest + interpreted × u), u the part of the lock that the others had: their CPU time where the caller spins, else half.
    """
    others = beside(case) if top.caller_s.value > 0.5 * top.total_s.value else None
    used = min(0.5, max(0.02, others / share)) if others is not None and share > 0 else 0.5

    def gain(rest: float, used: float) -> float:
        return 1.0 / (rest + (1.0 - rest) * used)

    rest = 1.0 - (top.interpreted or 0.0)
    return careful(gain(rest, used))[0], gain(max(0.0, rest - LOOKS_ERR), 0.8 * used)


def _block_instead(case: Case, top: Wait, gain: tuple[float, float]) -> Iterator[Proposal]:
    if gain[0] >= LEAST_GAIN:
        because = "a wait that blocks leaves the interpreter's lock to the thread that is waited for; the loop takes turns with it"
        yield Proposal(action="block-instead", because=because, gain=gain)
        return
    samples = case.facts.samples
    cpu = samples.mean("process_cpu_s") if samples else None
    own = min(top.total_s.value, cpu) if cpu else 0.0
    if not cpu or own <= 0:
        return
    freed = min(_MOST_GAIN, cpu / max(cpu - own, cpu / _MOST_GAIN))
    because = (
        f"{own / cpu:.0%} of its CPU time is free for others: where calls run side by side, that much more fits on the CPUs. Whether one call gets "
        "shorter is not known: as long as the loop runs, every other thread waits for its turn at the interpreter's lock"
    )
    yield Proposal(action="block-instead", because=because, gain=careful(freed), metric="period", share=1.0)


class TakingTurns(Rule):
    """Names `interpreter` when the caller waits for threads that take turns at the interpreter's lock."""

    causes = ("interpreter",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding with the line that holds the lock most."""
        share = _turns(case)
        table = case.facts.waits
        if table is None or share < _LEAST:
            return
        top = table.python_lines[0] if table.python_lines else None
        whole = sum(line.seconds for line in table.python_lines)
        function = sum(line.seconds for line in table.python_lines if top and line.site.function == top.site.function)
        # Where no line was seen, the threads' Python may lie in any function: all that is known is the share of it.
        part = function / whole if whole > 0 else None
        held = share * part if part is not None else share
        ends = (held if part is not None else held / 2, held)
        yield Finding(
            cause="interpreter",
            bound="latency",
            share=share,
            where=where_of(top.site if top else None),
            evidence=(
                measured_share("caller waits for threads at the interpreter's lock ÷ wall", share, origin="stopwatches and thread states"),
                Evidence(name="threads that ran or wanted Python", quantity=counted(table.interpreted_threads or 0.0, "thread states")),
                *([measured_share("of it in this function", part, origin="sampled lines")] if part is not None else []),
            ),
            proposals=() if disturbed(case) else tuple(_native_instead(held, ends)),
            summary="the threads take turns at the interpreter's lock: together they run as fast as one" + (_CHANGED if disturbed(case) else ""),
            rank=_NO_PROMISE * share if disturbed(case) else None,
        )


def _native_instead(share: float, ends: tuple[float, float]) -> Iterator[Proposal]:
    because = "one native call over an array replaces the loop over its items, and lets the other threads run"
    yield Proposal(action="vectorise", because=because, gain=(4.0, MOST), share=share, share_range=ends)
    yield Proposal(action="compile", because="the same loop as compiled code", gain=(3.0, MOST), share=share, share_range=ends)


def _turns(case: Case) -> float:
    """Share of the wall in which the caller waits for threads that held or wanted the interpreter's lock, less what they worked without it."""
    waits = [wait for kind in FOR_THREADS for wait in waits_of(case, kind)]
    turns = sum(wait.caller_s.value * max(0.0, (wait.interpreted or 0.0) - (wait.native or 0.0)) for wait in waits)
    return min(1.0, turns / wall_of(case)) if waits else 0.0


def knows_why_it_waits(case: Case) -> bool:
    """Whether one of the rules here explains idle CPUs better than an uneven share of the work does."""
    rules = (LockContention(), Synchronisation(), TakingTurns(), SpinWait())
    return any(finding.recoverable >= _LEAST / 2 for rule in rules for finding in rule.findings(case))


def wants_waits(case: Case) -> bool:
    """Whether the levels above say that waits matter: the caller does not run for a good part of the wall, or two lines of a busy function have
    most of its samples, as a loop has that only asks."""
    if case.facts.target.kind not in ("python", "torch", "script"):
        return False
    samples = case.facts.samples
    cpu = samples.mean("thread_cpu_s") if samples is not None else None
    away = 1.0 - cpu / case.wall_s - case.share_of("waiting") if cpu is not None and case.wall_s else case.share_of("blocked")
    return away >= _LEAST or _asks_perhaps(case)


def _asks_perhaps(case: Case) -> bool:
    spots = case.facts.hot_spots
    busy = [spot for spot in spots.spots if spot.state != "blocked"] if spots is not None else []
    # Of the time it runs: a spinning thread is the first to lose its CPU to others.
    runs = 1.0 - case.share_of("waiting") - case.share_of("blocked")
    if not busy or case.share_of("interpreter") + case.share_of("system") < _LEAST * runs:
        return False
    function = (busy[0].site.file, busy[0].site.function)
    two = sorted((spot.samples for spot in busy if (spot.site.file, spot.site.function) == function), reverse=True)[:2]
    return sum(two) >= _TWO_LINES * sum(spot.samples for spot in busy)
