"""Two profiles of one program by their functions: which ones take more or less of the samples than chance alone would give.

This module decides by the share of the whole that ends in a function (own) or in it and all that it calls (total). Where the number of samples is
known, the interval is that of a difference of two proportions (Newcombe, "Interval estimation for the difference between independent proportions",
Statistics in Medicine 17, 1998, method 10), as confident as the number of comparisons makes necessary (Bonferroni). It is worked out as if there were
a fourth of the samples: those that follow one another often lie in the same call, and such are worth fewer than they are. A share grew or shrank if
that interval leaves out 0 and it moved by 3 % of itself and half a point of the whole at the least; it is neutral if the plain interval (95 %) leaves
no room for a change by a point or by a tenth of it; else nobody knows, nor where no number of samples is known and it moved by more than 2 %. Which
profile is of the faster program shares cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ridgeline.core import Caution, FrameChange, FrameUse, Profile, Stacks, TimelineDifference, UsageError
from ridgeline.stats import wilson_interval

from .frames import frame_uses, joined, weight_of

__all__ = ["common_stacks", "functions_difference", "stacks_difference"]

#: Samples that count as one, since they are not independent.
_TOGETHER = 4
#: Functions with less of both profiles than this are neutral without a test.
_LEAST_SHARE = 1e-3
#: A share that moves by less than this part of itself is the same where there are no samples to tell.
_SAME = 0.02
#: A change by less than this part of a share, or of the whole, is none.
_MATTERS, _POINTS = 0.03, 0.005
#: A scatter that could hide a change by this part of a share, or of the whole, is too wide to call it neutral.
_HIDES, _HIDDEN_POINTS = 0.1, 0.01
_CONFIDENCE = 0.95
#: Below this part of functions and of weight in common two profiles are of different programs.
_LEAST_COMMON = 0.1
#: Functions that are listed.
_MOST = 500
_DECIDED = ("appeared", "vanished", "grew", "shrank")

Pair = tuple[float, float]


class _Function(NamedTuple):
    name: str
    file: str | None
    library: str


class _Test(NamedTuple):
    """How shares are judged: effective samples of both (null without any), and the confidence of the interval."""

    samples: Pair | None
    confidence: float


def common_stacks(a: Profile, b: Profile) -> tuple[list[Stacks], list[Stacks]] | None:
    """The stacks of both whose weights are the same: of the first measure of `a` that `b` has as well; `None` if there is none."""
    kinds = {(each.measure, each.unit) for each in b.stacks}
    kind = next(((each.measure, each.unit) for each in a.stacks if (each.measure, each.unit) in kinds), None)
    if kind is None:
        return None
    first, second = ([each for each in profile.stacks if (each.measure, each.unit) == kind] for profile in (a, b))
    return first, second


def functions_difference(a: Profile, b: Profile, first: Sequence[Stacks], second: Sequence[Stacks]) -> TimelineDifference:
    """What differs between two profiles, by function.

    Args:
        a, b: before and after; first, second: their stacks, of one measure and unit (`common_stacks`).
    """
    before, after = joined(first), joined(second)
    counts = (_samples(before, a), _samples(after, b))
    changes = stacks_difference(before, after, most=len(before.frames) + len(after.frames), samples=counts)
    found = TimelineDifference(a=a.files, b=b.files, window_s=(None, None), verdict="incomparable", rows=(), per="profile", samples=counts)
    why = _unlike(changes)
    if why:
        caution = Caution(code="unlike-recordings", message=f"these are not two profiles of one program: {why}", effect="nothing is compared")
        return _with(found, warnings=(caution,))
    told = [each for each in changes if (each.change, each.total_change) != ("neutral", "neutral")]
    warnings = [_about_samples(counts, before)]
    if len(told) > _MOST:
        warnings.append(Caution(code="not-listed", message=f"{len(told) - _MOST} more functions changed less and are not listed"))
    return _with(
        found, verdict="inconclusive" if told else "same", functions=tuple(told[:_MOST]), neutral=len(changes) - len(told), measure=before.measure,
        excluded=a.excluded + b.excluded, warnings=tuple(warnings),
    )  # fmt: skip


def stacks_difference(
    a: Stacks | Sequence[Stacks], b: Stacks | Sequence[Stacks], most: int = 100, samples: tuple[float | None, float | None] | None = None
) -> tuple[FrameChange, ...]:
    """What changed between two profiles of one program: own shares first, the largest change first, what did not change last.

    Args:
        a, b: before and after, of one measure and unit.
        most: how many functions are listed.
        samples: how many there are; as the stacks say if null.

    Raises:
        UsageError: measures or units differ.
    """
    before, after = (each if isinstance(each, Stacks) else joined(each) for each in (a, b))
    if (before.measure, before.unit) != (after.measure, after.unit):
        found = f"{before.measure} in {before.unit} and {after.measure} in {after.unit}"
        raise UsageError("two profiles of one measure and unit", found=found, remedy="compare like with like")
    one, two = _by_function(before), _by_function(after)
    functions = list(dict.fromkeys((*one, *two)))
    first, second = samples if samples is not None else (before.samples, after.samples)
    # Own and total share of each function are compared.
    confidence = 1 - (1 - _CONFIDENCE) / max(1, 2 * len(functions))
    test = _Test((first / _TOGETHER, second / _TOGETHER) if first and second else None, confidence)
    changes = [_change(function, one.get(function), two.get(function), test) for function in functions]
    changes.sort(key=_rank)
    return tuple(changes[:most])


def _with(found: TimelineDifference, **fields: object) -> TimelineDifference:
    return msgspec.structs.replace(found, **fields)


def _samples(stacks: Stacks, profile: Profile) -> float | None:
    """How many samples a profile has: as it says, or the sum of weights that are called samples."""
    if stacks.samples is not None:
        return float(stacks.samples)
    counted = [stacks, *profile.stacks] if not _is_samples(stacks) else [stacks]
    weights = [weight_of(each) for each in counted if _is_samples(each)]
    return math.fsum(weights) if weights else None


def _is_samples(stacks: Stacks) -> bool:
    return stacks.measure.startswith("sample") and stacks.unit == "count"


def _about_samples(counts: tuple[float | None, float | None], stacks: Stacks) -> Caution:
    if None in counts:
        message = f"no number of samples is known: shares of {stacks.measure or 'weight'} are held against each other as they are"
        return Caution(code="no-samples", message=message, effect="what chance and the run-to-run scatter do to them is not known")
    message = "samples are not independent, and two profiles are one run each: intervals are as of a fourth of the samples"
    return Caution(code="one-run-each", message=message, effect="differences of a few percent may be the machine's")


def _unlike(changes: Sequence[FrameChange]) -> str:
    """Why two profiles are not of one program; empty where they may be."""
    common = [each for each in changes if min(each.total_share) > 0]
    sizes = [sum(each.total_share[side] > 0 for each in changes) for side in (0, 1)]
    if not all(sizes):
        return "one of them has no function"
    weights = [math.fsum(each.own_share[side] for each in common) for side in (0, 1)]
    if len(common) < _LEAST_COMMON * min(sizes) and max(weights) < _LEAST_COMMON:
        return f"{len(common)} of {sizes[0]} and {sizes[1]} functions in common"
    return ""


def _by_function(stacks: Stacks) -> dict[_Function, FrameUse]:
    found = frame_uses(stacks, most=len(stacks.frames))
    return {_Function(use.function, use.file, use.library): use for use in found}


def _change(function: _Function, before: FrameUse | None, after: FrameUse | None, test: _Test) -> FrameChange:
    shares = (before.own_share if before else 0.0, after.own_share if after else 0.0)
    totals = (before.total_share if before else 0.0, after.total_share if after else 0.0)
    fresh = "appeared" if before is None else "grew"
    gone = "vanished" if after is None else "shrank"
    # A function that takes next to nothing with all that it calls needs no test.
    small = test.samples is not None and max(totals) < _LEAST_SHARE
    (change, interval), (total_change, total_interval) = (
        ("neutral", None) if small else _judged(pair, test, fresh, gone) for pair in (shares, totals)
    )
    return FrameChange(
        function=function.name, file=function.file, library=function.library,
        own=(before.own if before else 0.0, after.own if after else 0.0), own_share=shares, total_share=totals,
        change=change, difference_ci=interval, total_change=total_change, total_difference_ci=total_interval,
    )  # fmt: skip


def _judged(shares: Pair, test: _Test, fresh: str, gone: str) -> tuple[str, Pair | None]:
    """The word for a share before and after, and the interval of its difference."""
    difference = shares[1] - shares[0]
    if test.samples is None:
        if abs(difference) <= _SAME * max(shares):
            return "neutral", None
        word = fresh if difference > 0 else gone
        return word if word in ("appeared", "vanished") else "inconclusive", None
    interval = _interval(shares, test.samples, test.confidence)
    if (interval[0] > 0 or interval[1] < 0) and abs(difference) >= max(_POINTS, _MATTERS * max(shares)):
        return fresh if difference > 0 else gone, interval
    low, high = _interval(shares, test.samples, _CONFIDENCE)
    neutral = max(abs(low), abs(high)) <= max(_HIDDEN_POINTS, _HIDES * max(shares))
    return "neutral" if neutral else "inconclusive", interval


def _interval(shares: Pair, samples: Pair, confidence: float) -> Pair:
    """Interval of the difference of two shares, after − before."""
    (low_a, high_a), (low_b, high_b) = (wilson_interval(share * n, n, confidence) for share, n in zip(shares, samples, strict=True))
    difference = shares[1] - shares[0]
    low = difference - math.hypot(shares[1] - low_b, high_a - shares[0])
    high = difference + math.hypot(high_b - shares[1], shares[0] - low_a)
    return (low, high)


def _rank(change: FrameChange) -> tuple[int, float, float]:
    decided = 0 if change.change in _DECIDED else 1 if change.total_change in _DECIDED else 2
    if decided == 2 and change.change == change.total_change == "neutral":
        decided = 3
    own, total = (abs(pair[1] - pair[0]) for pair in (change.own_share, change.total_share))
    return decided, -own, -total
