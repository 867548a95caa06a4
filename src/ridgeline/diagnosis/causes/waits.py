"""Waiting for one another: a lock that everybody wants, a loop that only asks, a queue drained at every step, turns at the interpreter's lock.

All four rest on timed waits and on what went on meanwhile, which decides what a change can be worth: native work can run side by side on as many
CPUs as there are, sleep on as many threads, and work that holds the interpreter's lock on none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ridgeline.core import Evidence, Quantity, Site, Wait, Where

from ..case import Case, Finding, Proposal, Rule, measured_share

__all__ = ["LockContention", "SpinWait", "Synchronisation", "TakingTurns", "knows_why_it_waits", "wants_waits"]

_LEAST = 0.2
#: Under this gain a change is not worth naming.
_LEAST_GAIN = 1.1
#: A change in how threads wait reaches half of what is possible at the least.
_CAREFUL = 0.5
#: Kinds in which a caller waits for its own threads.
_FOR_THREADS = ("lock", "condition", "queue", "future", "join")
#: A pool with less than this many open tasks at each wait works on one at a time.
_ONE_AT_A_TIME = 1.5
_MOST_GAIN = 10.0
#: Shares that come from looks at threads may be this far off.
_LOOKS_ERR = 0.1
#: Rank of a share whose cause is known and whose gain is not: a little more than that of an unexplained one.
_NO_PROMISE = 0.35
#: Part of the samples that two lines of one function hold where a loop may only be asking.
_TWO_LINES = 0.5
#: Rows of a device's profile in which the host waits for the device.
_DEVICE_WAITS = (
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "hipDeviceSynchronize", "hipStreamSynchronize", "aten::item",
    "aten::_local_scalar_dense", "clFinish", "clWaitForEvents",
)  # fmt: skip


class LockContention(Rule):
    """Names `lock-contention` when threads that the caller waits for spend their time waiting for one lock."""

    causes = ("lock-contention",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding: the lock with the longest waits."""
        groups: dict[str, list[Wait]] = {}
        for wait in _waits(case, "lock"):
            if wait.held_s is not None and wait.held_s.value > 0:
                groups.setdefault(wait.on, []).append(wait)
        if not groups or _caller_waits(case) < _LEAST:
            return
        on, waits = max(groups.items(), key=lambda group: sum(wait.total_s.value for wait in group[1]))
        wall, waited = _wall(case), sum(wait.total_s.value for wait in waits)
        held = max(wait.held_s.value for wait in waits if wait.held_s)
        share = min(1.0, held / wall)
        if share < _LEAST or waited < _LEAST * wall:
            return
        top = max(waits, key=lambda wait: wait.total_s.value)
        threads = 1.0 + waited / held
        low, gain = _side_by_side(case, share, top, threads, _at_once(waits, threads), math.inf)
        yield Finding(
            cause="lock-contention",
            bound="latency",
            share=share,
            where=_where(top.site),
            evidence=tuple(_lock_evidence(waits, held, wall, threads)),
            proposals=(_remove_lock(top, threads, (low, gain)),) if gain >= _LEAST_GAIN and not _disturbed(case) else (),
            summary=_lock_summary(case, on, top, waited / wall, share, gain),
            rank=0.0 if gain < _LEAST_GAIN else _NO_PROMISE * share if _disturbed(case) else share * (1.0 - 1.0 / gain),
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
    yield Evidence(name="threads at the lock", quantity=_counted(threads, "1 + waited ÷ held (Little's law)"))
    taken = max((wait.acquisitions or 0.0) for wait in waits)
    yield Evidence(name="acquisitions per call", quantity=_counted(taken, "watched lock"))
    yield Evidence(name="contended waits per call", quantity=_counted(sum(wait.calls for wait in waits), "watched lock"))
    top = max(waits, key=lambda wait: wait.total_s.value)
    if top.native is not None:
        yield measured_share("held while working without the interpreter's lock", top.native, origin="thread states")


def _remove_lock(top: Wait, threads: float, gain: tuple[float, float]) -> Proposal:
    held_by = f", held at {_line(top.holder)}" if top.holder else ""
    return Proposal(
        action="remove-lock",
        because=f"{threads:.1f} threads are at the lock at a time{held_by}; with the work outside of it they run side by side",
        gain=gain,
    )


def _lock_summary(case: Case, on: str, top: Wait, waited: float, share: float, gain: float) -> str:
    said = f"threads wait {waited:.1f}× the wall for {on}, which is held {share:.0%} of the time"
    if top.holder is not None:
        said += f" (at {_line(top.holder)})"
    if gain < _LEAST_GAIN:
        why = "what runs inside it needs the interpreter's lock" if (top.interpreted or 0.0) >= 0.3 else "the CPUs are busy without it"
        return f"{said}; removing it gains nothing, since {why}"
    if _disturbed(case):
        return f"{said}; watching it changed the time too much for a promise"
    return said


class SpinWait(Rule):
    """Names `spin-wait` when a thread is busy asking whether something has happened."""

    causes = ("spin-wait",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding: the loop that takes the most."""
        spins = _waits(case, "spin")
        top = max(spins, key=lambda wait: wait.total_s.value, default=None)
        if top is None:
            return
        share = min(1.0, top.total_s.value / _wall(case))
        if share < _LEAST:
            return
        gain = _spin_gain(case, top, share)
        yield Finding(
            cause="spin-wait",
            bound="latency",
            share=share,
            where=_where(top.site),
            evidence=(
                measured_share("time in the loop ÷ wall", share, origin="sampled lines and the loop's source"),
                measured_share("meanwhile others worked without the interpreter's lock", top.native or 0.0, origin="CPU clocks"),
                measured_share("meanwhile others held or wanted it", top.interpreted or 0.0, origin="CPU clocks"),
                measured_share("meanwhile nothing else ran", top.asleep or 0.0, origin="CPU clocks"),
            ),
            proposals=tuple(_block_instead(case, top, gain)),
            summary=f"a loop asks `{top.on}` again and again and makes no progress",
            # It names what the time is, which is worth more than not knowing, even where only CPU time is to be had.
            rank=None if gain[0] >= _LEAST_GAIN else _NO_PROMISE * share,
        )


def _spin_gain(case: Case, top: Wait, share: float) -> tuple[float, float]:
    """By what factor the loop's time shrinks when it blocks: whoever shares the interpreter's lock with it then has it alone.

    1 ÷ (rest + interpreted × u), u the part of the lock that the others had: their CPU time where the caller spins, else half.
    """
    beside = _beside(case)
    known = beside is not None and share > 0 and top.caller_s.value > 0.5 * top.total_s.value
    used = min(0.5, max(0.02, beside / share)) if known and beside is not None else 0.5

    def gain(rest: float, used: float) -> float:
        return 1.0 / (rest + (1.0 - rest) * used)

    rest = 1.0 - (top.interpreted or 0.0)
    return _careful(gain(rest, used))[0], gain(max(0.0, rest - _LOOKS_ERR), 0.8 * used)


def _block_instead(case: Case, top: Wait, gain: tuple[float, float]) -> Iterator[Proposal]:
    if gain[0] >= _LEAST_GAIN:
        because = "a wait that blocks leaves the interpreter's lock to the thread that is waited for; the loop takes turns with it"
        yield Proposal(action="block-instead", because=because, gain=gain)
        return
    samples = case.facts.samples
    cpu = samples.mean("process_cpu_s") if samples else None
    own = min(top.total_s.value, cpu) if cpu else 0.0
    if not cpu or own <= 0:
        return
    freed = min(_MOST_GAIN, cpu / max(cpu - own, cpu / _MOST_GAIN))
    because = f"the call takes as long, and {own / cpu:.0%} of its CPU time is free for others: that much more fits on the CPUs side by side"
    yield Proposal(action="block-instead", because=because, gain=_careful(freed), metric="period", share=1.0)


class Synchronisation(Rule):
    """Names `synchronisation` when every step waits for its result before the next is issued."""

    causes = ("synchronisation",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield the pool that works on one task at a time, and the device that is drained at every step."""
        yield from self._pools(case)
        yield from self._devices(case)

    def _pools(self, case: Case) -> Iterator[Finding]:
        serial = [wait for wait in _waits(case, "future") if (wait.capacity or 0) >= 2 and (wait.in_flight or 9.0) <= _ONE_AT_A_TIME]
        top = max((wait for wait in serial if wait.calls >= 1.5), key=lambda wait: wait.caller_s.value, default=None)
        if top is None or top.capacity is None or top.in_flight is None:
            return
        share = min(1.0, top.caller_s.value / _wall(case))
        most = min(float(top.capacity), top.calls)
        # What a process pool does is asleep as seen from here; it needs CPUs all the same.
        asleep = min(most, case.cores) if "Process" in top.on else most
        gain = _side_by_side(case, share, top, most, most, asleep)
        if share < _LEAST or gain[1] < _LEAST_GAIN:
            return
        yield Finding(
            cause="synchronisation",
            bound="latency",
            share=share,
            where=_where(top.site),
            evidence=(
                measured_share("caller waits here ÷ wall", share, origin="stopwatch on the wait"),
                Evidence(name="waits per call", quantity=_counted(top.calls, "stopwatch on the wait")),
                Evidence(name="open tasks when a wait begins", quantity=_counted(top.in_flight, "submitted and not done")),
                Evidence(name="workers", quantity=_counted(float(top.capacity), "the pool")),
            ),
            proposals=(
                Proposal(
                    action="remove-sync",
                    because=f"{top.calls:.0f} tasks go one at a time through {top.capacity} workers; submitted first and collected afterwards, "
                    f"{min(most, case.cores):.0f} run side by side, as long as none needs the result of another",
                    gain=gain,
                ),
            ),
            summary=f"each of {top.calls:.0f} tasks is waited for before the next is given to the pool of {top.capacity}",
            rank=share * (1.0 - 1.0 / gain[1]),
        )

    def _devices(self, case: Case) -> Iterator[Finding]:
        found = _device_waits(case)
        if found is None:
            return
        where, share, calls, name = found
        if share < _LEAST or calls < 2:
            return
        # Host and device take turns: the sum becomes the larger of the two. One wait, the last, stays.
        host = 1.0 - share
        best = 1.0 / (1.0 - min(share, host) * (calls - 1) / calls)
        yield Finding(
            cause="synchronisation",
            bound="latency",
            share=share,
            where=where,
            evidence=(
                measured_share("host waits for the device ÷ wall", share, origin=name),
                Evidence(name="waits per call", quantity=_counted(calls, name)),
            ),
            proposals=(
                Proposal(
                    action="remove-sync",
                    because=f"{calls:.0f} waits drain the device's queue; with one at the end, the {host:.0%} of the host and the {share:.0%} of the "
                    "device overlap",
                    gain=_careful(best),
                    share=1.0,
                ),
            ),
            summary=f"the host waits for the device {calls:.0f} times a call and issues nothing meanwhile",
        )


def _device_waits(case: Case) -> tuple[Where, float, float, str] | None:
    """Place, share of the wall, number and name of the waits for a device: from the device's profile, else from stopwatches."""
    parts = [part for part in case.judged if part.row.kind in _DEVICE_WAITS] if case.shares_hold else []
    device = any(part.row.placement.device != "cpu" for part in case.judged)
    parts = [part for part in parts if device or not part.row.kind.startswith("aten::")]
    if parts:
        top = max(parts, key=lambda part: part.share)
        return case.where(top), case.sum_of(parts), sum(part.row.calls for part in parts), top.row.kind
    waits = _waits(case, "device")
    if not waits:
        return None
    longest = max(waits, key=lambda wait: wait.caller_s.value)
    share = min(1.0, sum(wait.caller_s.value for wait in waits) / _wall(case))
    return _where(longest.site), share, sum(wait.calls for wait in waits), longest.on


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
        part = function / whole if whole > 0 else 1.0
        yield Finding(
            cause="interpreter",
            bound="latency",
            share=share,
            where=_where(top.site if top else None),
            evidence=(
                measured_share("caller waits for threads at the interpreter's lock ÷ wall", share, origin="stopwatches and thread states"),
                Evidence(name="threads that ran or wanted Python", quantity=_counted(table.interpreted_threads or 0.0, "thread states")),
                measured_share("of it in this function", part, origin="sampled lines"),
            ),
            proposals=(
                Proposal(
                    action="vectorise",
                    because="one native call over an array replaces the loop over its items, and lets the other threads run",
                    gain=(4.0, 50.0),
                    share=share * part,
                ),
                Proposal(action="compile", because="the same loop as compiled code", gain=(3.0, 50.0), share=share * part),
            ),
            summary="the threads take turns at the interpreter's lock: together they run as fast as one",
        )


def _turns(case: Case) -> float:
    """Share of the wall in which the caller waits for threads that held or wanted the interpreter's lock, less what they worked without it."""
    waits = [wait for kind in _FOR_THREADS for wait in _waits(case, kind)]
    turns = sum(wait.caller_s.value * max(0.0, (wait.interpreted or 0.0) - (wait.native or 0.0)) for wait in waits)
    return min(1.0, turns / _wall(case)) if waits else 0.0


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


def _waits(case: Case, kind: str) -> list[Wait]:
    table = case.facts.waits
    return [wait for wait in table.waits if wait.kind == kind] if table is not None else []


def _wall(case: Case) -> float:
    table = case.facts.waits
    return table.wall_s.value if table is not None else case.wall_s


def _caller_waits(case: Case) -> float:
    """Share of the wall in which the caller waits for its threads or for a lock."""
    return min(1.0, sum(wait.caller_s.value for kind in _FOR_THREADS for wait in _waits(case, kind)) / max(_wall(case), 1e-12))


def _disturbed(case: Case) -> bool:
    """Whether timing the waits changed the time by more than 10 %."""
    table = case.facts.waits
    return table is not None and any(record.perturbed for record in case.facts.levels if record.instrument == table.instrument)


def _side_by_side(case: Case, share: float, wait: Wait, surely: float, most: float, asleep: float) -> tuple[float, float]:
    """Gain when what is waited for runs side by side: native work on CPUs, sleep on threads, the interpreter on none.

    1 ÷ (native ÷ min(n, CPUs) + asleep ÷ n + interpreted), half of it at the least; 1 where it is not known what went on.

    Args:
        share: of the wall that gains.
        surely, most: n, how many would run at the same time.
        asleep: the most of them that can be asleep.
    """
    if wait.native is None or wait.asleep is None:
        return 1.0, 1.0
    # What is not clear counts as the interpreter's: it promises nothing.
    rest = max(0.0, 1.0 - wait.native - wait.asleep)

    def gain(together: float, native: float, rest: float) -> float:
        return 1.0 / (native / max(1.0, min(together, case.cores)) + (wait.asleep or 0.0) / max(1.0, min(together, asleep)) + rest)

    low = gain(surely, wait.native, rest)
    # What was taken for the interpreter's may have been work by as much as looks are off.
    error = min(rest, _LOOKS_ERR) if low >= _LEAST_GAIN else 0.0
    return _bounded(case, share, _careful(low)[0]), _bounded(case, share, gain(most, wait.native + error, rest - error))


def _bounded(case: Case, share: float, gain: float) -> float:
    """The gain, no more than the CPUs can give: the call's CPU time has to fit on them."""
    samples = case.facts.samples
    cpu = samples.mean("process_cpu_s") if samples else None
    if cpu is None or not case.wall_s:
        return gain
    saved = share * (1.0 - 1.0 / gain)
    idle = max(0.0, 1.0 - cpu / (case.cores * case.wall_s))
    return gain if saved <= idle else 1.0 / (1.0 - idle / share)


def _beside(case: Case) -> float | None:
    """CPU time of the other threads ÷ wall; null where it was not measured."""
    samples = case.facts.samples
    process, caller, wall = (samples.mean(name) if samples else None for name in ("process_cpu_s", "thread_cpu_s", "wall_s"))
    return max(0.0, process - caller) / wall if process is not None and caller is not None and wall else None


def _careful(gain: float) -> tuple[float, float]:
    return 1.0 + _CAREFUL * (gain - 1.0), gain


def _counted(value: float, origin: str) -> Quantity:
    return Quantity.exact(value if math.isfinite(value) else 0.0, "count", source="counted", origin=origin)


def _where(site: Site | None) -> Where:
    return Where(function=site.function, file=site.file, line=site.line) if site is not None else Where(lane="threads")


def _line(site: Site) -> str:
    return f"{(site.file or '').rsplit('/', 1)[-1]}:{site.line}"
