"""`RunDiff`: two stored runs side by side, nothing judged."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["DifferentKey", "FigurePair", "RunDiff"]


class DifferentKey(msgspec.Struct, frozen=True, kw_only=True):
    """Something in which two runs differ.

    Args:
        key: such as `machine.cpu` or `software.numpy`.
        a, b: its values; empty where a side has none.
        kind: `must` be equal for their numbers to be compared, `warn` where it may explain a difference, `note` for all else.
    """

    key: str
    a: str
    b: str
    kind: Literal["must", "warn", "note"]


class FigurePair(msgspec.Struct, frozen=True, kw_only=True):
    """One number of both.

    Args:
        name: such as `median`.
        unit: of the values, one of `core.units.BASE_UNITS`.
        a, b: null where a side has none; `a_ci`, `b_ci`: their intervals (low, high).
        ratio: b ÷ a; null where that means nothing, and where the runs do not compare. It says nothing about noise.
    """

    name: str
    unit: str
    a: float | None
    b: float | None
    a_ci: tuple[float, float] | None = None
    b_ci: tuple[float, float] | None = None
    ratio: float | None = None


class RunDiff(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.diff/1"):
    """What differs between two runs.

    Args:
        run_a, run_b: their ids; at_a, at_b: when they were made; target_a, target_b: of what.
        keys: what differs, the gravest first; same: keys that are equal.
        figures: their numbers.
        comparable: whether no key differs that must not.
    """

    run_a: str
    run_b: str
    at_a: str
    at_b: str
    target_a: str
    target_b: str
    keys: tuple[DifferentKey, ...]
    same: tuple[str, ...]
    figures: tuple[FigurePair, ...]
    comparable: bool
