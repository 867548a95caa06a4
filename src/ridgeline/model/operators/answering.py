"""What a trained model says of operators: ln of the factor on each estimate, its interval, how it came about, and why it may be wrong.

This module decides the order: a shape that was measured on that device is answered with the measurement; one inside of what was measured with the
corrector; one outside too, but it is said why, and the interval grows by how far outside it lies. A device of another kind, or a part of a family
that nobody measured, gets the estimate alone, with the interval that the estimates had where they were furthest off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, UsageError, Workload
from ridgeline.core.prediction import Basis

from ..learned.scaling import damaged
from ..learned.unseen import bounds
from .corrector import Corrector
from .estimates import Estimates
from .features import Operators, feature_matrix, operators, taken
from .identity import NEAR, Likeness, likeness
from .keys import shape_keys
from .parts import part_of

if TYPE_CHECKING:
    from .model import OperatorModel

__all__ = ["Corrected", "correct", "corrections", "difficulties", "tenths"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.intp]

#: What a corrector adds is believed this far beyond the ratios that were measured, in log.
_SLACK = 0.1
#: Of the distance outside, in log, so much is added to the half width: an assumption, since nothing was measured there.
_FARTHER = 0.5
_MOST_FAR = 20.0


class Corrected(NamedTuple):
    """For n workloads: `log_ratio` to be added to ln of the estimate, ends `low` and `high` of its interval, (n,); `basis` and reasons of each."""

    log_ratio: Floats
    low: Floats
    high: Floats
    basis: tuple[Basis, ...]
    out_of_range: tuple[tuple[str, ...], ...]


def correct(model: OperatorModel, workloads: Sequence[Workload], estimates: Estimates, device: Device) -> Corrected:
    """What the model adds to estimates on a device; times in seconds, ratios dimensionless.

    Args:
        workloads: n operators of any families; estimates: of the same, in the same order.

    Raises:
        UsageError: another number of estimates, or sizes that a family does not have.
    """
    count = len(workloads)
    if len(estimates.latency_s) != count:
        raise UsageError(f"estimates of {count} workloads", found=f"{len(estimates.latency_s)}", remedy="estimate the same workloads")
    log = np.zeros(count)
    half = np.full(count, model.formula_log)
    ends = np.stack([-half, half])
    basis: list[Basis] = ["analytic"] * count
    reasons: list[tuple[str, ...]] = [()] * count
    like = likeness(model.devices.get(device.name), device)
    for part, at in _by_part(workloads).items():
        corrector = model.correctors.get(part)
        why = _unknown(model, corrector, part, device)
        if why:
            for index in at.tolist():
                reasons[index] = (why,)
            continue
        assert corrector is not None
        whole = len(at) == count
        found = operators(workloads[int(at[0])].kind, workloads if whole else [workloads[index] for index in at.tolist()])
        own = estimates if whole else taken(estimates, at)
        log[at], ends[0, at], ends[1, at], bases, said = _corrected(model, corrector, found, own, device, like)
        for index, each, words in zip(at.tolist(), bases, said, strict=True):
            basis[index], reasons[index] = each, words
    return Corrected(log, ends[0], ends[1], tuple(basis), tuple(reasons))


def _by_part(workloads: Sequence[Workload]) -> dict[str, Indexes]:
    groups: dict[str, list[int]] = {}
    for index, workload in enumerate(workloads):
        groups.setdefault(part_of(workload), []).append(index)
    return {part: np.array(at, np.intp) for part, at in groups.items()}


def _unknown(model: OperatorModel, corrector: Corrector | None, part: str, device: Device) -> str:
    """Why the model adds nothing at all; empty where it does."""
    if corrector is None:
        return f"no operator such as {part} was measured: the estimate stands alone"
    measured = {model.devices[name].kind for name in corrector.devices}
    if device.kind not in measured:
        return f"{part} was measured on {' and '.join(sorted(measured))} only, never on a {device.kind}: the estimate stands alone"
    return ""


def _corrected(
    model: OperatorModel, corrector: Corrector, found: Operators, estimates: Estimates, device: Device, like: Likeness
) -> tuple[Floats, Floats, Floats, list[Basis], list[tuple[str, ...]]]:  # fmt: skip
    rows = feature_matrix(found, estimates, device, corrector.features)
    known = like.known and device.name in corrector.devices
    log = corrections(corrector, rows)
    half = difficulties(corrector, rows) * _quantiles(corrector, device.name, estimates.latency_s)
    low, high = log - half, log + half
    if not known:
        log, low, high = _elsewhere(model, corrector, log, estimates)
    outside, reasons = _outside(corrector, found, estimates, _of_device(corrector, device, like), like.far if known else 0.0)
    low, high = low - _FARTHER * outside, high + _FARTHER * outside
    basis: list[Basis] = ["learned" if words else "interpolated" for words in reasons]
    plain = np.array([not words for words in found.unlike])
    at, values = _same(corrector, shape_keys(found, device.name), plain)
    if len(at) and known and not like.reason:
        width = corrector.measured.half_width or half[at]
        log[at], low[at], high[at] = values, values - width, values + width
        for index in at.tolist():
            basis[index], reasons[index] = "measured", ()
    return log, low, high, basis, reasons


def corrections(corrector: Corrector, rows: Floats) -> Floats:
    """What the corrector adds to ln of the estimates of rows of its features, (n, P) → (n,), no further than what was measured."""
    log = np.full(len(rows), corrector.level)
    if corrector.models:
        log += sum(model(rows) for model in corrector.ready) / len(corrector.models)
        if not np.isfinite(log).all():
            # Weights that are finite each, and yet of nothing that was trained.
            raise damaged(f"models of {corrector.kind} whose answer is no number")
    return np.asarray(np.minimum(np.maximum(log, corrector.bound.least - _SLACK), corrector.bound.most + _SLACK))


def difficulties(corrector: Corrector, rows: Floats) -> Floats:
    """How much harder than others rows are to predict, a factor, (n, P) → (n,); 1 where nothing tells."""
    if corrector.difficulty is None:
        return np.ones(len(rows))
    most = float(np.log(corrector.intervals.hardest))
    return np.asarray(np.exp(np.clip(corrector.difficulty.predict(rows), -most, most)))


def tenths(edges_s: Floats, estimated_s: Floats) -> list[str]:
    """The tenth of each estimated time, s, as text."""
    return [f"{number:02d}" for number in (np.searchsorted(edges_s, estimated_s, side="right") + 1).tolist()]


def _quantiles(corrector: Corrector, device: str, estimated_s: Floats) -> Floats:
    intervals = corrector.intervals
    tenth = np.searchsorted(intervals.edges_s.values, estimated_s, side="right") + 1
    found = np.empty(len(tenth))
    for number in set(tenth.tolist()):
        found[tenth == number] = intervals.conformal.quantile((device, f"{number:02d}"))
    return found


def _elsewhere(model: OperatorModel, corrector: Corrector, log: Floats, estimates: Estimates) -> tuple[Floats, Floats, Floats]:
    """For a device that was not measured: the share of the correction that carries, with the ends that other devices had when they were left out."""
    log = corrector.intervals.carried * log
    if corrector.intervals.unseen is None:
        # One device says nothing of how far off another may be; at least so far as the estimates were where they were worst.
        return log, log - model.formula_log, log + model.formula_log
    low, high = bounds(corrector.intervals.unseen, estimates.latency_s, np.full(len(log), np.inf))
    return log, log + low, log + high


def _same(corrector: Corrector, keys: NDArray[np.int64], plain: NDArray[np.bool_]) -> tuple[Indexes, Floats]:
    """(Places of the shapes that were measured themselves, their ln ratio)."""
    known = corrector.measured.key.values
    if not len(known):
        return np.zeros(0, np.intp), np.zeros(0)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    at = np.flatnonzero((known[place] == keys) & plain)
    return at, corrector.measured.log_ratio.values[place[at]]


def _of_device(corrector: Corrector, device: Device, like: Likeness) -> tuple[str, ...]:
    """Why the device makes it wrong."""
    if device.name not in corrector.devices:
        return (f"{device.name} was not measured: {_others(corrector)} were",)
    return (like.reason,) if like.reason else ()


def _outside(
    corrector: Corrector, found: Operators, estimates: Estimates, of_device: tuple[str, ...], device_far: float
) -> tuple[Floats, list[tuple[str, ...]]]:  # fmt: skip
    """(How far outside of what was measured each is, in log, at least as far as the device; the reasons of each)."""
    count = len(found)
    reasons: list[tuple[str, ...]] = [of_device] * count
    names, least, most = corrector.limits
    moved = estimates.read_bytes + estimates.weight_bytes + estimates.write_bytes
    known_values: dict[str, Floats | float] = {
        **found.sizes,
        "flop": estimates.flop,
        "bytes": moved,
        "estimated_s": estimates.latency_s,
        "core_to_core_s": estimates.core_to_core_s,
    }
    values = np.empty((len(names), count))
    for place, name in enumerate(names):
        values[place] = known_values.get(name, 0.0)
    beyond = (values > NEAR * most) | (values * NEAR < least)
    far = np.full(count, device_far)
    for place, index in np.argwhere(beyond).tolist():
        value, low, high = float(values[place, index]), float(least[place, 0]), float(most[place, 0])
        far[index] = max(far[index], min(_MOST_FAR, abs(float(np.log(max(value, 1e-300) / max(high if value > high else low, 1e-300))))))
        way = f"above {high:.6g}" if value > high else f"below {low:.6g}"
        reasons[index] = (*reasons[index], f"{corrector.kind}: {names[place]} {value:.6g} is {way}, which was measured")
    for texts, known, what in ((found.variant, corrector.variants, "variant"), (found.precision, corrector.precisions, "precision")):
        if not set(texts).issubset(known):
            for index in [index for index, text in enumerate(texts) if text not in known]:
                reasons[index] = (*reasons[index], f"{corrector.kind}: {what} {texts[index]!r} was never measured")
    for index in [index for index, words in enumerate(found.unlike) if words]:
        reasons[index] = (*reasons[index], f"{corrector.kind}: {found.unlike[index]} was never measured")
    return far, reasons


def _others(corrector: Corrector) -> str:
    shown = ", ".join(corrector.devices[:3])
    return shown if len(corrector.devices) <= 3 else f"{shown} and {len(corrector.devices) - 3} more"
