"""What the difference of two versions comes from: part by part, by every view that was taken of both, held against the whole difference.

Pure: facts of one or several processes of each version in, contributions out. Only a difference that is told from noise is divided, only by views
that did not change the time, and only parts whose own difference is told from noise are named; what they leave is said as such, never spread.

With three processes a side or more, the interval of a part is Welch's for two means of unequal variance (B. Welch, Biometrika 34, 1947; degrees of
freedom by F. Satterthwaite, Biometrics Bulletin 2, 1946); with fewer it is that inside the processes, which lacks what differs between them. Over the
parts of a view the error rate is divided by their number (Bonferroni).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ridgeline.core import Caution, Contribution, Facts, Quantity
from ridgeline.core.units import format_quantity

from .matching import matched
from .parts import SPLIT_KINDS, VIEWS, Part, PartKey, parts_of, view_perturbed

__all__ = ["Attribution", "attribute"]

_CONFIDENCE = 0.95
#: Processes of a side from which on their spread is the error.
_REPLICATES = 3
#: A part under this share of the whole difference explains nothing.
_LEAST_SHARE = 0.01
#: The whole is known well enough for shares of it where its interval stays within this part of it.
_KNOWN = 0.5
#: Parts may explain this share more than the whole, or of its opposite, before they are taken for another moment's.
_OVER = 0.5
#: Parts of the wall from which on they are said, and names of parts that only one version has.
_SAID_SHARE, _SAID_NAMES = 0.02, 4
_TITLES = {"stages": "the stages", "operators": "the operators", "kernels": "the kernels", "wall": "the wall split"}

Pairs = Sequence[tuple[PartKey | None, PartKey | None]]


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that a difference comes from, largest first, what no part explains last; and what could not be attributed, with the reason."""

    why: tuple[Contribution, ...] = ()
    warnings: tuple[Caution, ...] = ()


def attribute(a: Sequence[Facts], b: Sequence[Facts], whole: Quantity) -> Attribution:
    """Divide the difference b − a.

    Args:
        a, b: facts of each process of a version, at least one each; in interleaved order where they were measured together.
        whole: seconds a call of b − those of a, with its interval, from undisturbed calls.
    """
    if whole.low <= 0.0 <= whole.high or not a or not b:
        reason = "the difference is not told from noise" if a and b else "no view was taken of both versions"
        return Attribution(warnings=(_nothing(reason),))
    why: list[Contribution] = []
    warnings: list[Caution] = []
    for view in VIEWS:
        found, warning = _by_view(a, b, view, whole)
        why += found
        warnings += [warning] if warning is not None else []
    if not why and not warnings:
        warnings.append(_nothing("no view was taken of both versions"))
    if all(part.kind == "unexplained" for part in why):
        warnings += _what_is_known(a, b)
    named = sorted((part for part in why if part.kind != "unexplained"), key=lambda part: -abs(part.difference_s))
    return Attribution(why=(*named, *(part for part in why if part.kind == "unexplained")), warnings=tuple(warnings))


def _nothing(reason: str, what: str = "Nothing") -> Caution:
    return Caution(code="not-attributed", message=f"{what} is attributed: {reason}", effect="where the difference comes from is not known")


def _what_is_known(a: Sequence[Facts], b: Sequence[Facts]) -> Iterator[Caution]:
    """What the time of both went to, where no part of the difference is told from noise."""
    said = []
    for name, side in (("A", a), ("B", b)):
        splits = [facts.wall_split for facts in side if facts.wall_split is not None]
        shares = {part: float(np.mean([getattr(split, part).value for split in splits])) for part in SPLIT_KINDS} if splits else {}
        largest = sorted((part for part in shares if shares[part] >= _SAID_SHARE), key=lambda part: -shares[part])
        said += [f"{name}: {', '.join(f'{SPLIT_KINDS[part]} {shares[part]:.0%}' for part in largest)}"] if largest else []
    if len(said) == 2:
        effect = "what the time of a call went to, for what it is worth: no part of it is told to differ"
        yield Caution(code="wall-split", message="; ".join(said), effect=effect)


def _by_view(a: Sequence[Facts], b: Sequence[Facts], view: str, whole: Quantity) -> tuple[list[Contribution], Caution | None]:
    sides = [_Side([parts for parts in (parts_of(facts, view) for facts in side) if parts]) for side in (a, b)]
    if not all(side.processes for side in sides):
        return [], None
    pairs = matched(sides[0].keys, sides[1].keys)
    if any(2 * sum(view_perturbed(facts, view) for facts in side) > len(side) for side in (a, b)):
        return [], _nothing(f"taking it made calls over 10 % longer or shorter{_only(pairs)}", f"Nothing by {_TITLES[view]}")
    found = list(_told(sides[0], sides[1], pairs, view, whole))
    rest = _rest(found, view, whole)
    if _too_much(rest, whole):
        explained = 1 - rest.difference_s / whole.value
        reason = f"its parts differ by {explained:.0%} of the whole difference: they were taken at another moment than the whole{_only(pairs)}"
        return [], _nothing(reason, f"Nothing by {_TITLES[view]}")
    return [*found, rest], None


def _only(pairs: Pairs) -> str:
    """Parts that only one version has: that they are there is known, whatever became of their times."""
    said = []
    for name, keys in (("A", [ours for ours, theirs in pairs if theirs is None]), ("B", [theirs for ours, theirs in pairs if ours is None])):
        names = list(dict.fromkeys(key.bare for key in keys if key is not None))
        more = f" and {len(names) - _SAID_NAMES} more" if len(names) > _SAID_NAMES else ""
        said += [f"; only {name} has {', '.join(names[:_SAID_NAMES])}{more}"] if names else []
    return "".join(said)


def _too_much(rest: Contribution, whole: Quantity) -> bool:
    """Whether the parts explain far more than there is, or the opposite of it, beyond what their intervals allow."""
    low, high = rest.difference_ci_s or (0.0, 0.0)
    return not low <= 0.0 <= high and not -_OVER <= rest.difference_s / whole.value <= 1 + _OVER


def _share(difference_s: float, whole: Quantity) -> float | None:
    """Of the whole difference; `None` where that is not known well enough to divide by."""
    known = max(abs(whole.high - whole.value), abs(whole.value - whole.low)) <= _KNOWN * abs(whole.value)
    return difference_s / whole.value if known else None


class _Side:
    """The parts of one version over its processes: seconds by key, shape (processes,); a part that a process does not have took none of its time."""

    def __init__(self, processes: Sequence[Sequence[Part]]) -> None:
        self.processes = len(processes)
        self.parts: dict[PartKey, Part] = {}
        self.seconds: dict[PartKey, np.ndarray] = {}
        self.inside: dict[PartKey, float] = defaultdict(float)
        for number, parts in enumerate(processes):
            for part in parts:
                self.parts.setdefault(part.key, part)
                self.seconds.setdefault(part.key, np.zeros(self.processes))[number] = part.seconds.value
                self.inside[part.key] = max(self.inside[part.key], (part.seconds.high - part.seconds.low) / 2)

    @property
    def keys(self) -> tuple[PartKey, ...]:
        return tuple(self.parts)

    def total(self, keys: Sequence[PartKey]) -> np.ndarray:
        """Seconds of several parts together, shape (processes,)."""
        return np.sum([self.seconds[key] for key in keys], axis=0) if keys else np.zeros(self.processes)

    def half_width(self, keys: Sequence[PartKey]) -> float:
        """Half the interval inside the processes, of parts together."""
        return float(sum(self.inside[key] for key in keys))


def _told(a: _Side, b: _Side, pairs: Pairs, view: str, whole: Quantity) -> Iterator[Contribution]:
    """Parts with a difference of their own; then kinds whose parts have one only together. Where there are such, each gets half the error rate."""
    kinds = len(_families(pairs))
    silent = []
    for pair in pairs:
        found = _contribution(a, b, [pair], len(pairs) * (2 if kinds else 1), view, whole)
        if found is not None:
            yield found
        else:
            silent.append(pair)
    for family in _families(silent):
        found = _contribution(a, b, family, 2 * kinds, view, whole)
        if found is not None:
            yield found


def _families(pairs: Pairs) -> list[Pairs]:
    """Pairs of one kind, where there are several."""
    by_kind: dict[str, list[tuple[PartKey | None, PartKey | None]]] = defaultdict(list)
    for ours, theirs in pairs:
        key = ours or theirs
        if key is not None and key.kind:
            by_kind[key.kind].append((ours, theirs))
    return [family for family in by_kind.values() if len(family) > 1]


def _contribution(a: _Side, b: _Side, pairs: Pairs, tests: int, view: str, whole: Quantity) -> Contribution | None:
    """What these parts contribute together; `None` where that is not told from noise, or next to nothing."""
    ours, theirs = [key for key, _ in pairs if key is not None], [key for _, key in pairs if key is not None]
    before, after = a.total(ours), b.total(theirs)
    difference = float(after.mean() - before.mean())
    half = _half_width(before, after, a.half_width(ours) + b.half_width(theirs), tests)
    if not abs(difference) > max(half, _LEAST_SHARE * abs(whole.value)):
        return None
    part = a.parts[ours[0]] if ours else b.parts[theirs[0]]
    if part.sort == "waiting" and view == "wall" and min(a.processes, b.processes) < _REPLICATES:
        # Of one or two processes it says what other programs did just then.
        return None
    return Contribution(
        kind=part.sort,
        name=_name(part, len(pairs)),
        a_s=float(before.mean()) if ours else None,
        b_s=float(after.mean()) if theirs else None,
        difference_s=difference,
        difference_ci_s=(float(difference - half), float(difference + half)),
        share=_share(difference, whole),
        because=_because(a, b, ours, theirs, part),
        level=view,
    )


def _half_width(before: np.ndarray, after: np.ndarray, inside_s: float, tests: int) -> float:
    """Half the interval of a difference of means, at 95 % over all tests of the view, seconds."""
    if min(before.size, after.size) < _REPLICATES:
        return inside_s
    variances = before.var(ddof=1) / before.size, after.var(ddof=1) / after.size
    total = sum(variances)
    if not total > 0:
        return 0.0
    freedom = total**2 / (variances[0] ** 2 / (before.size - 1) + variances[1] ** 2 / (after.size - 1))
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - (1 - _CONFIDENCE) / (2 * tests)) * math.sqrt(total))


def _name(part: Part, several: int) -> str:
    return f"{several} × {part.key.kind}" if several > 1 else part.key.name


def _because(a: _Side, b: _Side, ours: Sequence[PartKey], theirs: Sequence[PartKey], part: Part) -> str:
    said = []
    if not theirs:
        said.append("only A has it")
    elif not ours:
        said.append("only B has it")
    else:
        calls = [sum(side.parts[key].calls or 0.0 for key in keys) for side, keys in ((a, ours), (b, theirs))]
        if abs(calls[1] - calls[0]) > 0.05 * max(calls):
            said.append(f"{_calls(calls[0])} calls in A, {_calls(calls[1])} in B")
        shapes = a.parts[ours[0]].key.shapes, b.parts[theirs[0]].key.shapes
        if len(ours) == 1 and shapes[0] != shapes[1]:
            said.append(f"{shapes[0] or 'no shapes'} in A, {shapes[1] or 'no shapes'} in B")
    says = [side.parts[keys[0]].says for side, keys in ((a, ours), (b, theirs)) if keys]
    said += [" in A, ".join(dict.fromkeys(says)) + (" in B" if len(set(says)) > 1 else "")] if any(says) else []
    if min(a.processes, b.processes) < _REPLICATES:
        said.append("one or two processes: the interval lacks what differs between processes")
    return "; ".join(said)


def _calls(calls: float) -> str:
    return f"{calls:.0f}" if calls == round(calls) else f"{calls:.1f}"


def _rest(found: Sequence[Contribution], view: str, whole: Quantity) -> Contribution:
    """What the named parts leave of the whole."""
    explained = math.fsum(part.difference_s for part in found)
    width = math.fsum(part.difference_ci_s[1] - part.difference_s for part in found if part.difference_ci_s)
    left = whole.value - explained
    interval = (whole.low - explained - width, whole.high - explained + width)
    within = "not told from nothing" if interval[0] <= 0 <= interval[1] else "in parts that are not told from noise, or in none"
    explained_share = f"{explained / whole.value:.0%} of {format_quantity(abs(whole.value), 's')}"
    if _share(left, whole) is None:
        ends = [format_quantity(abs(end), "s") for end in sorted((whole.low, whole.high), key=abs)]
        explained_share = (
            f"{format_quantity(abs(explained), 's')} of a whole that is only known to be {ends[0]} to {ends[1]}, so that no shares are said"
        )
    return Contribution(
        kind="unexplained",
        name=f"the rest, by {_TITLES[view]}",
        a_s=None,
        b_s=None,
        difference_s=left,
        difference_ci_s=interval,
        share=_share(left, whole),
        because=f"explained: {explained_share}; the rest is {within}",
        level=view,
    )
