"""A promise in the light of another change against the same cause: what one found, the other is not promised much beyond.

An allocator that keeps freed blocks and buffers that the program keeps delete the same page faults. Trials of an action itself are `weighed`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import Action, Tried
from ridgeline.core.units import format_speedup

__all__ = ["beside_sibling"]

#: Action → the one against the same cause whose trial speaks for it too.
_SIBLING = {"reuse-buffers": "change-allocator"}
#: Of what the sibling gained, the most that is promised of the action: kept buffers are also near.
_BEYOND = 1.25


def beside_sibling(actions: Sequence[Action], tried: Sequence[Tried], median_s: float) -> tuple[Action, ...]:
    """The actions, those without a trial of their own bounded by what their sibling's trial found, and combinations with them.

    A sibling that was faster bounds both ends. One that was not leaves the upper end alone, since an allocator may have given the blocks back all the
    same, and takes the lower one to 1.

    Args:
        actions: as promised.
        tried: judged against these actions.
        median_s: ground truth, seconds.
    """
    after = {action.id: _bounded(action, tried, median_s) for action in actions}
    lost = {action.id: _lost(action.speedup, after[action.id].speedup) for action in actions if after[action.id] is not action}
    return tuple(_combined(after[action.id], lost, median_s) for action in actions)


def _bounded(action: Action, tried: Sequence[Tried], median_s: float) -> Action:
    sibling = _SIBLING.get(action.action)
    trials = [one for one in tried if one.action == sibling and not one.control and one.speedup is not None]
    if sibling is None or not trials or any(one.action == action.action and one.speedup is not None for one in tried):
        return action
    best = max(trials, key=lambda one: one.found or 0.0)
    low, high = best.speedup or (1.0, 1.0)
    if best.verdict == "faster":
        bound = 1.0 + _BEYOND * (high - 1.0)
        said = f"; {sibling}, against the same cause, found {format_speedup(low, high)}"
    elif best.verdict in ("same", "slower"):
        low, bound = 1.0, action.speedup[1]
        said = f"; {sibling}, against the same cause, found nothing"
    else:
        return action
    after = max(1.0, min(action.speedup[0], low)), max(1.0, min(action.speedup[1], bound))
    return _with(action, after, median_s, action.because + said)


def _lost(before: tuple[float, float], after: tuple[float, float]) -> tuple[float, float]:
    """Share of the wall that each end of a promise no longer deletes."""
    return 1.0 / after[0] - 1.0 / before[0], 1.0 / after[1] - 1.0 / before[1]


def _combined(action: Action, lost: dict[str, tuple[float, float]], median_s: float) -> Action:
    """A combination deletes the sum of what its parts delete; what one of them no longer does is missing there too."""
    parts = [lost[part] for part in action.combines if part in lost]
    if not parts:
        return action
    low, high = (1.0 / (1.0 / action.speedup[end] + sum(part[end] for part in parts)) for end in (0, 1))
    return _with(action, (max(1.0, low), max(1.0, high)), median_s, action.because)


def _with(action: Action, speedup: tuple[float, float], median_s: float, because: str) -> Action:
    after = (median_s / speedup[1], median_s / speedup[0])
    return msgspec.structs.replace(action, speedup=speedup, median_after_s=after, because=because)
