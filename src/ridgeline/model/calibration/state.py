"""What a calibration knows: a small frozen document that every pair of prediction and measurement turns into another one.

This module decides what is kept; what a pair does to it is decided in `updating`, what is corrected in `versions`, why a level moved in `causes`.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from ridgeline.core import Quantity, UsageError

__all__ = ["Calibration", "Cause", "Context", "GroupLevel", "LevelChange", "Pair", "Seen", "Version"]

#: What may have moved a level. `driver` and `runtime`: their version differs. `clock`: it was changed, or throttled. `new workload`: work outside of
#: what was seen. `ageing`: a slow drift without any of these.
Cause = Literal["driver", "runtime", "clock", "new workload", "ageing", "unknown"]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances of a measurement, as far as they are known.

    Args:
        driver, runtime: versions.
        core_clock_hz: clock of the arithmetic; throttled: whether the device lowered it by itself.
    """

    driver: str = ""
    runtime: str = ""
    core_clock_hz: float | None = None
    throttled: bool = False


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction and what was measured.

    Args:
        predicted_s: seconds that the model itself said, before any correction, > 0.
        actual_s: seconds that were measured, > 0.
        group: what shares a level, such as `gemm @ NVIDIA A100`; of a prediction of parts, the one it belongs to.
        context: of the measurement.
        size: how large the work is, in whatever measure the group has (FLOP, bytes), so that new work is known as new; null if not known.
        out_of_range: whether the model said that the query lies outside of what it knows.

    Raises:
        UsageError: a time that is not positive and finite, or a size that is not finite.
    """

    predicted_s: float
    actual_s: float
    group: str = ""
    context: Context = Context()
    size: float | None = None
    out_of_range: bool = False

    def __post_init__(self) -> None:
        for name in ("predicted_s", "actual_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"Pair.{name} > 0", found=repr(value), remedy="leave the pair out")
        if self.size is not None and not math.isfinite(self.size):
            raise UsageError("Pair.size to be finite", found=repr(self.size), remedy="leave it out")


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """One pair as it is remembered: its number, ln (actual ÷ predicted), index of its context, whether it was outside of the sizes seen."""

    number: int
    log_ratio: float
    context: int
    new: bool


class GroupLevel(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one group.

    Args:
        pairs: since the level began; all_pairs: since the beginning.
        level: robust mean of ln (actual ÷ predicted); variance: around it, robust.
        up, down: evidence for a higher and a lower level, ln of a likelihood ratio; up_since, down_since: number of the pair after which it began.
        up_from, down_from: the level at that pair.
        last: distance from the level of the last pair, in standard deviations; correlation: from one pair to the next.
        moved: whether the level moved by itself, so that the whole no longer speaks for it.
        recent: the last pairs, oldest first.
        usual: context of most pairs; votes: by how many.
        least_size, most_size: that were seen since the level began; null where none was known.
        settled: the level when it was last given out, which a slow drift is held against; settled_pairs: pairs that it then rested on.
    """

    pairs: int = 0
    all_pairs: int = 0
    level: float = 0.0
    variance: float = 0.01
    up: float = 0.0
    down: float = 0.0
    up_since: int = 0
    down_since: int = 0
    up_from: float = 0.0
    down_from: float = 0.0
    last: float = 0.0
    correlation: float = 0.0
    moved: bool = False
    recent: tuple[Seen, ...] = ()
    usual: int = 0
    votes: int = 0
    least_size: float | None = None
    most_size: float | None = None
    settled: float = 0.0
    settled_pairs: int = 0


class LevelChange(msgspec.Struct, frozen=True, kw_only=True):
    """A level that moved.

    Args:
        number: of the pair at which it was found; since: of the last pair before it, as far as the evidence says.
        group: whose; empty for all groups together.
        kind: `shift` at once, or `drift` little by little.
        before, after: actual ÷ predicted on both sides, with intervals.
        cause: what differs; because: the figures behind it, or what was looked at in vain.
        version: of the corrections that answers for it.
    """

    number: int
    since: int
    group: str
    kind: Literal["shift", "drift"]
    before: Quantity
    after: Quantity
    cause: Cause
    because: str
    version: int


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """Corrections as they were given out; never changed afterwards.

    Args:
        number: from 0, which corrects nothing.
        at: number of the pair after which it was made.
        why: in words.
        whole: ln of the factor of groups that are not in `logs`; logs: group → ln of its factor.
        errors: group → standard error of its log.
        digest: SHA-256 of all this and of the version before.
    """

    number: int
    at: int
    why: str
    whole: float = 0.0
    logs: dict[str, float] = {}
    errors: dict[str, float] = {}
    digest: str = ""


class Calibration(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.calibration/1"):
    """The state after some pairs.

    Args:
        model: whose predictions are corrected.
        pairs: how many came.
        groups: by name.
        up, down, up_since, down_since: evidence that all groups moved together, as in `GroupLevel`.
        last, correlation: of all pairs in the order they came, as in `GroupLevel`.
        contexts: that `Seen.context` counts.
        versions: of the corrections, oldest first; the last is the one in use.
        changes: levels that moved, oldest first.
    """

    model: str
    pairs: int = 0
    groups: dict[str, GroupLevel] = {}
    up: float = 0.0
    down: float = 0.0
    up_since: int = 0
    down_since: int = 0
    last: float = 0.0
    correlation: float = 0.0
    contexts: tuple[Context, ...] = ()
    versions: tuple[Version, ...] = ()
    changes: tuple[LevelChange, ...] = ()
