"""How much longer a known program takes beside known neighbours on a known platform, learned from recordings of pairs.

This module decides ln(t beside ÷ t alone) = A[platform, program] + B[platform, neighbour], two sets of factors fitted in turns, and trees on what
is left of it. `Neighbour.name` says which program the neighbour is; several neighbours add up in logs, which no recording at hand has tested. What
is known of demands alone, without recordings, is in `analytic.contention`. A device that was never recorded is refused: features of platforms do
not carry one over (mean error 49 % with no row, on recordings of 25 devices).

Source of the additive form: R. Mars et al., "Bubble-up", MICRO 2011 (sensitivity of one program × pressure of the other), here in logs and of any
rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError, UsageError
from ridgeline.core.query import Neighbour

from .learned.completion import Completion, Factors, Side, fit_factors
from .learned.growing import Growth, grow, taken_over
from .learned.trees import Forest, Trees

__all__ = ["Contention", "Pairs", "Stretch", "fit_contention"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]

_PROGRAM = Completion(rank=16, ridge=2.0, sweeps=8)
_NEIGHBOUR = Completion(rank=8, ridge=4.0, sweeps=8)
_TURNS = 3
#: Factors of programs that the trees see.
_SEEN = 10
_TREES = Growth(rounds=400, leaves=63, depth=63, least=30, rate=0.08, loss="l1", rows=0.8, columns=0.6, seed=1)
#: Beyond this no stretch was ever recorded; a sum of several neighbours stops here.
_MOST_LOG = 4.0


class Pairs(NamedTuple):
    """Recorded pairs: indexes of platform, program and neighbour, and ln of the time beside it, s, shape (n,) each."""

    platform: Indexes
    program: Indexes
    neighbour: Indexes
    log_time: Floats


class Stretch(NamedTuple):
    """How many times longer, and why that is not to be relied on; empty where it is."""

    factor: float
    out_of_range: tuple[str, ...]


class Contention(msgspec.Struct, frozen=True, kw_only=True, dict=True, tag_field="schema", tag="ridgeline.contention/1"):
    """Programs alone and beside others.

    Args:
        platforms, programs: names, in the order of the factors; a platform is a device with a runtime.
        alone: ln of the time alone, s, platforms × programs.
        by_program, by_neighbour: ln of the stretch, platforms × programs each.
        trees: on what the factors leave over, of the columns of `interactions`; may be missing.
        data_version: of the recordings.

    Raises:
        ReadError: factors or trees that do not belong together.
    """

    platforms: tuple[str, ...]
    programs: tuple[str, ...]
    alone: Factors
    by_program: Factors
    by_neighbour: Factors
    trees: Trees | None = None
    data_version: str = ""

    def __post_init__(self) -> None:
        sizes = len(self.platforms), len(self.programs)
        for factors in (self.alone, self.by_program, self.by_neighbour):
            if (len(factors.row_counts), len(factors.column_counts)) != sizes:
                raise ReadError(f"factors of {sizes[0]} platforms and {sizes[1]} programs", found="others", remedy="train the model again")

    @cached_property
    def _forest(self) -> Forest | None:
        return None if self.trees is None else Forest(self.trees)

    def log_alone(self, platform: Indexes, program: Indexes) -> Floats:
        """ln of the time alone, s, shape (n,)."""
        return self.alone.predict(platform, program)

    def log_stretch(self, platform: Indexes, program: Indexes, neighbour: Indexes) -> Floats:
        """ln(t beside ÷ t alone) with one neighbour each, shape (n,)."""
        found = self.by_program.predict(platform, program) + self.by_neighbour.predict(platform, neighbour)
        if self._forest is not None:
            found = found + self._forest.predict(interactions(self, platform, program, neighbour))
        return np.asarray(found)

    def stretch(self, platform: str, program: str, neighbours: Sequence[Neighbour]) -> Stretch:
        """How much longer a program takes beside neighbours of `SystemState`.

        Raises:
            UsageError: a platform, program or neighbour that was never recorded.
        """
        known = {name: index for index, name in enumerate(self.programs)}
        for what, name, names in (("platform", platform, self.platforms), ("program", program, known)):
            if name not in names:
                raise UsageError(f"a {what} that was recorded", found=repr(name), remedy="give demands to `analytic.contention` instead")
        unknown = [each.name for each in neighbours if each.name not in known]
        if unknown:
            raise UsageError("neighbours that were recorded", found=repr(unknown[0]), remedy="give demands to `analytic.contention` instead")
        others = np.array([known[each.name] for each in neighbours for _ in range(each.kernels)], np.int64)
        where = np.full(len(others), self.platforms.index(platform)), np.full(len(others), known[program])
        reasons = [f"{len(others)} neighbours: the model was trained on one, their stretches are multiplied"] if len(others) > 1 else []
        for name, counts, index in (
            (platform, self.by_program.row_counts, self.platforms.index(platform)), (program, self.by_program.column_counts, known[program])
        ):  # fmt: skip
            if len(others) and not counts.values[index]:
                reasons.append(f"{name} was never recorded beside another")
        log = float(np.clip(self.log_stretch(*where, others).sum(), 0.0, _MOST_LOG)) if len(others) else 0.0
        return Stretch(float(np.exp(log)), tuple(reasons))


def interactions(model: Contention, platform: Indexes, program: Indexes, neighbour: Indexes) -> Floats:
    """What the trees see of a pair, shape (n, 6 + 2 × factors): logs of the parts, main effects, and factors of both programs."""
    alone = model.alone.factors(of_rows=False)
    seen = slice(2, 2 + min(_SEEN, model.alone.width - 2))
    return np.column_stack((
        model.by_program.predict(platform, program), model.by_neighbour.predict(platform, neighbour), model.alone.predict(platform, program),
        model.alone.factors(of_rows=True)[platform, 0], alone[program, 1], alone[neighbour, 1], alone[program][:, seen], alone[neighbour][:, seen],
        model.alone.factors(of_rows=True)[platform][:, seen],
    ))  # fmt: skip


def fit_contention(
    platforms: Sequence[str],
    programs: Sequence[str],
    side: Side,
    alone: Factors,
    pairs: Pairs,
    *,
    trees: Growth | None = _TREES,
    data_version: str = "",
) -> Contention:
    """The model from recorded pairs.

    Args:
        platforms, programs: names; side: what is known of them, in the same order.
        alone: factors of the log times alone, s.
        trees: how trees are grown on what is left; `None` for none.

    Raises:
        UsageError: as `fit_factors`. BackendUnavailable: trees without LightGBM.
    """
    slower = pairs.log_time - alone.predict(pairs.platform, pairs.program)
    by_neighbour = np.zeros(len(slower))
    for _ in range(_TURNS):
        of_program = fit_factors(pairs.platform, pairs.program, slower - by_neighbour, side, _PROGRAM)
        of_neighbour = fit_factors(pairs.platform, pairs.neighbour, slower - of_program.predict(pairs.platform, pairs.program), side, _NEIGHBOUR)
        by_neighbour = of_neighbour.predict(pairs.platform, pairs.neighbour)
    model = Contention(
        platforms=tuple(platforms), programs=tuple(programs), alone=alone, by_program=of_program, by_neighbour=of_neighbour, data_version=data_version
    )
    if trees is None:
        return model
    rest = slower - model.log_stretch(*pairs[:3])
    rows = interactions(model, *pairs[:3])
    names = tuple(f"x{number}" for number in range(rows.shape[1]))
    return msgspec.structs.replace(model, trees=taken_over(grow(rows, rest, names, trees), names))
