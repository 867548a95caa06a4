"""Seconds of operators on a device from everything that is known: formulas, rooms that know a device better, and a model that was trained.

This module decides the order: the estimate; in its place the answer of a room that knows (`forms`); over both the correction of a trained model,
which is of the estimate. Nothing ends up above a ceiling: what would is cut there, and said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, KernelParameters, SystemState, Workload
from ridgeline.core.prediction import Basis

from ..gpu.model import GpuModel
from .asked import PRODUCTS, WIDTH
from .assumed import assumed
from .estimates import Estimates, estimates
from .forms import Formed, formed
from .roofs import Roofs, most_threads

__all__ = ["Corrected", "Corrector", "Priced", "priced"]

Floats = NDArray[np.float64]
_WHOLE = frozenset(("int8", "int4"))
#: The memory beside an array of multipliers, as device files name it.
_NEAR = "SRAM"


class Corrected(Protocol):
    """What a trained model adds to ln of N estimates: `log_ratio`, ends `low` and `high`, (N,) each; `basis` and `out_of_range` of each."""

    @property
    def log_ratio(self) -> Floats:
        """Ratios in log."""

    @property
    def low(self) -> Floats:
        """Low ends in log."""

    @property
    def high(self) -> Floats:
        """High ends in log."""

    @property
    def basis(self) -> Sequence[Basis]:
        """How each came about."""

    @property
    def out_of_range(self) -> Sequence[Sequence[str]]:
        """Why each may be wrong."""


class Corrector(Protocol):
    """A trained model of operators."""

    @property
    def data_version(self) -> str:
        """Of the measurements."""

    @property
    def level(self) -> float:
        """Share that the intervals cover."""

    def correct(self, workloads: Sequence[Workload], estimates: Estimates, device: Device) -> Corrected:
        """What is to be added to ln of the estimated seconds."""

    def threads(self, device: Device) -> int:
        """Threads of the runtime, a count, with which that device was measured; 0 for its own choice, and for a device that was not measured."""


class Priced(NamedTuple):
    """N operators, (N,) each: `seconds` with ends `low` and `high`; `parts`: the estimate whose parts are of these seconds; `basis`; `reasons`."""

    seconds: Floats
    low: Floats
    high: Floats
    parts: Estimates
    basis: tuple[Basis, ...]
    reasons: tuple[tuple[str, ...], ...]


def priced(
    workloads: Sequence[Workload], under: Roofs, state: SystemState | None = None, kernel: KernelParameters | None = None, *,
    reuse_bytes: Floats | float | None = None, corrector: Corrector | None = None, gpus: GpuModel | None = None,
) -> Priced:  # fmt: skip
    """What each operator takes.

    Args:
        workloads: at least one; under: roofs of the device in that state.
        kernel: what is set of the kernels, which only the general formulas know.
        reuse_bytes: as `estimates`.
        corrector: a trained model of operators; gpus: one of GPU operators.

    Raises:
        UsageError, OutOfRange: as `estimates`.
    """
    base = estimates(workloads, under, kernel=kernel, reuse_bytes=reuse_bytes)
    spread = assumed().spread
    known = "measured" if any(each.rate.source == "measured" for each in under.device.ceilings) else "spec"
    low, high = base.latency_s * spread[f"{known}_low"], base.latency_s * spread[f"{known}_high"]
    basis: list[Basis] = ["analytic"] * len(workloads)
    reasons = base.all_reasons()
    whole = _eight_bits(workloads, under)
    low, high = _scaled_at(low, whole.places, whole.low), _scaled_at(high, whole.places, whole.high)
    parts = base._replace(peak_flop_per_s=_scaled_at(base.peak_flop_per_s, whole.places, whole.peak))
    # A tile or a split that is set is none that the libraries of those rooms would take.
    if kernel is None:
        made = formed(workloads, under, state, gpus)
        parts, low, high = _replaced(parts, made, low, high)
        for place in np.flatnonzero(made.learned).tolist():
            basis[place] = "learned"
        for reason, where in made.reasons.items():
            for place in np.flatnonzero(where).tolist():
                reasons[place] = (*reasons[place], reason)
    # Where only two ends of the clock are known, so are two of the time, and the peak is that of the faster one; a faster clock moves no more bytes.
    low, high = np.where(parts.bound == 0, low / under.fastest, low), high / under.slowest
    parts = parts._replace(peak_flop_per_s=parts.peak_flop_per_s * under.fastest)
    seconds = parts.latency_s
    if corrector is not None:
        seconds, low, high = _corrected(seconds, low, high, base, basis, reasons, corrector.correct(workloads, base, under.device))
        _with_other_threads(basis, reasons, under, corrector.threads(under.device))
        _in_another_state(basis, reasons, under, state)
    for place in whole.places:
        # What was measured says itself which kernels do.
        reasons[place] = (*reasons[place], whole.reason) if basis[place] == "analytic" else reasons[place]
    seconds, low, high = _under_ceiling(seconds, low, high, parts, under, reasons)
    return Priced(seconds, low, high, _scaled(parts, seconds), tuple(basis), tuple(reasons))


class _EightBits(NamedTuple):
    """Products in eight bits on a CPU: their `places`, why their time may be wrong, and with which factors on ends and on the peak."""

    places: list[int]
    reason: str = ""
    low: float = 1.0
    high: float = 1.0
    peak: float = 1.0


def _eight_bits(workloads: Sequence[Workload], under: Roofs) -> _EightBits:
    """From all that instructions for eight bits could give to the rate of fp32, which kernels without them have."""
    places = [at for at, work in enumerate(workloads) if work.precision in _WHOLE and work.kind in PRODUCTS] if under.kind == "cpu" else []
    if not places or not any(each.engine == "fma" and each.precision == "fp32" for each in under.device.ceilings):
        return _EightBits([])
    peak, device = under.peak("int8"), under.device.name
    if peak.precision == "int8":
        slower = max(1.0, assumed().share["eight_bits"] * peak.matrix / under.peak("fp32").matrix)
        return _EightBits(places, f"which kernels use the instructions of {device} for eight bits is not known: others run as in fp32", high=slower)
    faster = WIDTH["fp32"] / WIDTH["int8"]
    reason = f"whether {device} has instructions for eight bits is not known: with them products may take a quarter"
    return _EightBits(places, reason, low=1 / faster, peak=faster)


def _scaled_at(values: Floats, places: list[int], factor: float) -> Floats:
    scaled = values.copy()
    scaled[places] *= factor
    return scaled


def _replaced(base: Estimates, made: Formed, low: Floats, high: Floats) -> tuple[Estimates, Floats, Floats]:
    known = np.isfinite(made.seconds)
    if not known.any():
        return base, low, high
    spread = assumed().spread
    outer = list(base.memory_s)[-1]
    compute, memory = np.where(known, made.compute, base.compute_s), dict(base.memory_s)
    memory = {name: np.where(known, made.memory if name == outer else 0.0, values) for name, values in memory.items()}
    longest = np.maximum(compute, memory[outer])
    overhead = np.where(known, np.maximum(made.seconds - longest, 0.0), base.overhead_s)
    names = list(base.bounds)
    bound = np.where(made.compute >= made.memory, 0, names.index(outer))
    bound = np.where(overhead > longest, names.index("overhead"), bound)
    seconds = np.where(known, made.seconds, base.latency_s)
    ends = (
        np.where(np.isfinite(made.low), made.low, seconds * spread["form_low"]),
        np.where(np.isfinite(made.high), made.high, seconds * spread["form_high"]),
    )
    traffic = {name: np.where(known, 0.0, values) for name, values in base.traffic_bytes.items()}
    traffic[outer] = np.where(known, made.outer, base.traffic_bytes[outer])
    if _NEAR in traffic and outer != _NEAR:
        traffic[_NEAR] = np.where(known, made.near, base.traffic_bytes[_NEAR])
    parts = base._replace(
        traffic_bytes=traffic,
        compute_s=compute,
        memory_s=memory,
        overhead_s=overhead,
        latency_s=seconds,
        bound=np.where(known, bound, base.bound).astype(np.int64),
    )
    return parts, np.where(known, ends[0], low), np.where(known, ends[1], high)


def _corrected(
    seconds: Floats, low: Floats, high: Floats, base: Estimates, basis: list[Basis], reasons: list[tuple[str, ...]], found: Corrected
) -> tuple[Floats, Floats, Floats]:
    """The correction where it knows more than the formulas; where it says `analytic`, what was there stays, and only its reasons are added."""
    knows = np.array([each != "analytic" for each in found.basis])
    for place, (each, said) in enumerate(zip(found.basis, found.out_of_range, strict=True)):
        if each != "analytic":
            basis[place] = each
        reasons[place] = (*reasons[place], *said)
    value, least, most = (base.latency_s * np.exp(each) for each in (found.log_ratio, found.low, found.high))
    # Far outside of what was measured its ends run away: the formulas' own, taken twice, are as far as they are believed.
    # A value that is itself out there keeps the formulas' width once: an end on the value would say that it is never slower.
    below, above = low / seconds, high / seconds
    least = np.maximum(least, np.minimum(value * below, base.latency_s * below**2))
    most = np.minimum(most, np.maximum(value * above, base.latency_s * above**2))
    return np.where(knows, value, seconds), np.where(knows, least, low), np.where(knows, most, high)


def _with_other_threads(basis: list[Basis], reasons: list[tuple[str, ...]], under: Roofs, measured: int) -> None:
    """A correction holds for as many threads as were measured; `measured` is 0 for the runtime's own choice."""
    if under.device.kind != "cpu":
        return
    most = most_threads(under.device)
    then = min(measured or most, most)
    if then != under.threads:
        own = "" if measured else ", as the runtime takes by itself"
        reason = f"the trained model was measured with threads: {then}{own}; here: {under.threads}, which only the formulas under it follow"
        _as_learned(basis, reasons, reason)


def _as_learned(basis: list[Basis], reasons: list[tuple[str, ...]], reason: str) -> None:
    for place, each in enumerate(basis):
        if each in ("measured", "interpolated", "learned"):
            basis[place], reasons[place] = "learned", (*reasons[place], reason)


def _in_another_state(basis: list[Basis], reasons: list[tuple[str, ...]], under: Roofs, state: SystemState | None) -> None:
    """What was measured was measured on a machine left to itself: of another state only the formulas under the correction know."""
    if state is None:
        return
    other = [
        word
        for word, holds in (
            ("clock", under.clock_ratio != 1.0), ("neighbours", bool(state.neighbours)), ("contention", state.memory_contention > 0),
        )
        if holds
    ]  # fmt: skip
    if not other:
        return
    _as_learned(basis, reasons, f"the trained model was measured without what was set ({', '.join(other)}): only the formulas under it follow")


def _under_ceiling(
    seconds: Floats, low: Floats, high: Floats, parts: Estimates, under: Roofs, reasons: list[tuple[str, ...]]
) -> tuple[Floats, Floats, Floats]:
    """No operator takes less than its arithmetic at the peak; an end of the interval neither."""
    least = np.where(parts.peak_flop_per_s > 0, parts.flop / parts.peak_flop_per_s, 0.0)
    for place in np.flatnonzero(seconds < least * (1 - 1e-9)).tolist():
        reasons[place] = (*reasons[place], f"faster than the peak of {under.device.name} by what was predicted: cut there")
    seconds = np.maximum(seconds, least)
    return seconds, np.minimum(np.maximum(low, least), seconds), np.maximum(high, seconds)


def _scaled(parts: Estimates, seconds: Floats) -> Estimates:
    """The parts, stretched as the whole was; bytes and FLOPs are what they are."""
    ratio = seconds / parts.latency_s
    return parts._replace(
        compute_s=parts.compute_s * ratio, memory_s={name: values * ratio for name, values in parts.memory_s.items()},
        overhead_s=parts.overhead_s * ratio, communication_s=parts.communication_s * ratio, latency_s=seconds,
    )  # fmt: skip
