"""What each known device adds to the analytical time, mixed for a device that nobody measured.

This module decides that there is one expert a device: a model of all devices together recognises each by its ratios and answers with its quirks,
which doubled the error on a device left out. An expert is a ridge, a network, trees, a few points, or several of them, whose mean it answers. How
much one device says of another is given by the caller as weights; the mixed correction is shrunk, for part of it belongs to the known devices alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError, UsageError

from .growing import Growth, grow, taken_over
from .network import Network, Schedule, train
from .points import Points
from .ridge import Ridge, fit_ridge
from .scaling import Scaling, checked_rows, scaling_of
from .trees import Forest, Trees

__all__ = ["METHODS", "SHRINK", "Expert", "Experts", "Method", "Mixture", "fit_expert"]

Floats = NDArray[np.float64]
Model = Ridge | Network | Points | Trees
Method = Literal["ridge", "network", "both", "trees"]

#: What an expert can be; `both` is a ridge and a network: beyond their rows they err in different directions.
METHODS: tuple[Method, ...] = ("ridge", "network", "both", "trees")
#: Of the mixed correction this much is applied.
SHRINK = 0.7
#: Experts with less than this share of the best one's weight are left out; a device whose best weight is less is like none.
FAINT = 0.05
_BOUND = 1.5
#: Loads of whole vectors are never slower: the only feature along which physics gives a sign to what the analytical form leaves over.
_FALLING = {"aligned": -1}


class Expert(msgspec.Struct, frozen=True, kw_only=True):
    """What one device adds: the mean of `models`, of features in `scaling`; from how many `rows`; `shrink`: share that others are told, in (0, 1]."""

    device: str
    scaling: Scaling
    models: tuple[Model, ...]
    rows: int = 0
    shrink: float = SHRINK

    def __post_init__(self) -> None:
        if not 0 < self.shrink <= 1:
            raise ReadError("a share in (0, 1] of what an expert says", found=repr(self.shrink), remedy="train it again")
        if not self.models:
            raise ReadError("an expert with a model", found=f"none for {self.device}", remedy="train it again")
        for model in self.models:
            names = model.features if isinstance(model, Trees) else model.scaling.features
            if names != self.scaling.features:
                raise ReadError(f"models of {len(self.scaling.features)} features", found=f"one of {len(names)}", remedy="train them again")


class Experts(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.experts/1"):
    """All experts of one group of operators.

    Args:
        group: of operators; features: names of its columns.
        method: that was chosen; errors: mean absolute error in log on devices left out, by method that was tried.
        experts: one a device.
        data_version: of the measurements that they were trained on.
    """

    group: str
    features: tuple[str, ...]
    method: Method
    experts: tuple[Expert, ...]
    errors: dict[str, float] = {}
    data_version: str = ""

    def __post_init__(self) -> None:
        for expert in self.experts:
            if expert.scaling.features != self.features:
                raise ReadError(f"experts of the features of {self.group}", found=f"other ones of {expert.device}", remedy="train them again")


class Correction(NamedTuple):
    """For N rows: `log` of the factor on the analytical time, `spread` of the experts about it, and which rows lie `outside` of what they saw."""

    log: Floats
    spread: Floats
    outside: NDArray[np.bool_]


class Mixture:
    """Experts ready to be asked for one device.

    Args:
        experts: of a group.
        weights: of the known devices for the one asked about; those that are missing weigh nothing.
    """

    def __init__(self, experts: Experts, weights: Mapping[str, float]) -> None:
        known = [(expert, weights.get(expert.device, 0.0)) for expert in experts.experts]
        best = max((weight for _, weight in known), default=0.0)
        used = [(expert, weight) for expert, weight in known if weight > FAINT * best]
        self.features = experts.features
        #: The weight of the device that says most, in [0, 1].
        self.likeness = best
        #: Devices whose experts are asked → their share.
        self.shares: dict[str, float] = {}
        self._experts = []
        total = sum(weight for _, weight in used)
        # A device that is like none is answered by the analytical form alone.
        for expert, weight in used if best >= FAINT else ():
            self.shares[expert.device] = weight / total
            self._experts.append((expert.scaling, expert.shrink, [_ready(model) for model in expert.models]))

    def correct(self, rows: Floats) -> Correction:
        """Corrections of rows of features, (n, P); none where no expert is asked."""
        rows = checked_rows(rows, self.features)
        if not self._experts:
            nothing = np.zeros(len(rows))
            return Correction(nothing, nothing, np.ones(len(rows), bool))
        share = np.array(list(self.shares.values()))
        logs = np.stack([
            shrink * np.mean([np.clip(model(rows), -_BOUND, _BOUND) for model in models], axis=0) for _, shrink, models in self._experts
        ])  # fmt: skip
        outside = np.stack([scaling.outside(rows) for scaling, _, _ in self._experts])
        centre = share @ logs
        return Correction(centre, np.sqrt(share @ (logs - centre) ** 2), np.asarray(outside.all(axis=0)))


def _ready(model: Model) -> Callable[[Floats], Floats]:
    return Forest(model).predict if isinstance(model, Trees) else model.ready()


def fit_expert(device: str, rows: Floats, target: Floats, features: tuple[str, ...], method: Method, seed: int = 0) -> Expert:
    """The expert of one device.

    Args:
        rows: features, (n, P); target: log of measured ÷ analytical time, (n,).
        method: what it is; seed: of whatever is drawn.

    Raises:
        UsageError: no rows, or a method that there is not. BackendUnavailable: trees without LightGBM.
    """
    if method not in METHODS:
        raise UsageError(f"a method of {', '.join(METHODS)}", found=repr(method), remedy="take one of them")
    models: list[Model] = []
    if method in ("ridge", "both"):
        models.append(fit_ridge(rows, target, features))
    if method in ("network", "both"):
        models.append(train(rows, target, features, Schedule(seed=seed)).network)
    if method == "trees":
        growth = Growth(rounds=150, leaves=15, depth=6, least=60, rate=0.08, smoothing=5.0, seed=seed)
        rising = {name: sign for name, sign in _FALLING.items() if name in features}
        models.append(taken_over(grow(np.asarray(rows, np.float64), target, features, growth, rising=rising or None), features))
    return Expert(device=device, scaling=scaling_of(rows, features), models=tuple(models), rows=len(rows))
