"""`Instruments`: what every instrument of one diagnosis works with: the child that holds the target, the budget, and somebody to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ridgeline.core import Device, Facts, LevelRecord, Quantity, Samples, quotient
from ridgeline.core.documents import from_builtins
from ridgeline.measurement.agent import EVERY_LEVEL, KEEP

if TYPE_CHECKING:
    from ridgeline.machine import Worker
    from ridgeline.targets import TargetSpec

__all__ = ["Instruments", "level_record", "perturbed"]

_AGENT = "ridgeline.measurement.agent"
_BAND = (0.9, 1.1)


@dataclass(kw_only=True)
class Instruments:
    """The instruments' surroundings.

    Attributes:
        spec: the target.
        worker: the child that holds it.
        budget_s: seconds for all instruments together.
        samples: stop the ground truth at this many.
        report: progress.
        probe: makes or loads the ceilings of this machine.
        keep: given the facts with the samples so far while the ground truth is being taken.
        facts: what `keep` completes.
        directory: working directory of processes apart, as the worker's own; this one's if null.
    """

    spec: TargetSpec
    worker: Worker
    budget_s: float
    samples: int | None
    report: Callable[[str, float | None], None]
    probe: Callable[[], Device]
    keep: Callable[[Facts], None] | None = None
    facts: Facts | None = None
    directory: str | None = None

    def call(self, function: str, returns: Any, **arguments: Any) -> Any:
        """Ask the child that holds the target."""
        return self.worker.call(f"{_AGENT}:{function}", arguments, returns, on_report=self.progress)

    def call_apart(self, function: str, returns: Any, **arguments: Any) -> Any:
        """Ask a process of its own, for an instrument that leaves traces in the one it runs in; the function is given the target's spec."""
        from ridgeline.machine import Worker
        from ridgeline.targets import worker_environment

        with Worker(environment=worker_environment(self.spec), directory=self.directory, preload=EVERY_LEVEL) as worker:
            return worker.call(f"{_AGENT}:{function}", {"spec": self.spec, **arguments}, returns, on_report=self.progress)

    def progress(self, message: Any) -> None:
        """Pass on what the child reports, and keep the samples so far."""
        label, value = message
        if label != KEEP:
            self.report(str(label), float(value))
        elif self.keep is not None and self.facts is not None:
            self.keep(msgspec.structs.replace(self.facts, samples=from_builtins(value, Samples)))


def level_record(level: int, instrument: str, wall_s: Quantity, facts: Facts) -> LevelRecord:
    """The record of a level whose calls took `wall_s`, beside the ground truth."""
    assert facts.samples is not None
    wall = facts.samples.wall_s.values
    low, middle, high = (float(x) for x in np.quantile(wall, (0.25, 0.5, 0.75)))
    truth = Quantity(value=middle, low=low, high=high, confidence=0.5, unit="s", source="measured", origin="ground truth")
    ratio = quotient(wall_s, truth, "1", origin="instrumented ÷ ground truth") if low > 0 else None
    return LevelRecord(level=level, instrument=instrument, total_s=wall_s, ratio_to_ground_truth=ratio, perturbed=perturbed(ratio))


def perturbed(ratio: Quantity | None) -> bool | None:
    """True when the interval lies outside ±10 %, False when inside, None when it straddles or there is none."""
    if ratio is None:
        return None
    low, high = _BAND
    if ratio.low > high or ratio.high < low:
        return True
    return False if low <= ratio.low and ratio.high <= high else None
