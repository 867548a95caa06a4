"""Which instrument satisfies which Need, and what it adds to the facts.

Each step returns new facts; it decides nothing. A failure of the target is the person's business and goes up while the ground truth is taken; a
failure of an instrument after that is a reason in `facts.cannot`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ridgeline.core import BackendUnavailable, Device, DispatchFit, Facts, HotSpots, LevelRecord, Need, Quantity, RidgelineError, Samples, quotient
from ridgeline.core.documents import from_builtins
from ridgeline.measurement.agent import KEEP, GroundTruthReport, OperatorsReport, SplitReport

if TYPE_CHECKING:
    from ridgeline.machine import Worker
    from ridgeline.targets import TargetSpec

__all__ = ["Instruments"]

_AGENT = "ridgeline.measurement.agent"
_BAND = (0.9, 1.1)
#: A framework's profile that explains this part of the wall, together with the interpreter, needs no second instrument.
_ENOUGH_SEEN = 0.7
_STEPS = {
    "device": "probing this machine (once)",
    "samples": "ground truth",
    "wall-split": "splitting the wall",
    "operators": "profiling operators",
    "dispatch": "fitting the cost of dispatch",
    "hot-spots": "sampling lines",
}


class Instruments:
    """The instruments of one diagnosis.

    Args:
        spec: the target.
        worker: the child that holds it.
        budget_s: seconds for all instruments together.
        samples: stop the ground truth at this many.
        report: progress.
        probe: makes or loads the ceilings of this machine.
        keep: given the facts with the samples so far while the ground truth is being taken.
    """

    def __init__(
        self,
        *,
        spec: TargetSpec,
        worker: Worker,
        budget_s: float,
        samples: int | None,
        report: Callable[[str, float | None], None],
        probe: Callable[[], Device],
        keep: Callable[[Facts], None] | None = None,
    ) -> None:
        self._spec, self._worker, self._budget_s, self._samples = spec, worker, budget_s, samples
        self._report, self._probe, self._keep = report, probe, keep
        self._facts: Facts | None = None

    def satisfy(self, need: Need, facts: Facts) -> Facts:
        """Measure what is needed.

        Raises:
            TargetFailed: from the ground truth only.
        """
        self._report(_STEPS.get(need.instrument, need.instrument), None)
        step = self._step(need)
        if need.instrument == "samples":
            return step(facts)
        try:
            return step(facts)
        except RidgelineError as error:
            skipped = LevelRecord(level=need.level, instrument=need.instrument, skipped=str(error))
            return msgspec.structs.replace(facts, cannot={**facts.cannot, need.instrument: str(error)}, levels=(*facts.levels, skipped))

    def _step(self, need: Need) -> Callable[[Facts], Facts]:
        return {
            "device": self._device,
            "samples": self._ground_truth,
            "wall-split": self._wall_split,
            "operators": self._operators,
            "dispatch": self._dispatch,
            "hot-spots": self._hot_spots,
        }[need.instrument]

    def _call(self, function: str, returns: Any, **arguments: Any) -> Any:
        return self._worker.call(f"{_AGENT}:{function}", arguments, returns, on_report=self._progress)

    def _progress(self, message: Any) -> None:
        label, value = message
        if label != KEEP:
            self._report(str(label), float(value))
        elif self._keep is not None and self._facts is not None:
            self._keep(msgspec.structs.replace(self._facts, samples=from_builtins(value, Samples)))

    def _device(self, facts: Facts) -> Facts:
        return msgspec.structs.replace(facts, device=self._probe())

    def _ground_truth(self, facts: Facts) -> Facts:
        self._facts = facts
        found: GroundTruthReport = self._call(
            "ground_truth", GroundTruthReport, budget_s=self._budget_s / 2, samples=self._samples or 2000, at_least=3, device=facts.device
        )
        median = float(np.median(found.samples.wall_s.values))
        level = LevelRecord(level=1, instrument="wall clock, uninstrumented", total_s=Quantity.exact(median, "s", source="measured", origin="median"))
        return msgspec.structs.replace(
            facts,
            samples=found.samples,
            warmup=found.warmup,
            steady=found.steady,
            batched_s=found.batched_s,
            overhead_s=found.overhead_s,
            noise_floor=found.noise_floor,
            sentinels=found.sentinels,
            clock=found.clock,
            levels=(*facts.levels, level),
        )

    def _wall_split(self, facts: Facts) -> Facts:
        found: SplitReport = self._call("split", SplitReport, seconds=self._budget_s / 8)
        level = self._level(2, found.split.how, found.wall_s, facts)
        return msgspec.structs.replace(facts, wall_split=found.split, levels=(*facts.levels, level))

    def _operators(self, facts: Facts) -> Facts:
        found = self._profile(facts)
        level = LevelRecord(
            level=3,
            instrument=found.table.instrument,
            total_s=found.table.wall_s,
            ratio_to_ground_truth=found.ratio,
            perturbed=_perturbed(found.ratio),
        )
        return msgspec.structs.replace(facts, operators=found.table, levels=(*facts.levels, level))

    def _profile(self, facts: Facts) -> OperatorsReport:
        """The framework's profile, or the recorder's where there is none or it sees too little of the call."""
        seconds = self._budget_s / 4
        framework: OperatorsReport | None = None
        try:
            framework = self._call("operators", OperatorsReport, seconds=seconds)
        except BackendUnavailable:
            if facts.target.kind == "onnx":
                raise
        if framework is not None and (facts.target.kind == "onnx" or _seen(framework) + _interpreted(facts) >= _ENOUGH_SEEN):
            return framework
        try:
            recorded = self._recorded(seconds)
        except RidgelineError:
            if framework is None:
                raise
            return framework
        return recorded if framework is None or _explained(recorded) > _seen(framework) else framework

    def _recorded(self, seconds: float) -> OperatorsReport:
        # A process of its own: the rewritten source must leave no trace in the one that the other instruments look at.
        from ridgeline.machine import Worker
        from ridgeline.targets import worker_environment

        with Worker(environment=worker_environment(self._spec)) as worker:
            arguments = {"spec": self._spec, "seconds": seconds}
            return worker.call(f"{_AGENT}:recorded_operators", arguments, OperatorsReport, on_report=self._progress)

    def _dispatch(self, facts: Facts) -> Facts:
        found: DispatchFit = self._call("dispatch", DispatchFit, table=facts.operators, device=facts.device)
        return msgspec.structs.replace(facts, dispatch=found)

    def _hot_spots(self, facts: Facts) -> Facts:
        found: HotSpots = self._call("hot_spots", HotSpots, seconds=self._budget_s / 10)
        level = LevelRecord(level=5, instrument=found.instrument)
        return msgspec.structs.replace(facts, hot_spots=found, levels=(*facts.levels, level))

    def _level(self, level: int, instrument: str, wall_s: Quantity, facts: Facts) -> LevelRecord:
        assert facts.samples is not None
        wall = facts.samples.wall_s.values
        low, middle, high = (float(x) for x in np.quantile(wall, (0.25, 0.5, 0.75)))
        truth = Quantity(value=middle, low=low, high=high, confidence=0.5, unit="s", source="measured", origin="ground truth")
        ratio = quotient(wall_s, truth, "1", origin="instrumented ÷ ground truth") if low > 0 else None
        return LevelRecord(level=level, instrument=instrument, total_s=wall_s, ratio_to_ground_truth=ratio, perturbed=_perturbed(ratio))


def _seen(found: OperatorsReport) -> float:
    """Share of the instrumented wall inside operators."""
    return found.table.operators_s.value / found.table.wall_s.value if found.table.wall_s.value else 0.0


def _explained(found: OperatorsReport) -> float:
    """Share of the recorder's wall in operators whose work it knows: a framework's own it only sees from outside."""
    rows = found.table.rows
    whole = sum(row.total_s.value for row in rows)
    known = sum(row.total_s.value for row in rows if not row.kind.startswith("torch."))
    return _seen(found) * known / whole if whole else 0.0


def _interpreted(facts: Facts) -> float:
    return facts.wall_split.interpreter.value if facts.wall_split else 0.0


def _perturbed(ratio: Quantity | None) -> bool | None:
    """True when the interval lies outside ±10 %, False when inside, None when it straddles or there is none."""
    if ratio is None:
        return None
    low, high = _BAND
    if ratio.low > high or ratio.high < low:
        return True
    return False if low <= ratio.low and ratio.high <= high else None
