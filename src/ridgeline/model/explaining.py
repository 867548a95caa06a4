"""Why a prediction is what it is: the term that dominates, the ceiling behind it, and which input moves the latency most.

Each input is changed by ±10 % and everything is predicted again, so that the elasticity d ln t ÷ d ln x holds for all that the formulas know: tiles,
levels, hosts, launches. The next ceiling is what binds when the dominant term costs next to nothing. Both go by the formulas and forms alone: a
correction that was trained on what machines are says nothing of what they might be. This module decides what is changed and how it is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from ridgeline.core import Cost, Device, Explanation, OutOfRange, Precision, Prediction, Quantity, Sensitivity, SystemState
from ridgeline.core.device import ARITHMETIC_ENGINES, MEMORY_MIXES
from ridgeline.core.units import format_share

from .graphs.predicting import Knowledge, Question, predicted
from .graphs.tasks import Plan
from .operators.assumed import assumed
from .operators.roofs import Roofs, roofs

__all__ = ["explained"]

_STEP = 0.1
#: So much better that what remains is everything else.
_FREE = 1e4
#: What products in fp32 may be computed in without anything being converted.
_AS_IT_IS: dict[str, tuple[Precision, ...]] = {"fp32": ("tf32",)}
_NARROWER: dict[str, tuple[Precision, ...]] = {
    "fp64": ("fp32",), "fp32": ("fp16", "bf16", "int8"), "tf32": ("fp16", "bf16", "int8"), "bf16": ("fp8", "int8"), "fp16": ("fp8", "int8"),
    "fp8": ("fp4",), "int8": ("int4",),
}  # fmt: skip
_WORDS = {"compute": "arithmetic", "overhead": "starting operators", "communication": "what passes between devices"}
#: Elasticities below this are called none.
_NONE = 0.01


class _Case(NamedTuple):
    """What is changed and asked."""

    plan: Plan
    device: Device
    question: Question
    gpus: Knowledge

    def seconds(self) -> float:
        return self.predicted().latency_s.value

    def roofs(self) -> Roofs:
        return roofs(self.device, self.question.state, self.plan.runtime)

    def predicted(self) -> Prediction:
        return predicted(self.plan, self.device, self.question, self.gpus)


def explained(plan: Plan, device: Device, question: Question | None = None, found: Prediction | None = None) -> Explanation:
    """Why one call of a plan takes what it takes on a device.

    Args:
        found: the prediction, where it is at hand: its shares are explained then; else that of the formulas.

    Raises:
        UsageError, OutOfRange: as `predicting.predicted`.
    """
    asked = question or Question()
    whole = plan if asked.batch is None else plan.batched(asked.batch)
    case = _Case(whole, device, asked._replace(batch=None), Knowledge())
    base = case.predicted()
    shares = (found or base).split
    dominant = max(shares, key=lambda name: shares[name])
    following, headroom = _behind(case, base, dominant)
    moved = _sensitivities(case, base)
    return Explanation(
        dominant=dominant, shares=shares, next_ceiling=following, headroom=headroom, sensitivities=moved,
        sentences=_sentences(dominant, shares, following, headroom, moved),
    )  # fmt: skip


def _behind(case: _Case, base: Prediction, dominant: str) -> tuple[str, float]:
    """(What takes most if the dominant term costs nothing, latency now ÷ latency then)."""
    if dominant in ("overhead", "communication"):
        rest = {name: share for name, share in base.split.items() if name != dominant}
        # These stand beside the rest of every operator: without them the rest is what it was.
        headroom = 1.0 / max(1.0 / _FREE, 1.0 - base.split.get(dominant, 0.0))
    else:
        change = _arithmetic if dominant == "compute" else _bandwidth(dominant)
        freed = change(case, _FREE).predicted()
        rest = {name: share for name, share in freed.split.items() if name != dominant}
        headroom = max(1.0, base.latency_s.value / freed.latency_s.value)
    return max(rest, key=lambda name: rest[name], default=dominant), headroom


# ── changes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _scaled(quantity: Quantity | None, factor: float) -> Quantity | None:
    return None if quantity is None else quantity.scaled(factor)


def _arithmetic(case: _Case, factor: float) -> _Case:
    ceilings = tuple(
        msgspec.structs.replace(each, rate=each.rate.scaled(factor)) if each.engine in ARITHMETIC_ENGINES else each for each in case.device.ceilings
    )
    return case._replace(device=msgspec.structs.replace(case.device, ceilings=ceilings))


def _bandwidth(level: str) -> Callable[[_Case, float], _Case]:
    def change(case: _Case, factor: float) -> _Case:
        ceilings = tuple(
            msgspec.structs.replace(each, rate=each.rate.scaled(factor)) if each.engine in MEMORY_MIXES and each.level == level else each
            for each in case.device.ceilings
        )
        return case._replace(device=msgspec.structs.replace(case.device, ceilings=ceilings))

    return change


def _clock(case: _Case, factor: float) -> _Case:
    """Arithmetic and the memories on the chip."""
    under = case.roofs()
    for level in under.levels[:-1]:
        case = _bandwidth(level.name)(case, factor)
    case = _arithmetic(case, factor)
    state = case.question.state
    if state is not None and state.core_clock_hz is not None:
        # The clock that is set goes with the one that the ceilings hold at.
        case = case._replace(question=case.question._replace(state=msgspec.structs.replace(state, core_clock_hz=state.core_clock_hz * factor)))
    device = msgspec.structs.replace(
        case.device, clock_hz=_scaled(case.device.clock_hz, factor), boost_clock_hz=_scaled(case.device.boost_clock_hz, factor)
    )
    return case._replace(device=device)


def _dispatch(case: _Case, factor: float) -> _Case:
    """An operator's start, and of an accelerator's host a launch; better is less."""
    under = case.roofs()
    own = Quantity.exact(under.dispatch_s * factor, "s", source="assumed")
    hop = Quantity.exact(under.core_to_core_s * factor, "s", source="assumed")
    costs = (Cost(name="dispatch", seconds=own, library=case.plan.runtime), Cost(name="core-to-core", seconds=hop), *case.device.costs)
    state = case.question.state or SystemState()
    host = state.dispatch_s if state.dispatch_s is not None else assumed().launch_s.get(case.plan.runtime, 0.0) if under.kind == "gpu" else None
    apart = None if state.core_to_core_s is None else state.core_to_core_s * factor
    state = msgspec.structs.replace(state, dispatch_s=None if host is None else host * factor, core_to_core_s=apart)
    return case._replace(device=msgspec.structs.replace(case.device, costs=costs), question=case.question._replace(state=state))


# ── sensitivities ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sensitivities(case: _Case, base: Prediction) -> tuple[Sensitivity, ...]:
    changes: list[tuple[str, Callable[[_Case, float], _Case], bool]] = [
        ("core clock", _clock, True), ("arithmetic", _arithmetic, True),
        *((f"{level.name} bandwidth", _bandwidth(level.name), True) for level in case.roofs().levels if level.byte_per_s > 0),
        ("dispatch", _dispatch, False),
    ]  # fmt: skip
    now = base.latency_s.value
    found = [_one(name, change, rises, case, now) for name, change, rises in changes]
    found += [each for each in (_batch(case, now), *(_precision(case, base, table) for table in (_AS_IT_IS, _NARROWER))) if each is not None]
    return tuple(sorted(found, key=lambda each: -abs(each.elasticity if each.elasticity is not None else math.log(each.speedup))))


def _one(name: str, change: Callable[[_Case, float], _Case], rises: bool, case: _Case, now: float) -> Sensitivity:
    up, down = change(case, 1 + _STEP).seconds(), change(case, 1 - _STEP).seconds()
    elasticity = math.log(up / down) / math.log((1 + _STEP) / (1 - _STEP))
    return Sensitivity(input=name, elasticity=elasticity, change="±10 %", speedup=now / (up if rises else down))


def _batch(case: _Case, now: float) -> Sensitivity | None:
    """The latency of a call with more items, and what an item gains by it."""
    before = case.plan.batch or 1
    after = max(before + 1, round(before * (1 + _STEP)))
    try:
        seconds = case._replace(plan=case.plan.batched(after)).seconds()
    except OutOfRange:
        return None
    elasticity = math.log(seconds / now) / math.log(after / before)
    return Sensitivity(
        input="batch", elasticity=elasticity, change=f"{before} → {after}, speedup of an item", speedup=now * after / (seconds * before)
    )


def _precision(case: _Case, base: Prediction, formats: Mapping[str, tuple[Precision, ...]]) -> Sensitivity | None:
    """The first of the formats after the present one that the device states a peak of."""
    stated = {each.precision for each in case.device.ceilings if each.engine == "fma"}
    mine, now = base.precision, base.latency_s.value
    narrower = next((each for each in formats.get(mine, ()) if each in stated), None)
    if narrower is None:
        return None
    try:
        seconds = case._replace(question=case.question._replace(precision=narrower)).seconds()
    except OutOfRange:
        return None
    return Sensitivity(input="precision", elasticity=None, change=f"{mine} → {narrower}", speedup=now / seconds)


def _sentences(dominant: str, shares: dict[str, float], following: str, headroom: float, moved: tuple[Sensitivity, ...]) -> tuple[str, ...]:
    def named(term: str) -> str:
        return _WORDS.get(term, f"the bandwidth of {term}")

    most = next((each for each in moved if each.elasticity is not None and each.input != "batch"), None)
    lines = [
        f"{named(dominant)} takes {format_share(shares[dominant])} of the latency",
        f"if it cost nothing, the call would be {headroom:.3g} times as fast, and {named(following)} would bind",
    ]
    if most is not None and most.elasticity is not None and abs(most.elasticity) >= _NONE:
        lines.append(f"it answers most to {most.input}: 10 % better makes a call {most.speedup:.3g} times as fast")
    return tuple(lines)
