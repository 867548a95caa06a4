"""A correction on a whole prediction: what moves together, what stays, and that nothing is lifted above a ceiling."""

from __future__ import annotations

import math

import pytest

from ridgeline.core import Prediction
from ridgeline.model.calibration import Correction, Pair, correction, start, updated
from ridgeline.model.calibration.applied import calibrated
from ridgeline.model.graphs.predicting import predicted
from ridgeline.model.graphs.tasks import plan_of_graph
from support.predicted import chain, cpu


@pytest.fixture
def found() -> Prediction:
    return predicted(plan_of_graph(chain(3, rows=512, columns=512), "onnxruntime", made=True), cpu(threads=2))


def by(factor: float) -> Correction:
    state = updated(start("m"), [Pair(predicted_s=1e-3, actual_s=1e-3 * factor, group="g")] * 2000)
    return correction(state, "g")


def test_times_go_with_the_factor_and_rates_against_it(found: Prediction) -> None:
    after, used = calibrated(found, by(1.3)), by(1.3)
    factor = used.factor.value
    assert factor == pytest.approx(1.3, rel=0.01)
    for name in ("latency_s", "overhead_s", "compute_s", "energy_j", "cost_per_million"):
        assert getattr(after, name).value == pytest.approx(getattr(found, name).value * factor), name
    for name in ("throughput_per_s", "achieved_flop_per_s", "achieved_byte_per_s", "peak_share"):
        assert getattr(after, name).value == pytest.approx(getattr(found, name).value / factor), name
    assert (after.power_w, after.split, after.occupancy, after.peak_memory_bytes) == (
        found.power_w,
        found.split,
        found.occupancy,
        found.peak_memory_bytes,
    )
    ratios = {
        new.latency_s.value / old.latency_s.value
        for new, old in zip(after.operators, found.operators, strict=True)
        if new.latency_s and old.latency_s
    }
    assert max(ratios) == pytest.approx(factor) == pytest.approx(min(ratios))
    assert f"calibration version {used.version} (× {factor:.4g})" in after.data_version
    assert f"version {used.version}" in after.latency_s.origin


def test_no_correction_lifts_a_prediction_above_a_ceiling(found: Prediction) -> None:
    after = calibrated(found, by(0.05))
    shares = [after.peak_share, after.bandwidth_share, *after.level_share.values()]
    assert all(share is not None and share.high <= 1.0 for share in shares)
    assert after.latency_s.value > 0.05 * found.latency_s.value * 1.5
    assert any("above a ceiling" in reason for reason in after.out_of_range)
    assert not math.isclose(after.latency_s.value, found.latency_s.value)
