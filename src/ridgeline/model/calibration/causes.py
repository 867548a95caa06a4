"""Why a level moved, proposed from what differs between the pairs before and after: never more than what the pairs say of themselves.

Decides the order in which causes are asked for and what counts as a difference: four of five pairs after have it, and at most one of five before.
A cause is a proposal: something else may have changed at the same time. `unknown` where nothing differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from ridgeline.stats import theil_sen_slope

from .state import Cause, Context, Seen

__all__ = ["Moved", "cause"]

_MOST_AFTER, _LEAST_BEFORE = 0.8, 0.2
#: A clock that differs by less than this moved nothing; one that moved the level the wrong way is no cause.
_CLOCK = 0.03
_LEAST_SLOPE = 12


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs to both sides of a move.

    Args:
        before, after: pairs that are remembered; usual: index of the context of most pairs before.
        change: of the level, a logarithm: above 0 it became slower than predicted.
        slow: whether it is known to have moved little by little.
    """

    before: tuple[Seen, ...]
    after: tuple[Seen, ...]
    usual: int
    change: float
    slow: bool = False


def cause(moved: Moved, contexts: Sequence[Context], *, same_way: bool = False) -> tuple[Cause, str]:
    """(The cause, its figures in words).

    Args:
        contexts: that the pairs refer to.
        same_way: whether the level moved the same way before, for no reason that is known.
    """
    after = [contexts[seen.context] for seen in moved.after]
    # Where nothing before is remembered one by one, the usual context speaks for it.
    before = [contexts[seen.context] for seen in moved.before] or [contexts[moved.usual]]
    for name in ("driver", "runtime"):
        said = _version(name, before, after)
        if said:
            return ("driver" if name == "driver" else "runtime"), said
    said = _clock(before, after, moved.change)
    if said:
        return "clock", said
    said = _new_work(moved)
    if said:
        return "new workload", said
    if moved.slow or same_way or _gradual(moved):
        return "ageing", "it moved little by little, and neither driver, runtime, clock nor the range of the work differ"
    return "unknown", "driver, runtime, clock, throttling and the range of the work are alike before and after, or not known"


def _version(name: str, before: Sequence[Context], after: Sequence[Context]) -> str:
    get: Callable[[Context], str] = lambda context: str(getattr(context, name))  # noqa: E731
    new, count = Counter(get(context) for context in after).most_common(1)[0]
    old = Counter(get(context) for context in before).most_common(1)[0][0]
    if not new or not old or new == old or count < _MOST_AFTER * len(after):
        return ""
    shared = sum(get(context) == new for context in before)
    return f"{name} {old} before, {new} in {count} of {len(after)} pairs after" if shared <= _LEAST_BEFORE * len(before) else ""


def _clock(before: Sequence[Context], after: Sequence[Context], change: float) -> str:
    throttled = sum(context.throttled for context in after)
    if change > 0 and throttled >= _MOST_AFTER * len(after) and sum(context.throttled for context in before) <= _LEAST_BEFORE * len(before):
        return f"throttled in {throttled} of {len(after)} pairs after"
    clocks = [[context.core_clock_hz for context in side if context.core_clock_hz] for side in (before, after)]
    if not clocks[0] or not clocks[1]:
        return ""
    old, new = median(clocks[0]), median(clocks[1])
    # A lower clock makes it slower: the logarithms have opposite signs.
    if abs(new / old - 1) < _CLOCK or (new < old) != (change > 0):
        return ""
    return f"clock {old / 1e6:.0f} MHz before, {new / 1e6:.0f} MHz after"


def _new_work(moved: Moved) -> str:
    new = sum(seen.new for seen in moved.after)
    if new < _MOST_AFTER * len(moved.after) or sum(seen.new for seen in moved.before) > _LEAST_BEFORE * max(1, len(moved.before)):
        return ""
    return f"{new} of {len(moved.after)} pairs after are outside of the range seen before"


def _gradual(moved: Moved) -> bool:
    """Whether the level still moves among the pairs after; a step does not."""
    if len(moved.after) < _LEAST_SLOPE:
        return False
    _, low, high = theil_sen_slope([seen.log_ratio for seen in moved.after], confidence=0.99)
    return low > 0 if moved.change > 0 else high < 0
