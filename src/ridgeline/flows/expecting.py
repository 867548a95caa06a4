"""What this machine's model says of the operators of an ONNX target, as a fact of the diagnosis: onnxruntime's own graph, each operator priced.

This module decides for which targets there is a model to ask, and with which threads and clock. It never costs the verdict: what goes wrong is a
reason among the levels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from ridgeline.core import Device, Facts, LevelRecord, SystemState

if TYPE_CHECKING:
    from ridgeline.machine import Worker
    from ridgeline.model.graphs.predicting import Knowledge
    from ridgeline.targets import TargetSpec

__all__ = ["INSTRUMENT", "with_expected"]

Report = Callable[[str, float | None], None]
#: What the levels call it.
INSTRUMENT = "model of operators"
_PROVIDERS = frozenset(("", "CPUExecutionProvider"))
#: A clock this near to the one of the probe is the same.
_SAME_CLOCK = 0.97


def with_expected(facts: Facts, spec: TargetSpec, known: Knowledge | None, report: Report, *, worker: Worker | None = None) -> Facts:
    """The facts with what a model expects of the measured operators; unchanged where the target has no model that could be asked.

    Args:
        known: trained models; by formulas alone if there are none.
        worker: the process that holds the target, which has loaded onnxruntime already; a new one if not given.
    """
    if facts.target.kind != "onnx" or facts.operators is None or spec.path is None:
        return facts
    report("predicting operators", None)
    try:
        return _asked(facts, spec.path, known, worker)
    except Exception as error:  # a comparison that fails in whatever way costs nobody the verdict
        skipped = LevelRecord(level=4, instrument=INSTRUMENT, skipped=str(error) or type(error).__name__)
        return msgspec.structs.replace(facts, levels=(*facts.levels, skipped))


def _asked(facts: Facts, path: str, known: Knowledge | None, worker: Worker | None) -> Facts:
    from ridgeline.model.graphs.expecting import expected
    from ridgeline.targets.onnx_optimised import optimised_onnx

    from .modelling.input_shapes import shapes_of_inputs

    device, others = facts.device, _elsewhere(facts)
    if device is None or others:
        where = f"they ran on {', '.join(others)}" if others else "this machine was not probed"
        skipped = LevelRecord(level=4, instrument=INSTRUMENT, skipped=f"nothing is known of what the operators should take: {where}")
        return msgspec.structs.replace(facts, levels=(*facts.levels, skipped))
    graph = optimised_onnx(path, shapes_of_inputs(facts.target.inputs), worker=worker)
    state = SystemState(threads=facts.target.threads) if facts.target.threads > 0 else None
    return msgspec.structs.replace(facts, expected=expected(graph, device, state=state, known=known, clock_share=_clock_share(facts, device)))


def _elsewhere(facts: Facts) -> list[str]:
    """Providers other than the CPU's that ran an operator."""
    rows = facts.operators.rows if facts.operators is not None else ()
    return sorted({row.placement.provider for row in rows} - _PROVIDERS)


def _clock_share(facts: Facts, device: Device) -> float | None:
    """Clock now ÷ clock of the probe, where it is lower: by the arithmetic between the samples, else by what the system says."""
    now = facts.sentinels.fma_ratio if facts.sentinels is not None else None
    if now is not None and now.value > 0 and now.high < _SAME_CLOCK:
        return now.value
    hz, then = facts.clock.hz, device.clock_hz
    if hz and then is not None and 0 < hz < _SAME_CLOCK * then.value:
        return hz / then.value
    return None
