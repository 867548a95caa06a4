"""Corrections as they are given out: each version is frozen with a digest, so that what an older one answered can be had again at any time.

This module decides when a level that was learned becomes a correction, how few pairs do little (shrinkage between group and whole), and what a
correction does to a prediction. With n pairs of a group against κ of the whole, ln of its factor is (n × level + κ × whole) ÷ (n + κ); the whole is
the mean of the levels, each with weight n ÷ (n + κ), beside one level of 0, so that one group alone moves unknown ones by less than half. κ is the
variance within groups over that between them, in 1 … 30, once there are five groups to tell it from; 10 before.
Source: B. Efron, C. Morris, "Stein's estimation rule and its competitors: an empirical Bayes approach", JASA 68, 1973.
"""

from __future__ import annotations

import hashlib
import math

import msgspec
import numpy as np

from ridgeline.core import Quantity, ReadError, UsageError

from .evidence import BURN_IN, MEMORY
from .state import Calibration, GroupLevel, Version

__all__ = ["Correction", "checked", "corrected", "correction", "first_version", "given_out", "refined"]

#: Pairs of the whole that stand against those of a group: where nothing is known, and the least and most of what is; groups that tell it.
_SHRINK, _LEAST_SHRINK, _MOST_SHRINK, _TELLING = 10.0, 1.0, 30.0, 5
#: ln of the factor under which a correction is not worth a new version.
_WORTH = math.log(1.01)
#: Pairs at which a level is looked at again though nothing moved.
_LOOKS = frozenset(BURN_IN * 4**power for power in range(20))
_Z90 = 1.6448536269514722


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """What a version says of a group.

    Args:
        factor: actual ÷ predicted, by which a prediction is multiplied, with a 90 % interval of that level alone.
        version, digest: which version says so.
        known: whether the version knows the group itself; if not, the factor is that of the whole.
    """

    factor: Quantity
    version: int
    digest: str
    known: bool


def first_version(model: str) -> Version:
    """Version 0 of a model, which corrects nothing."""
    return _signed(Version(number=0, at=0, why="nothing was measured yet"), model)


def correction(state: Calibration, group: str, version: int | None = None) -> Correction:
    """The factor for predictions of a group, dimensionless.

    Args:
        version: an older one, whose answer is the same as it was then; the newest if not given.

    Raises:
        UsageError: there is no such version.
    """
    newest = len(state.versions) - 1
    if version is not None and not 0 <= version <= newest:
        raise UsageError(f"a version from 0 to {newest}", found=repr(version), remedy="ask for one that was given out")
    chosen = state.versions[newest if version is None else version]
    log, error = chosen.logs.get(group, chosen.whole), chosen.errors.get(group, 0.0)
    factor = Quantity(
        value=math.exp(log), low=math.exp(log - _Z90 * error), high=math.exp(log + _Z90 * error), confidence=0.9, unit="1", source="measured",
        origin=f"calibration of {state.model}, version {chosen.number}",
    )  # fmt: skip
    return Correction(factor=factor, version=chosen.number, digest=chosen.digest, known=group in chosen.logs)


def corrected(prediction: Quantity, found: Correction) -> Quantity:
    """The prediction times the factor, in the prediction's unit; a prediction's own interval and confidence move with it."""
    scaled = prediction.scaled(found.factor.value)
    return msgspec.structs.replace(scaled, origin=f"{prediction.origin} × {found.factor.value:.4g} ({found.factor.origin})".strip())


def checked(state: Calibration) -> Calibration:
    """The state itself, if its versions are those that were given out and its groups are what pairs can lead to.

    Raises:
        ReadError: a version is missing or was changed, a variance is not positive, or a pair refers to a context that there is not.
    """
    for name, group in state.groups.items():
        referred = {group.usual, *(seen.context for seen in group.recent)}
        if not group.variance > 0 or group.pairs < 1 or not 0 <= min(referred) <= max(referred) < len(state.contexts):
            found = (
                f"group {name!r} with {group.pairs} pairs, variance {group.variance!r} and contexts up to {max(referred)} of {len(state.contexts)}"
            )
            raise ReadError("groups as pairs lead to", found=found, remedy="take the calibration from where it was kept")
    before = state.model
    for number, version in enumerate(state.versions):
        if version.number != number or _signed(version, before).digest != version.digest:
            found = f"version {version.number} at place {number} with digest {version.digest[:12]}"
            raise ReadError("versions as they were given out", found=found, remedy="take the calibration from where it was kept")
        before = version.digest
    if not state.versions:
        raise ReadError("a calibration with its version 0", found="no version", remedy="start a new one")
    return state


def refined(state: Calibration, name: str) -> Calibration:
    """The state with a new version if the group has just been known for 20, 80, 320, … pairs and its correction is not the one in use."""
    group = state.groups[name]
    if group.pairs not in _LOOKS:
        return state
    settled = msgspec.structs.replace(group, settled=group.level, settled_pairs=group.pairs)
    state = msgspec.structs.replace(state, groups={**state.groups, name: settled})
    newest = state.versions[-1]
    kappa = _kappa(state)
    moved = abs(_log(group, _whole(state, kappa), kappa) - newest.logs.get(name, newest.whole)) > _WORTH
    return given_out(state, f"level of {name or 'all'} known from {group.pairs} pairs") if moved else state


def given_out(state: Calibration, why: str) -> Calibration:
    """The state with what it knows now as its newest version."""
    kappa = _kappa(state)
    whole = _whole(state, kappa)
    known = {name: group for name, group in sorted(state.groups.items()) if group.pairs >= BURN_IN or group.moved}
    version = Version(
        number=len(state.versions), at=state.pairs, why=why, whole=whole, logs={name: _log(group, whole, kappa) for name, group in known.items()},
        errors={name: math.sqrt(group.variance / max(1, min(group.pairs, MEMORY))) for name, group in known.items()},
    )  # fmt: skip
    return msgspec.structs.replace(state, versions=(*state.versions, _signed(version, state.versions[-1].digest)))


def _kappa(state: Calibration) -> float:
    known = [group for _, group in sorted(state.groups.items()) if group.pairs >= BURN_IN]
    if len(known) < _TELLING:
        return _SHRINK
    between = float(np.var([group.level for group in known], ddof=1))
    within = float(np.median([group.variance for group in known]))
    return min(_MOST_SHRINK, max(_LEAST_SHRINK, within / between)) if between > 0 else _MOST_SHRINK


def _whole(state: Calibration, kappa: float) -> float:
    weights = [(group.pairs / (group.pairs + kappa), group.level) for _, group in sorted(state.groups.items())]
    return math.fsum(weight * level for weight, level in weights) / (math.fsum(weight for weight, _ in weights) + 1)


def _log(group: GroupLevel, whole: float, kappa: float) -> float:
    own = 0.0 if group.moved else kappa
    return (group.pairs * group.level + own * whole) / (group.pairs + own)


def _signed(version: Version, before: str) -> Version:
    content = msgspec.json.encode(msgspec.structs.replace(version, digest=""))
    return msgspec.structs.replace(version, digest=hashlib.sha256(before.encode() + b"\0" + content).hexdigest())
