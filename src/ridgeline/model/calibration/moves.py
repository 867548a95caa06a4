"""Levels that moved: whose, since when, from where to where, and the state that goes on from there.

This module decides whether one group moved or all of them, and what is kept of a group that moved. Why it moved is left to `causes`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ridgeline.core import Quantity
from ridgeline.stats import median_interval

from .causes import Moved, cause
from .evidence import ALARM, BURN_IN, MEMORY
from .state import Calibration, GroupLevel, LevelChange, Seen
from .versions import given_out

__all__ = ["group_shift", "levels_drift", "whole_shift"]

_Z95 = 1.959963984540054
#: Pairs of other groups that must say the same before all groups are moved, and the part of the shift that they must show.
_LEAST_OTHERS, _SHARED = 5, 0.5
#: Pairs that the levels of groups without pairs of their own since the shift count for from then on.
_CARRIED = 2 * BURN_IN


def group_shift(state: Calibration, name: str) -> Calibration:
    """The state after the level of one group moved at once."""
    group = state.groups[name]
    up = group.up > group.down
    since, from_level = (group.up_since, group.up_from) if up else (group.down_since, group.down_from)
    return _group_moved(state, name, since, from_level)


def _group_moved(state: Calibration, name: str, since: int, from_level: float) -> Calibration:
    group = state.groups[name]
    after = tuple(seen for seen in group.recent if seen.number > since) or group.recent[-1:]
    logs = [seen.log_ratio for seen in after]
    known = max(1, min(group.pairs, MEMORY) - len(after))
    moved = Moved(before=_earlier(group, since), after=after, usual=group.usual, change=float(np.median(logs)) - from_level)
    found = _change(
        state,
        name,
        "shift",
        since,
        _level(from_level, group.variance, known),
        _after(logs, group.variance),
        moved,
        _same_way(state, name, moved.change),
    )
    sizes_known = all(seen.new for seen in after)
    state = _with(
        state, name, msgspec.structs.replace(
            group, pairs=len(after), level=float(np.median(logs)), up=0.0, down=0.0, up_since=state.pairs, down_since=state.pairs,
            up_from=float(np.median(logs)), down_from=float(np.median(logs)), moved=True, recent=after, usual=after[-1].context, votes=1,
            least_size=None if sizes_known else group.least_size, most_size=None if sizes_known else group.most_size,
            settled=float(np.median(logs)), settled_pairs=len(after),
        ),
    )  # fmt: skip
    state = msgspec.structs.replace(state, up=0.0, down=0.0, up_since=state.pairs, down_since=state.pairs)
    return _recorded(state, found)


def whole_shift(state: Calibration) -> Calibration:
    """The state after all groups moved together; if one group alone explains it, after that group moved."""
    up = state.up > ALARM and state.up >= state.down
    since = state.up_since if up else state.down_since
    later = {name: tuple(seen for seen in group.recent if seen.number > since) for name, group in state.groups.items() if group.pairs > BURN_IN}
    distances = {name: [seen.log_ratio - state.groups[name].level for seen in found] for name, found in later.items() if found}
    sign = 1.0 if up else -1.0
    main = max(distances, key=lambda name: math.fsum(_held(state.groups[name], sign * distance) for distance in distances[name]))
    everything = [distance for found in distances.values() for distance in found]
    others = [distance for name, found in distances.items() if name != main for distance in found]
    shift = float(np.median(everything))
    if len(others) < _LEAST_OTHERS or sign * float(np.median(others)) < _SHARED * sign * shift or sign * shift <= 0:
        group = state.groups[main]
        return _group_moved(state, main, since, group.up_from if up else group.down_from)
    variance = float(np.median([state.groups[name].variance for name in distances]))
    pairs = sum(min(group.pairs, MEMORY) for group in state.groups.values())
    before = tuple(seen for name in distances for seen in _earlier(state.groups[name], since))
    after = tuple(seen for name in distances for seen in later[name])
    moved = Moved(before=before, after=after, usual=state.groups[main].usual, change=shift)
    found = _change(
        state, "", "shift", since, _level(0.0, variance, pairs), _after(everything, variance), moved, _same_way(state, "", shift),
    )  # fmt: skip
    groups = {name: _carried(group, later.get(name, ()), shift, state.pairs) for name, group in state.groups.items()}
    state = msgspec.structs.replace(state, groups=groups, up=0.0, down=0.0, up_since=state.pairs, down_since=state.pairs)
    return _recorded(state, found)


def levels_drift(state: Calibration, name: str) -> Calibration:
    """The state after the level of a group went away from the one that was given out, little by little."""
    group = state.groups[name]
    before = _level(group.settled, group.variance, max(1, min(group.settled_pairs, MEMORY)))
    after = _level(group.level, group.variance, max(1, min(group.pairs, MEMORY)))
    moved = Moved(before=(), after=group.recent, usual=group.usual, change=group.level - group.settled, slow=True)
    found = _change(state, name, "drift", max(0, state.pairs - group.pairs), before, after, moved, False)
    group = msgspec.structs.replace(group, settled=group.level, settled_pairs=group.pairs)
    return _recorded(_with(state, name, group), found)


def _carried(group: GroupLevel, after: Sequence[Seen], shift: float, number: int) -> GroupLevel:
    """A group after all of them moved: by its own pairs where it has enough of them, else by what the others say."""
    own = len(after) >= _LEAST_OTHERS
    level = float(np.median([seen.log_ratio for seen in after])) if own else group.level + shift
    recent = tuple(after) if own else tuple(seen for seen in group.recent if seen in after)
    return msgspec.structs.replace(
        group, pairs=len(after) if own else min(group.pairs, _CARRIED), level=level, up=0.0, down=0.0, up_since=number, down_since=number,
        up_from=level, down_from=level, recent=recent, moved=own or group.moved, settled=level,
        settled_pairs=len(after) if own else _CARRIED,
    )  # fmt: skip


def _held(group: GroupLevel, distance: float) -> float:
    return min(2.5, max(-2.5, distance / math.sqrt(group.variance)))


def _earlier(group: GroupLevel, since: int) -> tuple[Seen, ...]:
    return tuple(seen for seen in group.recent if seen.number <= since)


def _same_way(state: Calibration, name: str, change: float) -> bool:
    """Whether the change before moved the same level the same way for no reason that is known."""
    before = next((found for found in reversed(state.changes) if found.group == name), None)
    return before is not None and before.cause in ("unknown", "ageing") and (before.after.value > before.before.value) == (change > 0)


def _level(log: float, variance: float, pairs: int) -> Quantity:
    half = _Z95 * math.sqrt(variance / pairs)
    return _quantity(log, log - half, log + half, f"robust mean of {pairs} pairs")


def _after(logs: Sequence[float], variance: float) -> Quantity:
    found = median_interval(logs, 0.95) if len(logs) >= BURN_IN else None
    if found is None:  # ranks of so few would reach to their outliers; the spread is known better, from before
        half = _Z95 * math.sqrt(variance / len(logs)) * math.sqrt(math.pi / 2)
        middle = float(np.median(logs))
        return _quantity(middle, middle - half, middle + half, f"median of {len(logs)} pairs, the spread from before")
    return _quantity(found.value, found.low, found.high, f"median of {len(logs)} pairs")


def _quantity(log: float, low: float, high: float, origin: str) -> Quantity:
    return Quantity(value=math.exp(log), low=math.exp(low), high=math.exp(high), confidence=0.95, unit="1", source="measured", origin=origin)


def _change(
    state: Calibration, name: str, kind: str, since: int, before: Quantity, after: Quantity, moved: Moved, same_way: bool
) -> LevelChange:  # fmt: skip
    named, because = cause(moved, state.contexts, same_way=same_way)
    return LevelChange(
        number=state.pairs, since=since, group=name, kind="drift" if kind == "drift" else "shift", before=before, after=after, cause=named,
        because=because, version=len(state.versions),
    )  # fmt: skip


def _with(state: Calibration, name: str, group: GroupLevel) -> Calibration:
    return msgspec.structs.replace(state, groups={**state.groups, name: group})


def _recorded(state: Calibration, found: LevelChange) -> Calibration:
    whose = found.group or "all groups"
    return given_out(
        msgspec.structs.replace(state, changes=(*state.changes, found)), f"{found.kind} of {whose} at pair {found.number}: {found.cause}"
    )
