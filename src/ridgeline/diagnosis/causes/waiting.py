"""Input-output: the wall is spent asleep, waiting for a disk, a network, a timer or another process, or in the kernel on its way there.

System time counts here only where no fresh memory explains it; that is `allocation`. A kept result is proposed only for what can be the same again:
not for random bytes, the time, a socket or standard input, and not for writing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from ridgeline.core import HotSpot, Wait, Where

from ..case import IO_KINDS, Case, Finding, Proposal, Rule, measured_share
from ..judge import Judged
from ..one_after_another import one_after_another
from ..waited import busy_waits, disturbed

__all__ = ["InputOutput"]

_LEAST = 0.2
#: A part of the wall under this is not worth a word.
_SAID = 0.05
#: Waiting ranks as if half of it could go, whether or not an action is known: more than an unexplained share of its size.
_WEIGHT = 0.5
#: What differs by its nature from call to call: random bytes, the time, what a peer or a person sends.
_DIFFERS = (
    "posix.urandom", "os.urandom", "posix.getrandom", "os.getrandom", "random.", "secrets.", "uuid.", "time.", "builtins.input", "getpass.",
    "socket.", "_socket.", "ssl.", "_ssl.", "select.", "selectors.",
    "sys.stdin",
)  # fmt: skip
#: Waits for what is outside the process.
_OUTSIDE = ("process", "sleep", "socket", "file", "other")
#: Last names of what is done for its effect and has no result to keep, and of what reads from a peer whatever its class is called.
_FOR_EFFECT = frozenset(
    {"fsync", "fdatasync", "sync", "flush", "write", "writelines", "pwrite", "writev", "sleep", "unlink", "remove", "rename", "replace", "mkdir",
     "rmdir", "recv", "recvfrom", "recv_into", "recvmsg", "accept", "connect", "send", "sendall", "sendto"}
)  # fmt: skip


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
        share = min(1.0, blocked + calling)
        found = Finding(
            cause="input-output",
            bound="latency",
            share=share,
            where=_where(case, blocked, calling),
            evidence=(
                measured_share(
                    "blocked", blocked, origin="wall − CPU − run queue, no thread of the process working", ends=_ends(case, "blocked", blocked)
                ),
                measured_share("system calls", calling, origin="system time without fresh memory behind it", ends=_ends(case, "system", calling)),
            ),
            proposals=(
                *_children_at_once(case),
                *_waits_at_once(case),
                *_kept_results(case, blocked, calling),
                Proposal(
                    action="prefetch",
                    because="ask for the next item before it is needed: waiting and work then overlap, the sum becomes the larger of the two",
                    gain=_overlap(case, blocked),
                    metric="period",
                    share=1.0,
                ),
            ),
            summary=_spent(blocked, calling, f"waiting for {_what(case)}"),
        )
        yield replace(found, rank=max(found.recoverable, _WEIGHT * share))


def _ends(case: Case, name: str, value: float) -> tuple[float, float]:
    """The interval of a part of a share of the wall split, as wide as the share's."""
    low, high = case.range_of(name)
    whole = case.share_of(name)
    return (low * value / whole, min(1.0, high * value / whole)) if whole > 0 else (min(low, value), max(high, value))


def _spent(blocked: float, calling: float, what: str) -> str:
    """What the time is, each part where it is worth a word."""
    asleep = f"{blocked:.0%} of the wall is asleep, {what}"
    if calling < _SAID:
        return asleep
    return f"{asleep}, {calling:.0%} is in system calls" if blocked >= _SAID else f"{calling:.0%} of the wall is in system calls"


def _kept_results(case: Case, blocked: float, calling: float) -> Iterator[Proposal]:
    """A result kept from before, for as much of the share as can be the same again."""
    asked = _asked_by_name(case)
    whole = sum(weight for _, weight in asked)
    again = sum(weight for name, weight in asked if not _differs(name))
    part = again / whole if whole > 0 else 1.0
    share = part * min(1.0, blocked + calling)
    if share < _LEAST:
        return
    ends = tuple(part * (low + high) for low, high in zip(_ends(case, "blocked", blocked), _ends(case, "system", calling), strict=True))
    yield Proposal(
        action="cache",
        because=f"{_spent(blocked, calling, 'waiting')}; a result kept from before needs none of it, as long as what is asked for stays the same",
        gain=(2.0, math.inf),
        share=share,
        share_range=(min(share, ends[0]), max(share, min(1.0, ends[1]))),
    )


def _asked(case: Case) -> list[Judged]:
    """Operators that go outside the process: asleep, or by name."""
    return [part for part in case.judged if part.row.group == "blocking" or part.row.kind.startswith((*IO_KINDS, *_DIFFERS))]


def _asked_by_name(case: Case) -> list[tuple[str, float]]:
    """Names of what goes outside the process, and how much of the time each has: from operators, else from timed waits, else from sampled lines."""
    table, spots = case.facts.waits, case.facts.hot_spots
    waits = table.waits if table is not None else ()
    seen = spots.spots if spots is not None else ()
    return (
        [(part.row.kind, part.row.total_s.value) for part in _asked(case)]
        or [(wait.on, wait.caller_s.value) for wait in waits if wait.kind in _OUTSIDE and wait.caller_s.value > 0]
        or [(spot.call, float(spot.samples)) for spot in seen if spot.state == "blocked"]
    )


def _differs(kind: str) -> bool:
    """Whether there is nothing to keep from a call of this kind."""
    return kind.startswith(_DIFFERS) or kind.rpartition(".")[2] in _FOR_EFFECT


def _overlap(case: Case, blocked: float) -> tuple[float, float]:
    """Sum → max: 1 ÷ max(blocked, rest), and half of that saving as the careful end; over the interval of `blocked`."""
    low, high = _ends(case, "blocked", blocked)
    gains = [1.0 / max(share, 1.0 - share) for share in (low, blocked, high)]
    best = 2.0 if low <= 0.5 <= high else max(gains)
    return 1.0 + (min(gains) - 1.0) / 2, best


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
        several = one_after_another(case)
        # Only where most of the sleep is theirs.
        most = case.share_of("blocked") / 2
        return "something outside the process" + (
            f", {several.count:.0f} times one after another" if several is not None and several.share >= most else ""
        )
    count = sum(wait.calls for wait in waits)
    return f"{count:.0f} child processes, one after another" if count >= 1.5 else "a child process"


def _children_at_once(case: Case) -> Iterator[Proposal]:
    """Several children that are waited for one after another could run at once: the longest of them instead of the sum, as far as the CPUs carry
    their CPU time; one a CPU at a time where that is not known."""
    waits, share = _children(case), _children_share(case)
    count = sum(wait.calls for wait in waits)
    total = sum(wait.caller_s.value for wait in waits)
    if count < 1.5 or share < _LEAST or total <= 0 or disturbed(case):
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


def _waits_at_once(case: Case) -> Iterator[Proposal]:
    """Waits that follow one another in a call, started together: the call itself gets shorter, which asking for the next item early does not give."""
    waits = one_after_another(case)
    if waits is not None:
        yield Proposal(action="prefetch", because=waits.because, gain=waits.gain, share=waits.share, share_range=waits.ends)


def _where(case: Case, blocked: float, calling: float) -> Where:
    children = _children(case)
    if children and children[0].site is not None and _children_share(case) >= case.share_of("blocked") / 2:
        site = children[0].site
        return Where(function=site.function, file=site.file, line=site.line)
    # Time in system calls is where the calls are; those that sleep are asked first where sleep is most of it.
    asked = _asked(case)
    if blocked >= calling:
        asked = [part for part in asked if part.row.group == "blocking"] or asked
    longest = max(asked, key=lambda part: part.row.total_s.value, default=None)
    if longest is not None and case.shares_hold:
        return case.where(longest)
    spot = _spot(case, "blocked" if blocked >= calling else "native") or _spot(case, "blocked")
    if spot is not None:
        return Where(function=spot.site.function, file=spot.site.file, line=spot.site.line)
    return case.where(longest) if longest is not None else Where(lane="process")


def _spot(case: Case, state: str) -> HotSpot | None:
    """The sampled line with most samples in a state."""
    spots = case.facts.hot_spots
    seen = [spot for spot in spots.spots if spot.state == state] if spots is not None else []
    return max(seen, key=lambda spot: spot.samples, default=None)
