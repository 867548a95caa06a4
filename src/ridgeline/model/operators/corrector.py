"""`Corrector`: what measurements of one operator family add to the estimates, as a document of plain numbers.

This module decides what is kept and what cannot be right; how it answers is decided in `answering`, how it is made in `training`. Nothing of a
document is executed: trees are tables of numbers whose every index is checked, networks and ridges are weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column

from ..learned.conformal import Conformal
from ..learned.gaussian import Gaussian
from ..learned.network import Network
from ..learned.ridge import Ridge
from ..learned.scaling import Scaling, damaged
from ..learned.trees import Forest, Trees
from ..learned.unseen import Reach
from .features import is_feature

__all__ = ["METHODS", "MOST_LOG", "Corrector", "Intervals", "Measured", "Method", "Model", "Range"]

#: What a corrector can be: one level for all rows, one of four models, the mean of the first three, or of the process and trees.
Method = Literal["level", "ridge", "network", "trees", "gaussian", "mean", "both"]
METHODS: tuple[Method, ...] = ("level", "ridge", "network", "trees", "gaussian", "mean", "both")
Model = Ridge | Network | Trees | Gaussian
#: Logarithms of ratios beyond this are of no measurement: e^50 is more than all times that there are.
MOST_LOG = 50.0


class Range(msgspec.Struct, frozen=True, array_like=True):
    """Least and greatest value that was measured."""

    least: float
    most: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.least) and np.isfinite(self.most) and self.least <= self.most):
            raise damaged(f"a range from {self.least!r} to {self.most!r}")


#: No keys.
_NONE = Column(np.zeros(0, np.int64), "1", "<i8")


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The very shapes that were measured.

    Args:
        key: digest of kind, variant, precision, sizes and device of each, rising, int64.
        log_ratio: ln (measured ÷ estimated), the median of its repeats; rows: how many there were.
        half_width: in log, of the interval of another measurement of the same; 0 where no shape was measured twice.
        others: keys of shapes that were learned from and yet do not answer for themselves, for what ran around them counted; rising, int64.
    """

    key: Column
    log_ratio: Column
    rows: Column
    half_width: float = 0.0
    others: Column = _NONE

    def __post_init__(self) -> None:
        key, log, rows = (column.values for column in (self.key, self.log_ratio, self.rows))
        if key.dtype.kind != "i" or log.dtype.kind != "f" or rows.dtype.kind != "i" or not len(key) == len(log) == len(rows):
            raise damaged(f"{len(key)} keys of measured shapes with {len(log)} ratios and {len(rows)} counts")
        if (np.diff(key) <= 0).any() or not 0 <= self.half_width <= MOST_LOG or (np.abs(log) > MOST_LOG).any():
            raise damaged("keys of measured shapes that do not rise, or a ratio that cannot be")
        if self.others.values.dtype.kind != "i" or (np.diff(self.others.values) <= 0).any():
            raise damaged("keys of other shapes that do not rise")


class Intervals(msgspec.Struct, frozen=True, kw_only=True):
    """How far off a corrector was on rows that were held out.

    Args:
        conformal: quantiles by device and tenth of the estimated time, of |log residual| ÷ difficulty.
        edges_s: nine rising ends of the tenths, s.
        difficulty: trees on ln |log residual|; null where there are too few rows to tell difficult ones from others.
        hardest: the greatest difficulty that is believed, the least being its inverse.
        unseen: ends for a device that nobody measured; null with one device.
        carried: share of the correction that another device of the same kind is told; 0 with one device, of which nothing says what is its own.
    """

    conformal: Conformal
    edges_s: Column
    difficulty: Trees | None = None
    hardest: float = 1.0
    unseen: Reach | None = None
    carried: float = 0.0

    def __post_init__(self) -> None:
        edges = self.edges_s.values
        if edges.dtype.kind != "f" or (np.diff(edges) < 0).any() or not 0 <= self.carried <= 1 or not 1 <= self.hardest < np.inf:
            raise damaged(f"{len(edges)} ends of tenths that do not rise, or a share of {self.carried}")
        widest = max(self.conformal.quantiles.values())
        if self.unseen is not None:
            widest = max(widest, *np.abs(self.unseen.low.values).tolist(), *self.unseen.high.values.tolist())
        if widest > MOST_LOG:
            raise damaged(f"an interval of e^{widest:.3g}")


class Corrector(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is added to ln of the estimates of one family.

    Args:
        kind: the family.
        features: that the models see, by name; `scaling`: of the rows they were trained on.
        variants, precisions, devices: that were measured.
        sizes: dimension → range; derived: `flop`, `bytes` and `estimated_s` → range, in SI units; `core_to_core_s` where it was measured.
        method: that was chosen; level: median ln (measured ÷ estimated), from which the models go on; models: their mean is added to it.
        bound: least and greatest ln ratio that was measured: no answer goes beyond.
        errors: mean |log residual| of held-out shapes by method that was tried.
        intervals, measured: see there.
        rows, shapes: that it was trained on.

    Raises:
        ReadError: parts that do not fit together, or numbers that cannot be.
    """

    kind: str
    features: tuple[str, ...]
    scaling: Scaling
    variants: tuple[str, ...]
    precisions: tuple[str, ...]
    devices: tuple[str, ...]
    sizes: dict[str, Range]
    derived: dict[str, Range]
    method: Method
    level: float
    models: tuple[Model, ...]
    bound: Range
    errors: dict[str, float]
    intervals: Intervals
    measured: Measured
    rows: int
    shapes: int

    def __post_init__(self) -> None:
        strange = next((name for name in self.features if not is_feature(name)), None)
        if strange is not None:
            raise damaged(f"feature {strange[:60]!r} of {self.kind[:40]!r}, which this version does not compute")
        names = [model.features if isinstance(model, Trees) else model.scaling.features for model in self.models]
        difficulty = self.intervals.difficulty
        names += [self.scaling.features, *([] if difficulty is None else [difficulty.features])]
        if any(each != self.features for each in names):
            raise damaged(f"models of {self.kind} of other features than its {len(self.features)}")
        if bool(self.models) == (self.method == "level") or not abs(self.level) <= MOST_LOG:
            raise damaged(f"{len(self.models)} models of {self.kind} by the method {self.method}, at level {self.level}")
        # Trees are checked when they are made ready: a file that is damaged is refused when it is read, not when it is asked.
        _ = self.ready, self.difficulty
        if max(abs(self.bound.least), abs(self.bound.most)) > MOST_LOG:
            raise damaged(f"ratios of {self.kind} from e^{self.bound.least:.3g} to e^{self.bound.most:.3g}")
        if set(self.derived) - {"core_to_core_s"} != {"flop", "bytes", "estimated_s"} or not self.sizes:
            raise damaged(f"ranges of {self.kind}: {', '.join((*self.sizes, *self.derived))[:200]}")

    @cached_property
    def ready(self) -> tuple[Callable[[NDArray[np.float64]], NDArray[np.float64]], ...]:
        """The models as functions of rows of features, (n, P) → (n,)."""
        return tuple(Forest(model).predict if isinstance(model, Trees) else model.ready() for model in self.models)

    @cached_property
    def limits(self) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]:
        """Names of sizes and derived ranges, and their least and greatest values, (names, 1) each."""
        ranges = {**self.sizes, **self.derived}
        least, most = ([getattr(each, name) for each in ranges.values()] for name in ("least", "most"))
        return tuple(ranges), np.array(least)[:, None], np.array(most)[:, None]

    @cached_property
    def difficulty(self) -> Forest | None:
        """The trees of the difficulty, ready to be asked."""
        return None if self.intervals.difficulty is None else Forest(self.intervals.difficulty)
