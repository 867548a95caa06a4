"""What each operator of a runtime's own graph should take here, and what it would take if one term were missing, for a diagnosis to hold against.

This module decides how a prediction of operators is written down as a fact; what follows from it is decided in `diagnosis.expected`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, ExpectedOperator, ExpectedTable, Graph, Quantity, SystemState

from ..operators.assumed import assumed
from ..operators.hypotheses import hypotheses
from .predicting import Answered, Knowledge, Question, answered, version_of
from .tasks import Task, plan_of_graph

__all__ = ["expected"]

Floats = NDArray[np.float64]


def expected(
    graph: Graph, device: Device, *, state: SystemState | None = None, known: Knowledge | None = None, clock_share: float | None = None
) -> ExpectedTable:
    """Expected seconds of the operators that onnxruntime runs.

    Args:
        graph: what onnxruntime made of the model, shapes bound.
        device: this machine as probed; state: threads that the model was given.
        known: trained models; by formulas alone if there are none.
        clock_share: clock now ÷ the one at which the ceilings hold, in (0, 1), where it is lower.

    Raises:
        OutOfRange: a device or a graph of which nothing is known.
    """
    trained = known or Knowledge()
    found = answered(plan_of_graph(graph, "onnxruntime", made=True), device, Question(state=state), trained)
    ratios = hypotheses(found.works, found.under, state, library=found.plan.runtime, clock_share=clock_share)
    shapes = {tensor.name: tensor.shape for tensor in graph.tensors}
    results = {op.name: tuple(sizes for name in op.outputs if (sizes := _whole(shapes.get(name))) is not None) for op in graph.ops}
    operators, place = [], 0
    for task in found.plan.tasks:
        # The start of a whole call is no operator of a profile.
        if task.kind != "call":
            operators.append(_operator(task, results.get(task.name, ()), place, found, ratios, trained))
        place += task.work is not None
    return ExpectedTable(operators=tuple(operators), device=device.name, data_version=version_of(trained), trained=trained.operators is not None)


def _whole(sizes: tuple[object, ...] | None) -> tuple[int, ...] | None:
    """A shape of numbers; null where one of them is not known."""
    whole = tuple(size for size in sizes or () if isinstance(size, int))
    return whole if sizes is not None and len(whole) == len(sizes) else None


def _operator(
    task: Task, outputs: tuple[tuple[int, ...], ...], place: int, found: Answered, ratios: Mapping[str, Floats], known: Knowledge
) -> ExpectedOperator:
    if task.work is None:
        reasons = (task.reason,) if task.reason else ()
        return ExpectedOperator(name=task.name, kind=_kind(task.kind), outputs=outputs, calls=task.repeats, out_of_range=reasons)
    prices = found.prices
    seconds, low, high = (float(values[place]) * task.repeats for values in (prices.seconds, prices.low, prices.high))
    by_formula = prices.basis[place] == "analytic"
    level = assumed().spread["level"] if by_formula or known.operators is None else known.operators.level
    origin = f"ridgeline formulas {assumed().version}" if by_formula else f"corrected by {version_of(known)}"
    others = {name: seconds * ratio for name, values in ratios.items() if math.isfinite(ratio := float(values[place]))}
    return ExpectedOperator(
        name=task.name, kind=_kind(task.kind), outputs=outputs, calls=task.repeats, basis=prices.basis[place], alternatives=others,
        out_of_range=tuple(dict.fromkeys((*((task.reason,) if task.reason else ()), *prices.reasons[place]))),
        seconds=Quantity(
            value=seconds, low=low, high=high, confidence=level, unit="s", source="analytic" if by_formula else "learned", origin=origin
        ),
    )  # fmt: skip


def _kind(kind: str) -> str:
    """As a profile calls it: without the domain that the operator is of."""
    return kind.rpartition(":")[2]
