"""Level 2's stages of a call: recorded calls and clean ones in turn, then a closer look over calls of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from typing import Any

import msgspec

from ridgeline.core import Quantity, StageTable

from ..medians import median_of
from .looks import looked_at
from .models import Watched, model_stages, watching_cost_s
from .recorder import Recording, recording
from .stage import stage
from .table import table_of

__all__ = ["StagesReport", "entry_cost_s", "measure_stages"]

_MOST_CALLS = 200
#: Part of the time that goes to the closer look.
_LOOK_PART = 0.4
_COST_ENTRIES = 2000
#: Models of a program that marks stages are watched where that adds no more than this part of its time by arithmetic.
_MOST_ADDED = 0.02


class StagesReport(msgspec.Struct, frozen=True, kw_only=True):
    """The stages, the clean wall taken between the recorded calls, and the ratio of the two."""

    table: StageTable
    clean_s: Quantity
    ratio: Quantity


def measure_stages(
    call: Callable[[], Any],
    *,
    synchronise: Callable[[Any], None] | None = None,
    wait: Callable[[], Any] | None = None,
    seconds: float = 2.0,
    user_files: Iterable[str] = (),
) -> StagesReport:
    """Record the stages of a warmed-up call, and the calls of its models; these are its stages where it marks none.

    Args:
        call: the workload.
        synchronise: waits for its result.
        wait: waits for the device that stages with `synchronise` give their work to.
        seconds: for everything; each kind of call is made at least once.
        user_files: source files that belong to the user.

    Returns:
        The table, which is empty where neither a stage nor the call of a model was seen.
    """
    around: Callable[[], contextlib.AbstractContextManager[Watched | None]] = model_stages
    recorded, clean, added_s = _in_turn(call, synchronise, wait, (1 - _LOOK_PART) * seconds, around)
    automatic = any(found.entered for found in recorded) and not any(found.marked for found in recorded)
    problem = ""
    if not automatic and added_s > _MOST_ADDED * sum(clean):
        # A program of very small models: its stages must not pay for that.
        problem = f"calls of models not told apart, since that would take {added_s / sum(clean):.0%} of the time"
        around = contextlib.nullcontext
        recorded, clean, added_s = _in_turn(call, synchronise, wait, (1 - _LOOK_PART) * seconds, around)
    looks = None
    if any(found.entered for found in recorded):
        with around():
            looks = looked_at(call, synchronise=synchronise, seconds=_LOOK_PART * seconds, user_files=user_files)
    cost_s = entry_cost_s()
    table = table_of(recorded, looks=looks, automatic=automatic, cost_s=cost_s, problem=problem)
    clean_s = median_of(clean, "clean calls between the recorded ones")
    return StagesReport(table=table, clean_s=clean_s, ratio=_ratio(recorded, clean, cost_s, added_s))


def _in_turn(
    call: Callable[[], Any],
    synchronise: Callable[[Any], None] | None,
    wait: Callable[[], Any] | None,
    seconds: float,
    around: Callable[[], contextlib.AbstractContextManager[Watched | None]],
) -> tuple[list[Recording], list[float], float]:
    """Clean and recorded calls in pairs, at least one pair, three where they fit into twice the time; one where nothing is entered.

    With what watching models has added to all the recorded ones, seconds, by arithmetic.
    """
    recorded: list[Recording] = []
    clean: list[float] = []
    outer = inner = 0
    before = perf_counter()

    def more() -> bool:
        spent = perf_counter() - before
        return not recorded or (recorded[0].entered and len(recorded) < _MOST_CALLS and spent < (2 * seconds if len(recorded) < 3 else seconds))

    while more():
        clean_first = len(clean) % 2 == 0  # a drift of the machine meets both kinds alike
        if clean_first:
            clean.append(_timed(call, synchronise))
        with around() as watched, recording(wait=wait) as found:
            _timed(call, synchronise)
        if not clean_first:
            clean.append(_timed(call, synchronise))
        recorded.append(found)
        if watched is not None:
            outer, inner = outer + watched.outer, inner + watched.inner
    of_outer, of_inner = watching_cost_s() if outer else (0.0, 0.0)
    return recorded, clean, outer * of_outer + inner * of_inner


def _ratio(recorded: list[Recording], clean: list[float], cost_s: float, added_s: float) -> Quantity:
    """Recorded ÷ clean, pair by pair; the interval reaches to what the entries cost by arithmetic, since a few pairs may both have been disturbed."""
    walls = [(found.end_ns - found.start_ns) / 1e9 for found in recorded]
    pairs = median_of([wall / max(1e-9, beside) for wall, beside in zip(walls, clean, strict=True)], "")
    entries = sum(len(found.events) + found.missed for found in recorded)
    counted = 1.0 + (cost_s * entries + added_s) / max(1e-9, sum(clean))
    return Quantity(
        value=pairs.value,
        low=min(pairs.low, counted),
        high=max(pairs.high, counted),
        confidence=pairs.confidence,
        unit="1",
        source="measured",
        origin="recorded ÷ clean calls in turn, and entries × cost of one, with that of watching models",
    )


def _timed(call: Callable[[], Any], synchronise: Callable[[Any], None] | None) -> float:
    before = perf_counter()
    result = call()
    if synchronise is not None:
        synchronise(result)
    return perf_counter() - before


def entry_cost_s(entries: int = _COST_ENTRIES) -> float:
    """Seconds that one recorded entry takes here and now: the least of five loops over `entries` of them, less the least of empty ones."""
    mark, empties, entered = stage("cost"), [], []
    with recording():
        for _ in range(5):
            before = perf_counter()
            for _ in range(entries):
                pass
            empty = perf_counter()
            for _ in range(entries):
                with mark:
                    pass
            entered.append(perf_counter() - empty)
            empties.append(empty - before)
    # Apart: a disturbance of one loop must not be taken off another.
    return max(0.0, min(entered) - min(empties)) / entries
