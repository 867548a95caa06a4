"""Which instrument satisfies which Need, and what it adds to the facts: one module a level.

Each instrument is a function of `Instruments` and the facts so far that returns new facts; it decides nothing. A failure of the target is the
person's business and goes up while the ground truth is taken; a failure of an instrument after that is a reason in `facts.cannot`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ridgeline.core import Facts, LevelRecord, Need, RidgelineError

from . import cold, level1, level2, level3, level4, level5, waits
from .surroundings import Instruments

__all__ = ["Instruments", "satisfy"]

Instrument = Callable[[Instruments, Facts], Facts]

#: Name of the instrument in a Need → what the progress line says (nothing where empty), and the function.
_INSTRUMENTS: dict[str, tuple[str, Instrument]] = {
    # Kept from an earlier run it costs nothing; where it has to be measured, the probe says so itself.
    "device": ("", level1.device),
    "samples": ("ground truth", level1.ground_truth),
    "cold-start": ("starting fresh processes", cold.cold_start),
    "wall-split": ("splitting the wall", level2.wall_split),
    "stages": ("timing stages", level2.stages),
    "operators": ("profiling operators", level3.operators),
    "dispatch": ("fitting the cost of dispatch", level3.dispatch),
    "primitives": ("reading oneDNN's log", level4.primitives),
    "relayouts": ("repeating operators on another layout", level4.relayouts),
    "hot-spots": ("sampling lines", level5.hot_spots),
    "waits": ("timing waits", waits.waits),
}

#: Instruments that make a verdict finer and call the target many times: not worth it where one call alone breaks the budget.
_REFINEMENTS = frozenset({"dispatch", "primitives", "relayouts", "waits"})


def satisfy(need: Need, instruments: Instruments, facts: Facts) -> Facts:
    """Measure what is needed.

    Raises:
        TargetFailed: from the ground truth only.
    """
    if need.instrument in _REFINEMENTS and _is_long(facts, instruments):
        return _without(need, facts, "left out: one call alone takes longer than the time budget; give more with --time-budget")
    label, instrument = _INSTRUMENTS[need.instrument]
    if label:
        instruments.report(label, None)
    if need.instrument == "samples":
        return instrument(instruments, facts)
    try:
        return instrument(instruments, facts)
    except RidgelineError as error:
        return _without(need, facts, str(error))


def _without(need: Need, facts: Facts, reason: str) -> Facts:
    """The facts with the reason why an instrument gave nothing, so that it is not asked for again."""
    skipped = LevelRecord(level=need.level, instrument=need.instrument, skipped=reason)
    return msgspec.structs.replace(facts, cannot={**facts.cannot, need.instrument: reason}, levels=(*facts.levels, skipped))


def _is_long(facts: Facts, instruments: Instruments) -> bool:
    """Whether one call takes longer than all instruments were given."""
    return facts.samples is not None and len(facts.samples) > 0 and float(facts.samples.wall_s.values.min()) > instruments.budget_s
