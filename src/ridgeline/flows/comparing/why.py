"""What makes the difference: the level instruments on both versions by turns, or the facts of diagnoses that are at hand; divided in `diagnosis`.

Each round takes the views of both versions in a fresh process each, in random order: what differs from process to process is in the intervals.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import NoReturn

import msgspec
import numpy as np

from ridgeline.core import BackendUnavailable, Caution, Comparison, Facts, Need, Quantity, RidgelineError
from ridgeline.core.units import format_quantity
from ridgeline.diagnosis.attribution import Attribution, attribute
from ridgeline.machine import Limits, Worker, read_machine
from ridgeline.measurement.agent import EVERY_LEVEL, PreparedReport

from ..instruments import Instruments, satisfy
from .first_look import process_environment
from .sides import LiveSide

__all__ = ["Views", "attributed", "views_of"]

Report = Callable[[str, float | None], None]
#: Processes of each version whose views are taken; with fewer than three there is no spread.
_ROUNDS, _ROUNDS_LEAST = 5, 3
#: Part of a round's time that the instruments of one process get; the rest is starting it.
_INSTRUMENTS_PART = 0.6
_INSTRUMENTS_LEAST_S = 0.5
_LONGEST_S = 3600.0
_NEEDS = (
    Need(level=1, instrument="samples"),
    Need(level=2, instrument="wall-split"),
    Need(level=2, instrument="stages"),
    Need(level=3, instrument="operators"),
    Need(level=4, instrument="primitives"),
)
_TOLD = ("faster", "slower")


class Views(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of processes of both versions, and why there are none of some."""

    a: tuple[Facts, ...] = ()
    b: tuple[Facts, ...] = ()
    failure: str = ""


def attributed(found: Comparison, views: Views) -> Comparison:
    """The comparison with the parts that its difference comes from."""
    whole = _whole(found)
    if whole is None:
        seen = _nothing(found)
    elif not views.a and views.failure:
        seen = Attribution(warnings=(_not_attributed(views.failure),))
    else:
        seen = attribute(views.a, views.b, whole)
    return msgspec.structs.replace(found, why=seen.why, warnings=(*found.warnings, *seen.warnings))


def views_of(found: Comparison, sides: tuple[LiveSide, LiveSide], seconds: float, seed: int, report: Report) -> Views:
    """Facts of several processes of each version; none where there is no difference to explain.

    Args:
        found: the comparison.
        sides: the versions.
        seconds: for all of it, about; at least one process of each is looked into.
        seed: of the order.
        report: progress.
    """
    facts: tuple[list[Facts], list[Facts]] = ([], [])
    failure = ""
    if _whole(found) is None:
        return Views()
    began, order = time.monotonic(), random.Random(seed)
    budget_s = max(_INSTRUMENTS_LEAST_S, _INSTRUMENTS_PART * seconds / (2 * _ROUNDS))
    for number in range(_ROUNDS):
        spent_s = time.monotonic() - began
        if number and spent_s * (number + 1) / number > seconds and (number >= _ROUNDS_LEAST or spent_s > 3 * seconds):
            break
        report("looking into both versions", number / _ROUNDS)
        try:
            taken = {index: _views(sides[index], budget_s) for index in order.sample((0, 1), 2)}
        except RidgelineError as error:  # the comparison stands without its reasons
            failure = str(error)
            if facts[0]:
                continue
            break
        facts[0].append(taken[0])
        facts[1].append(taken[1])
    return Views(a=tuple(facts[0]), b=tuple(facts[1]), failure=failure)


def _views(side: LiveSide, budget_s: float) -> Facts:
    """The views of one process."""
    environment = process_environment(side)
    with Worker(limits=Limits(wall_s=_LONGEST_S), environment=environment, directory=side.directory, preload=EVERY_LEVEL) as worker:
        prepared = worker.call("ridgeline.measurement.agent:prepare", {"spec": side.spec}, PreparedReport)
        facts = Facts(target=prepared.info, machine=read_machine(), first_s=prepared.first_s)
        instruments = Instruments(
            spec=side.spec, worker=worker, budget_s=budget_s, samples=None, report=lambda label, fraction: None, probe=_no_probe,
            directory=side.directory,
        )  # fmt: skip
        for need in _NEEDS:
            facts = satisfy(need, instruments, facts)
    return facts


def _no_probe() -> NoReturn:
    """No view asks for ceilings."""
    raise BackendUnavailable("a view that needs no ceilings", found="one that asks for them", remedy="diagnose the target")


def _whole(found: Comparison) -> Quantity | None:
    """Seconds a call of b − those of a; `None` where the values are no times or the interval has no end."""
    if found.verdict not in _TOLD or found.unit != "s" or found.a is None or found.ratio is None:
        return None
    if found.ratio_ci is None or found.ratio_ci[1] is None:
        return None
    base = found.a.median_s
    low, high = (base * (end - 1) for end in (found.ratio_ci[0], found.ratio_ci[1]))
    value = float(np.clip(base * (found.ratio - 1), low, high))
    return Quantity(value=value, low=low, high=high, confidence=found.confidence, unit="s", source="measured", origin="b − a, undisturbed calls")


def _nothing(found: Comparison) -> Attribution:
    if found.verdict in _TOLD:
        reason = "its ends are not known, or its values are no times"
    else:
        seen = f" ({format_quantity(100 * abs(found.ratio - 1), '1')} %)" if found.ratio is not None else ""
        reason = f"the verdict is {found.verdict}{seen}"
    return Attribution(warnings=(_not_attributed(reason),))


def _not_attributed(reason: str) -> Caution:
    return Caution(code="not-attributed", message=f"nothing is attributed: {reason}", effect="where a difference comes from is not known")
