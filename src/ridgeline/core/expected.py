"""What a performance model expects of the operators of one call, and what came of holding the measured ones against it.

`ExpectedTable` is a fact: what the model said before anything was compared. The other two are conclusions, drawn in `diagnosis.expected`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .prediction import Basis
from .quantity import Quantity

__all__ = ["AgainstExpected", "ExpectedOperator", "ExpectedSummary", "ExpectedTable"]


class ExpectedOperator(msgspec.Struct, frozen=True, kw_only=True):
    """One operator as a runtime runs it.

    Args:
        name, kind: as the runtime calls it.
        outputs: shapes of its results, which tell operators of a kind apart.
        calls: executions in one call of the target that the seconds are of.
        seconds: of all of them together; null where the model does not know it.
        basis: how the seconds came about; out_of_range: why they may be wrong.
        alternatives: hypothesis → seconds if it held, such as `one thread`; what does not apply to it is left out.
    """

    name: str
    kind: str
    outputs: tuple[tuple[int, ...], ...] = ()
    calls: float = 1.0
    seconds: Quantity | None = None
    basis: Basis = "analytic"
    out_of_range: tuple[str, ...] = ()
    alternatives: dict[str, float] = {}


class ExpectedTable(msgspec.Struct, frozen=True, kw_only=True):
    """Operators of one call as a model expects them.

    Args:
        operators: in the order in which the runtime runs them.
        device: name of the device that they are expected on.
        data_version: of the formulas and of what a model was trained on.
        trained: whether a trained model was asked; formulas alone have wide intervals.
    """

    operators: tuple[ExpectedOperator, ...]
    device: str
    data_version: str
    trained: bool = False


class AgainstExpected(msgspec.Struct, frozen=True, kw_only=True):
    """One measured operator held against what was expected.

    Args:
        verdict: `slower` where the whole measured interval lies above the expected one, `faster` where it lies below, else `within`.
        ratio: measured ÷ expected.
        lost_s: (low, high) seconds of a call that it takes beyond what is expected; below zero where it is faster.
    """

    verdict: Literal["slower", "faster", "within"]
    ratio: Quantity
    lost_s: tuple[float, float]


class ExpectedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All operators that were both expected and measured.

    Args:
        predicted_s, actual_s: sums over them, seconds of one call.
        operators: how many; slower, faster: how many of these lie outside what is expected.
        lost_s: (low, high) seconds of a call that the slower ones take beyond it.
        unmatched: measured operators without an expected time; unmatched_s: their seconds in one call.
        by: operators by how their expected time came about.
        device, data_version, trained: as in `ExpectedTable`.
        because: why operators were not held against it, where they were not; then all counts are 0 and the sums null.
    """

    predicted_s: Quantity | None = None
    actual_s: Quantity | None = None
    operators: int = 0
    slower: int = 0
    faster: int = 0
    lost_s: tuple[float, float] = (0.0, 0.0)
    unmatched: int = 0
    unmatched_s: float = 0.0
    by: dict[str, int] = {}
    device: str = ""
    data_version: str = ""
    trained: bool = False
    because: str = ""
