"""Waits of one call that follow one another and could run together: how many, how much of the wall, and what that would be worth.

Known is how often and how long the caller waited outside the process, not whether one wait needs what another brought. So the promise names that
condition, and waits that are seen to depend on one another (a loop that goes on until something is so, another try after an error) make none.
"""

from __future__ import annotations

from dataclasses import dataclass

from ridgeline.core import Wait

from .case import Case
from .waited import LEAST_GAIN, careful, disturbed, waits_of, wall_of

__all__ = ["WaitsInTurn", "one_after_another"]

#: Part of the wall under which nothing is proposed.
_LEAST = 0.2
#: A wait shorter than this is not worth handing to a thread, which takes some ten microseconds itself.
_LEAST_WAIT_S = 5e-4
#: The careful end counts on so many waits at a time: pools, and those who answer, have their limits.
_TOGETHER = 8.0
#: The longest of waits that are alike is longer than the others by chance, up to so many times on a busy machine.
_SPREAD = 1.25
#: What looks at several things at once already.
_MANY_AT_ONCE = ("select.",)


@dataclass(frozen=True)
class WaitsInTurn:
    """Waits that could run together.

    Attributes:
        count: waits in one call.
        share: of the wall, all of them; `ends` its interval.
        gain: (low, high) factor by which that share shrinks.
        peer: whether somebody else has to answer several at once for it.
    """

    count: float
    share: float
    ends: tuple[float, float]
    gain: tuple[float, float]
    peer: bool

    @property
    def because(self) -> str:
        """The arithmetic and the condition, in one sentence."""
        condition = "if no wait needs the result of the one before" + (" and the other side answers several at once" if self.peer else "")
        return (
            f"a call waits {self.count:.0f} times one after another, {self.share:.0%} of the wall; {condition}, start all of them before waiting for "
            "the first: the waits overlap inside the call and take as long as the longest of them"
        )


def one_after_another(case: Case) -> WaitsInTurn | None:
    """The caller's waits for timers, else for sockets, where one call makes several; `None` where they say nothing.

    k waits that overlap take as long as the longest: gain = sum ÷ longest, at most k; Amdahl's law over their share of the wall is the promise's. The
    careful end is half of that, of eight at a time. Of a socket it is nothing: parts of one answer come one after another, and whether the other
    side answers several at once is not seen.
    """
    if disturbed(case):
        return None
    for kind in ("sleep", "socket"):
        found = _of_kind(case, kind)
        if found is not None:
            return found
    return None


def _of_kind(case: Case, kind: str) -> WaitsInTurn | None:
    waits = [wait for wait in waits_of(case, kind) if _apart(wait)]
    count, total = sum(wait.calls for wait in waits), sum(wait.caller_s.value for wait in waits)
    # Less than two in one call of two is one that sometimes comes again.
    if count < 1.5 or total < max(_LEAST * wall_of(case), count * _LEAST_WAIT_S):
        return None
    surely, most = (min(count, total / max(_longest(wait, spread) for wait in waits)) for spread in (1.0, _SPREAD))
    wall = case.facts.waits.wall_s if case.facts.waits is not None else None
    if wall is None or surely < LEAST_GAIN:
        return None
    low, high = sum(wait.caller_s.low for wait in waits), sum(wait.caller_s.high for wait in waits)
    peer = kind == "socket"
    return WaitsInTurn(
        count=count,
        share=min(1.0, total / wall.value),
        ends=(min(1.0, low / max(wall.high, 1e-12)), min(1.0, high / wall.low) if wall.low > 0 else 1.0),
        gain=(1.0 if peer else careful(min(surely, _TOGETHER))[0], most),
        peer=peer,
    )


def _longest(wait: Wait, spread: float) -> float:
    """The longest wait of a line in one call, taken to be so many times as long by chance; no less than their mean."""
    mean = wait.caller_s.value / wait.calls
    return max(mean, min(wait.longest_s or mean, wait.caller_s.value) / spread)


def _apart(wait: Wait) -> bool:
    """Whether these waits of the caller may be independent of one another."""
    own = wait.caller_s.value > 0 and wait.caller_s.value >= 0.5 * wait.total_s.value
    return own and not wait.until and not wait.on.startswith(_MANY_AT_ONCE)
