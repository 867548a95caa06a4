"""What a pair does to a calibration: `update` is a pure function from a state and a pair to the next state.

This module decides the order: remember the pair, learn the level of its group, add up evidence, and where that is enough, find what moved and give
out new corrections. The evidence is in `evidence`, the level that moved in `moves`, corrections in `versions`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec
import numpy as np

from .evidence import ALARM, BURN_IN, MEMORY, begun, correlated, dependence, deviation, increments, learned
from .moves import group_shift, levels_drift, whole_shift
from .state import Calibration, Context, GroupLevel, Pair, Seen
from .versions import first_version, refined

__all__ = ["start", "update", "updated"]

#: Pairs of a group that are remembered one by one, and contexts after which those that nobody refers to are dropped.
_REMEMBERED, _MOST_CONTEXTS = 48, 256
_TYPICAL_VARIANCE = 0.1**2
#: ln of the factor, and standard errors, that a level drifts before it is said.
_DRIFT, _DRIFT_ERRORS = math.log(1.03), 5.0
#: Votes beyond this would keep the usual context for ever.
_MOST_VOTES = 1000


def start(model: str) -> Calibration:
    """A calibration that has seen nothing and corrects nothing: its version 0."""
    return Calibration(model=model, versions=(first_version(model),))


def updated(state: Calibration, pairs: Iterable[Pair]) -> Calibration:
    """The state after all pairs, one by one."""
    for pair in pairs:
        state = update(state, pair)
    return state


def update(state: Calibration, pair: Pair) -> Calibration:
    """The state after one more pair; the state that is given stays as it is.

    Args:
        pair: times in seconds; what it predicted must be the model's own word, not a corrected one.
    """
    number = state.pairs + 1
    state, context = _with_context(state, pair.context)
    before = state.groups.get(pair.group) or GroupLevel(variance=_TYPICAL_VARIANCE)
    seen = Seen(number=number, log_ratio=math.log(pair.actual_s) - math.log(pair.predicted_s), context=context, new=_is_new(before, pair))
    group = _remembered(before, seen, pair.size)
    if group.pairs <= BURN_IN:
        group = begun(group, _typical(state, pair.group))
        return refined(_with_group(state, pair.group, group, pairs=number), pair.group)
    group, distance = _weighed(before, group, seen)
    up, down = increments(before, distance, max(dependence(before.correlation), dependence(state.correlation)))
    whole_up, whole_down = max(0.0, state.up + up), max(0.0, state.down + down)
    state = msgspec.structs.replace(
        state, pairs=number, groups={**state.groups, pair.group: group}, up=whole_up, down=whole_down,
        last=distance, correlation=correlated(state.correlation, state.last, distance, number),
        up_since=state.up_since if whole_up else number, down_since=state.down_since if whole_down else number,
    )  # fmt: skip
    return _judged(state, pair.group)


def _judged(state: Calibration, name: str) -> Calibration:
    """What the evidence says now; all groups together are asked first."""
    group = state.groups[name]
    if len(state.groups) > 1 and max(state.up, state.down) > ALARM:
        return whole_shift(state)
    if max(group.up, group.down) > ALARM:
        return group_shift(state, name)
    error = math.sqrt(group.variance * dependence(group.correlation) / max(1, min(group.settled_pairs, MEMORY)))
    if abs(group.level - group.settled) > max(_DRIFT, _DRIFT_ERRORS * error):
        return levels_drift(state, name)
    return refined(state, name)


def _weighed(before: GroupLevel, group: GroupLevel, seen: Seen) -> tuple[GroupLevel, float]:
    """The group with evidence, level and spread after the pair, and the pair's distance from the level before it."""
    distance = deviation(before, seen.log_ratio)
    up, down = increments(before, distance, dependence(before.correlation))
    up, down = max(0.0, before.up + up), max(0.0, before.down + down)
    level, variance = learned(before, seen.log_ratio)
    changed = msgspec.structs.replace(
        group, level=level, variance=variance, up=up, down=down, last=distance,
        correlation=correlated(before.correlation, before.last, distance, before.pairs),
        up_since=before.up_since if up else seen.number, up_from=before.up_from if up else level,
        down_since=before.down_since if down else seen.number, down_from=before.down_from if down else level,
    )  # fmt: skip
    return changed, distance


def _remembered(group: GroupLevel, seen: Seen, size: float | None) -> GroupLevel:
    """The group with the pair among its last ones, its usual context by Boyer and Moore's majority vote, and the range of its sizes."""
    same = seen.context == group.usual
    votes = min(group.votes + 1, _MOST_VOTES) if same else group.votes - 1
    usual, votes = (group.usual, votes) if votes > 0 else (seen.context, 1)
    least, most = group.least_size, group.most_size
    # What is new stays new until it is what the level rests on: the range is that of the pairs that the level was learned from.
    if size is not None and not seen.new:
        least, most = min(size, size if least is None else least), max(size, size if most is None else most)
    return msgspec.structs.replace(
        group, pairs=group.pairs + 1, all_pairs=group.all_pairs + 1, recent=(*group.recent, seen)[-_REMEMBERED:], usual=usual, votes=votes,
        least_size=least, most_size=most, up_since=group.up_since or seen.number, down_since=group.down_since or seen.number,
    )  # fmt: skip


def _is_new(group: GroupLevel, pair: Pair) -> bool:
    if pair.out_of_range:
        return True
    if pair.size is None or group.least_size is None or group.most_size is None or group.pairs < BURN_IN:
        return False
    return not group.least_size <= pair.size <= group.most_size


def _typical(state: Calibration, name: str) -> float:
    """The usual variance of the other groups that are known, beside a standard deviation of 10 % where there are none."""
    others = [group.variance for other, group in state.groups.items() if other != name and group.pairs > BURN_IN]
    return float(np.median(others)) if others else _TYPICAL_VARIANCE


def _with_group(state: Calibration, name: str, group: GroupLevel, *, pairs: int) -> Calibration:
    return msgspec.structs.replace(state, pairs=pairs, groups={**state.groups, name: group})


def _with_context(state: Calibration, context: Context) -> tuple[Calibration, int]:
    """The state that knows the context, and its index; clocks are kept to one per cent, or each pair would be a context of its own."""
    if context.core_clock_hz is not None:
        context = msgspec.structs.replace(context, core_clock_hz=float(f"{math.exp(round(math.log(context.core_clock_hz), 2)):.4g}"))
    if context in state.contexts:
        return state, state.contexts.index(context)
    if len(state.contexts) >= _MOST_CONTEXTS:
        state = _pruned(state)
    return msgspec.structs.replace(state, contexts=(*state.contexts, context)), len(state.contexts)


def _pruned(state: Calibration) -> Calibration:
    """Without the contexts that nobody refers to."""
    referred = {index for group in state.groups.values() for index in (group.usual, *(seen.context for seen in group.recent))}
    kept = sorted(index for index in referred if index < len(state.contexts))
    new = {old: index for index, old in enumerate(kept)}
    groups = {
        name: msgspec.structs.replace(
            group, usual=new[group.usual], recent=tuple(msgspec.structs.replace(seen, context=new[seen.context]) for seen in group.recent)
        )
        for name, group in state.groups.items()
    }
    return msgspec.structs.replace(state, groups=groups, contexts=tuple(state.contexts[index] for index in kept))
