"""A correction applied to a whole prediction: the latency and all that follows from it move together, and the prediction says which version did it.

Times, energy and cost go with the factor, rates and shares against it; power, memory, splits and occupancy stay. This module decides that, and that
no correction lifts a prediction above a ceiling; the factor itself is decided in `versions`.
"""

from __future__ import annotations

import msgspec

from ridgeline.core import OperatorPrediction, Prediction, Quantity

from .versions import Correction, corrected

__all__ = ["calibrated"]


def calibrated(found: Prediction, correction: Correction) -> Prediction:
    """The prediction as the calibration has it.

    Args:
        found: as the model alone says it.
        correction: of its group; one by nothing leaves the numbers as they are.
    """
    factor, reasons = correction.factor.value, found.out_of_range
    shares = [each.value for each in (found.peak_share, found.bandwidth_share, *found.level_share.values()) if each is not None]
    least = min(1.0, max(shares, default=0.0))
    if factor < least:
        reasons = (*reasons, f"the calibration says × {factor:.4g}, which is above a ceiling of {found.device}: cut there")
        factor = least
    used = msgspec.structs.replace(correction, factor=_factor(correction.factor, factor))

    def time(part: Quantity | None) -> Quantity | None:
        return None if part is None else part.scaled(factor)

    def rate(part: Quantity | None) -> Quantity | None:
        return None if part is None else part.scaled(1 / factor)

    return msgspec.structs.replace(
        found, latency_s=corrected(found.latency_s, used), compute_s=time(found.compute_s),
        memory_s={name: part.scaled(factor) for name, part in found.memory_s.items()}, overhead_s=time(found.overhead_s),
        communication_s=time(found.communication_s), energy_j=time(found.energy_j), cost_per_million=time(found.cost_per_million),
        throughput_per_s=rate(found.throughput_per_s), achieved_flop_per_s=rate(found.achieved_flop_per_s),
        achieved_byte_per_s=rate(found.achieved_byte_per_s), peak_share=_share(rate(found.peak_share)),
        bandwidth_share=_share(rate(found.bandwidth_share)),
        level_share={name: _within(part.scaled(1 / factor)) for name, part in found.level_share.items()},
        operators=tuple(_operator(each, factor) for each in found.operators), out_of_range=reasons,
        data_version=f"{found.data_version} + calibration version {correction.version} (× {factor:.4g})",
    )  # fmt: skip


def _factor(of: Quantity, factor: float) -> Quantity:
    return of if factor == of.value else msgspec.structs.replace(of, value=factor, low=min(of.low, factor), high=max(of.high, factor))


def _operator(each: OperatorPrediction, factor: float) -> OperatorPrediction:
    return each if each.latency_s is None else msgspec.structs.replace(each, latency_s=each.latency_s.scaled(factor))


def _share(part: Quantity | None) -> Quantity | None:
    return None if part is None else _within(part)


def _within(part: Quantity) -> Quantity:
    """No end of a share is above the whole."""
    return msgspec.structs.replace(part, value=min(1.0, part.value), low=min(1.0, part.low), high=min(1.0, part.high))
