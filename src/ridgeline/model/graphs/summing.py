"""Sums over the tasks of a plan: seconds, parts, work and traffic of one call, and how sure the sum is.

On a device beside its host the slower of the two counts (`composing`): all kernels, or all launches. Errors of operators partly go together: of a
sum, those of formulas alone add up, those of trained operators add up for the share that they have in common and as squares for the rest. This module
decides these sums; what an operator takes is decided in `operators.pricing`, what is made of a sum in `indicators`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import SystemState
from ridgeline.core.prediction import Basis

from ..operators.assumed import assumed
from ..operators.pricing import Priced
from ..operators.roofs import Roofs
from .composing import composed
from .tasks import Plan

__all__ = ["Summed", "summed"]

Floats = NDArray[np.float64]
_PRODUCTS = frozenset(("gemm", "convolution", "attention", "moe", "recurrent"))


class Summed(NamedTuple):
    """One call.

    `seconds` with ends `low` and `high`; parts in seconds, which overlap; `flop` of products, `peak_s` that they take at their peaks; `traffic` by
    level, B; `occupancy`; `terms`: seconds by what takes them, which add up to the whole; `operators_s`: of each task, in its order; `basis`,
    `reasons`.
    """

    seconds: float
    low: float
    high: float
    compute_s: float
    memory_s: dict[str, float]
    overhead_s: float
    communication_s: float
    flop: float
    peak_s: float
    traffic: dict[str, float]
    occupancy: float
    terms: dict[str, float]
    operators_s: Floats
    basis: Basis
    reasons: tuple[str, ...]


def summed(plan: Plan, prices: Priced, repeats: Floats, under: Roofs, state: SystemState | None) -> Summed:
    """One call of a plan.

    Args:
        prices: of the tasks that have a workload, in their order; repeats: of them, (N,).
        under: roofs of the device; state: with `dispatch_s` where the host of an accelerator is known.
    """
    each = prices.seconds * repeats
    busy_s = float(each.sum())
    below, above = _together(prices, repeats, prices.seconds - prices.low), _together(prices, repeats, prices.high - prices.seconds)
    launch_s, reasons = _launch(plan, under, state)
    whole = composed(prices.seconds, repeats, launch_s)
    # Where the runtime's own call is among the tasks, that is what it takes.
    call_s = 0.0 if any(task.kind == "call" for task in plan.tasks) else assumed().call_s[under.kind]
    parts = prices.parts
    least_s = float((parts.flop / parts.peak_flop_per_s * repeats).sum())
    low, high = max(busy_s - below, least_s), busy_s + above
    if whole.exposed_s > 0:
        spread = assumed().spread
        low, high = max(low, whole.host_s * spread["spec_low"]), max(high, whole.host_s * spread["spec_high"])
    seconds = whole.seconds + call_s
    low, high = min(low, seconds), max(high + call_s * assumed().spread["spec_high"], seconds)
    product = np.array([task.work.kind in _PRODUCTS for task in plan.tasks if task.work is not None])
    terms = _terms(prices, repeats)
    if whole.exposed_s + call_s > 0:
        terms["overhead"] = terms.get("overhead", 0.0) + whole.exposed_s + call_s
    return Summed(
        seconds=seconds, low=low, high=high, compute_s=_sum(parts.compute_s, repeats),
        memory_s={name: _sum(values, repeats) for name, values in parts.memory_s.items()},
        overhead_s=_sum(parts.overhead_s, repeats) + whole.exposed_s + call_s, communication_s=_sum(parts.communication_s, repeats),
        flop=_sum(parts.flop * product, repeats), peak_s=_sum(parts.flop * product / parts.peak_flop_per_s, repeats),
        traffic={name: _sum(values, repeats) for name, values in parts.traffic_bytes.items()},
        occupancy=float((parts.occupancy * each).sum() / busy_s) if busy_s else 0.0, terms=terms, operators_s=each, basis=_basis(prices, each),
        reasons=(*reasons, *_reasons(prices, each)),
    )  # fmt: skip


def _sum(values: Floats, repeats: Floats) -> float:
    return float((values * repeats).sum())


def _together(prices: Priced, repeats: Floats, off: Floats) -> float:
    """Half width of the sum on one side."""
    formula = np.array([each == "analytic" for each in prices.basis])
    width = np.maximum(off, 0.0) * repeats
    trained = width[~formula]
    shared = assumed().spread["shared"]
    return float(width[formula].sum() + np.sqrt(shared * trained.sum() ** 2 + (1 - shared) * np.square(trained).sum()))


def _launch(plan: Plan, under: Roofs, state: SystemState | None) -> tuple[float, tuple[str, ...]]:
    """(Seconds of the host for a launch, what is assumed of it)."""
    if under.kind == "cpu":
        return 0.0, ()
    if state is not None and state.dispatch_s is not None:
        return state.dispatch_s, ()
    seconds = assumed().launch_s.get(plan.runtime, 0.0) if under.kind == "gpu" else 0.0
    return seconds, (f"the host beside {under.device.name} is not known: {seconds * 1e6:g} µs of it a kernel are assumed",) if seconds else ()


def _terms(prices: Priced, repeats: Floats) -> dict[str, float]:
    """Seconds by what takes them: starting it, what passes between devices, and of the rest of an operator what takes longest of it."""
    parts = prices.parts
    fixed = {"overhead": _sum(parts.overhead_s, repeats), "communication": _sum(parts.communication_s, repeats)}
    rest = np.maximum(parts.latency_s - parts.overhead_s - parts.communication_s, 0.0) * repeats
    names = ["compute", *parts.memory_s]
    longest = np.argmax(np.stack([parts.compute_s, *parts.memory_s.values()]), axis=0)
    found = {name: float(rest[longest == code].sum()) for code, name in enumerate(names)} | fixed
    return {name: seconds for name, seconds in found.items() if seconds > 0}


def _basis(prices: Priced, each: Floats) -> Basis:
    """How most of the latency came about."""
    by: dict[Basis, float] = {}
    for basis, seconds in zip(prices.basis, each.tolist(), strict=True):
        by[basis] = by.get(basis, 0.0) + seconds
    return max(by, key=lambda name: by[name])


def _reasons(prices: Priced, each: Floats) -> list[str]:
    """Each reason once; of one that does not hold for all, the share of the latency that it is of."""
    total, by = float(each.sum()), dict[str, float]()
    for reasons, seconds in zip(prices.reasons, each.tolist(), strict=True):
        for reason in dict.fromkeys(reasons):
            by[reason] = by.get(reason, 0.0) + seconds
    whole = total * (1 - 1e-9)
    return [reason if seconds >= whole else f"{reason} ({100 * seconds / total:.2g} % of the latency)" for reason, seconds in by.items()]
