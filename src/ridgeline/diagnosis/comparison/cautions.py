"""What to know about a comparison: one process, several changes, surroundings that differ, values left out, levels that processes gather at."""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Caution, ChangedKey, Series
from ridgeline.core.units import format_quantity, format_share
from ridgeline.stats import levels

from ..cores import moved, moved_between, moved_caution
from .sides import Side

__all__ = ["cautions_of", "names_differ"]

#: A share of disturbed calls that is told.
_TOLD = 0.02
#: A difference of the clocks that is told.
_TOLD_CLOCK = 0.003
#: Keys that are named where many are known on one side only.
_NAMED = 5


def cautions_of(sides: tuple[Side, Side], changed: tuple[ChangedKey, ...], versions_differ: bool, *, alike: bool) -> tuple[Caution, ...]:
    """All of them; where the sides are not alike (`alike` false) only what is about one side."""
    return tuple(_unique([*_keys(changed, versions_differ, alike), *_sides(sides), *_cores(sides)]))


def names_differ(a: Series, b: Series, changed: tuple[ChangedKey, ...]) -> Caution | None:
    """Two benchmarks that nobody called the same, of which no workload says so either."""
    declared = any(key.key == "workload" and key.declared for key in changed)
    alike = bool(a.keys.get("workload")) and a.keys.get("workload") == b.keys.get("workload")
    if not a.name or not b.name or a.name == b.name or declared or alike:
        return None
    message = f"A is {a.name!r} and B is {b.name!r}: that both do the same work is taken for granted"
    return Caution(code="names-differ", message=message, effect="if they do not, the ratio means nothing")


def _unique(cautions: list[Caution]) -> list[Caution]:
    return list(dict.fromkeys(cautions))


def _keys(changed: tuple[ChangedKey, ...], versions_differ: bool, alike: bool) -> Iterator[Caution]:
    both = [key for key in changed if key.a and key.b and (key.declared or key.kind == "warn")]
    # What follows from another key, such as the providers of a runtime, is no change of its own.
    every = {key.key for key in changed}
    both = [key for key in both if "." not in key.key or key.key.partition(".")[0] not in every]
    names = [*(["the version"] if versions_differ else []), *(key.key for key in both)]
    if alike and both and len(names) > 1:
        message = f"{len(names)} things changed at once: {', '.join(names)}"
        yield Caution(code="several-changes", message=message, effect="which of them made the difference cannot be told; change one thing")
    for key in both:
        if not key.declared:
            yield Caution(code="keys-differ", message=f"{key.key} differs: {key.a} against {key.b}", effect="the difference may be its doing")
    unknown = sorted(key.key for key in changed if not (key.a and key.b) and not key.declared)
    if unknown:
        named = ", ".join(unknown[:_NAMED]) + (f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else "")
        message = f"known on one side only: {named}"
        yield Caution(code="keys-unknown", message=message, effect="the sides may be unlike without anyone seeing it")


def _sides(sides: tuple[Side, Side]) -> Iterator[Caution]:
    for name, side in zip("AB", sides, strict=True):
        yield from side.series.cautions
        if side.zeros:
            message = f"{side.zeros} values of {name} are left out, not above zero: a run that failed, or a clock too coarse"
            yield Caution(code="zero-values", message=message, effect="the others may be those that went well")
        if side.units and side.unit != "process":
            message = f"the values of {name} are from one process, or nobody knows from which"
            yield Caution(code="one-process", message=message, effect="what differs from process to process is not in the interval")
        if side.disturbed >= _TOLD:
            message = f"{side.disturbed:.0%} of the calls of {name} were made while something slowed their core: another program on it, or the clock"
            yield Caution(code="contended", message=message, effect="they are not in the ratio; the tail has them")
        yield from _bimodal(name, side)
    clock = sides[1].clock / sides[0].clock
    if abs(clock - 1) >= _TOLD_CLOCK:
        message = f"the clock of the core was {format_share(abs(clock - 1))} {'slower' if clock > 1 else 'faster'} beside the calls of B, by chance"
        yield Caution(code="clock", message=message, effect="the ratio is that at one clock, and not that of the medians shown")


def _cores(sides: tuple[Side, Side]) -> Iterator[Caution]:
    """Cores that the host moved, where a side has threads to which that matters."""
    a, b = (side.series for side in sides)
    if not (a.side_by_side or b.side_by_side):
        return
    between = moved_between(a.core_to_core, b.core_to_core)
    if between is not None:
        yield between
    looks = {name: series.core_to_core.looks_s for name, series in (("A", a), ("B", b)) if series.core_to_core is not None and series.side_by_side}
    told = [name for name, looks_s in looks.items() if moved(looks_s)]
    if told:
        yield moved_caution([seconds for name in told for seconds in looks[name]], " and ".join(told))


def _bimodal(name: str, side: Side) -> Iterator[Caution]:
    if len(side.units) < 4 or not side.has_ratio:
        return
    found = levels(side.medians)
    if found:
        what = "between processes" if side.unit == "process" else "between values"
        gathered = ", ".join(f"{format_quantity(level.value, side.series.unit)} ({level.share:.0%})" for level in found)
        yield Caution(
            code="bimodal",
            message=f"{name} is bimodal {what}: {gathered}",
            effect="the median is that of a mixture; find what decides between the levels",
        )
