"""Rows that must not be learned from are caught, each with its reason and place; what may be is let pass, however unlike each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import Ceiling, Column, Device, LatencyTable, MemoryLevel, Quantity
from ridgeline.model.neighbours import far_off, from_others, local_fit, robust_line
from ridgeline.model.physics import against_peaks
from ridgeline.model.rows import CheckedRows, Limits, check_rows

PEAK, BANDWIDTH, CACHE = 1e13, 1e12, 40_000_000


def device() -> Device:
    def rate(value: float, unit: str) -> Quantity:
        return Quantity.exact(value, unit, source="spec")

    return Device(
        name="card", kind="gpu", ceilings=(
            Ceiling(engine="fma", precision="fp32", threads=0, rate=rate(PEAK, "FLOP/s"), library="spec"),
            Ceiling(engine="read", precision="any", threads=0, rate=rate(BANDWIDTH, "B/s"), level="DRAM", library="spec"),
            Ceiling(engine="read", precision="any", threads=0, rate=rate(5 * BANDWIDTH, "B/s"), level="L2", library="spec"),
        ), levels=(MemoryLevel(name="L2", capacity_bytes=CACHE),),
    )  # fmt: skip


def table(count: int = 400, seed: int = 0, noise: float = 0.03, **further: object) -> LatencyTable:
    """Matrix products on the card: the longer of both peaks at 70 %, 5 µs to begin, a tile of 64 rows, and noise."""
    draw = np.random.default_rng(seed)
    m, n, k = (np.exp2(draw.uniform(4, 12, count)).astype(int) for _ in range(3))
    flop, bytes_ = 2.0 * m * n * k, 4.0 * (m * n + m * k + n * k)
    padded = 2.0 * (np.ceil(m / 64) * 64) * n * k
    time_s = 5e-6 + np.maximum(padded / (0.7 * PEAK), bytes_ / (0.7 * BANDWIDTH))
    given = {
        "latency_s": time_s * np.exp(noise * draw.normal(size=count)), "kind": "gemm", "device": "card", "precision": "fp32", "file": "gemm.csv",
        "sizes": {"m": m, "n": n, "k": k}, "flop": flop, "bytes": bytes_,
    }  # fmt: skip
    return LatencyTable.of(**{**given, **further})  # type: ignore[arg-type]


def changed(found: LatencyTable, at: NDArray[np.intp] | list[int], factor: float) -> LatencyTable:
    times = found.latency_s.values.copy()
    times[at] *= factor
    return msgspec.structs.replace(found, latency_s=Column(times, "s"))


def caught(found: CheckedRows) -> dict[str, list[int]]:
    result: dict[str, list[int]] = {}
    for row in found.caught:
        result.setdefault(row.fault, []).append(row.index)
    return result


def test_rows_as_they_should_be_are_all_let_pass() -> None:
    for seed in range(5):
        found = check_rows(table(seed=seed), {"card": device()})
        assert found.caught == ()
        assert found.learnable == table(seed=seed)
        assert found.unchecked == {"utilisation": 0, "bandwidth": 0, "outlier": 0}


def test_every_row_is_learnable_or_caught_and_said() -> None:
    bad = changed(changed(table(), [7], 14.6**-1), [100], -1.0)
    found = check_rows(bad, {"card": device()})
    assert sorted([*np.flatnonzero(found.kept).tolist(), *(row.index for row in found.caught)]) == list(range(400))
    assert len(found.learnable) == 400 - len(found.caught)
    assert sum(entry.events for entry in found.learnable.excluded) == len(found.caught)
    assert all(row.place == f"gemm.csv row {row.index + 1}" and row.place in row.text for row in found.caught)
    assert {entry.first for entry in found.learnable.excluded} <= {row.place for row in found.caught}


def test_more_than_the_peak_of_arithmetic() -> None:
    large = int(np.argmax(table().optional("flop")))
    found = check_rows(changed(table(), [large], 1 / 14.6), {"card": device()})
    (row,) = found.caught
    assert (row.index, row.fault) == (large, "utilisation")
    expected = table().optional("flop")[large] / (table().latency_s.values[large] / 14.6 * PEAK)
    assert row.figure == pytest.approx(expected)
    assert f"{expected:.3g} times the peak of arithmetic" in row.text


def test_more_than_the_memory_can_bring_counts_only_what_no_cache_can_hold() -> None:
    sizes = np.array([20_000_000, 400_000_000])
    streams = LatencyTable.of(
        latency_s=sizes / (3 * BANDWIDTH), kind="copy", device="card", precision="fp32", sizes={"n": sizes // 8}, bytes=sizes, file="s.csv"
    )  # fmt: skip
    found = check_rows(streams, {"card": device()})
    assert caught(found) == {"bandwidth": [1]}
    assert found.caught[0].figure == pytest.approx((400e6 - CACHE) / 400e6 * 3)
    assert found.unchecked["utilisation"] == 2


def test_without_a_device_nothing_is_held_against_peaks_and_that_is_said() -> None:
    large = int(np.argmax(table().optional("flop")))
    found = check_rows(changed(table(), [large], 1 / 1.9), {})
    assert found.caught == ()
    assert (found.unchecked["utilisation"], found.unchecked["bandwidth"]) == (400, 400)


@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e6, 1e-6])
def test_a_stretch_of_rows_in_another_unit(factor: float) -> None:
    block = list(range(120, 160))
    found = check_rows(changed(table(), block, factor), {})
    assert caught(found) == {"unit": block}
    assert all(0.1 < row.figure / factor < 10 for row in found.caught)


@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_a_whole_file_in_another_unit_is_told_by_the_device_alone(factor: float) -> None:
    everything = np.arange(400)
    found = check_rows(changed(table(), everything, factor), {"card": device()})
    assert Counter(row.fault for row in found.caught) == {"unit": 400}
    assert check_rows(changed(table(), everything, factor), {}).caught == ()


def test_work_that_is_far_larger_than_the_rest_is_no_wrong_unit() -> None:
    small, large = table(300), table(6, seed=9)
    grown = {name: large.dimension(name) * 64 for name in "mnk"}
    flop = 2.0 * grown["m"] * grown["n"] * grown["k"]
    far = LatencyTable.of(latency_s=flop / (0.7 * PEAK), kind="gemm", device="card", precision="fp32", file="far.csv", sizes=grown, flop=flop)
    assert "unit" not in caught(check_rows(LatencyTable.joined([small, far]), {"card": device()}))


def test_one_latency_for_all_work() -> None:
    found = check_rows(msgspec.structs.replace(table(50), latency_s=Column(np.full(50, 1e-3), "s")), {})
    assert Counter(row.fault for row in found.caught) == {"constant": 50}
    # The same latency for the same work is what is expected.
    same = LatencyTable.of(latency_s=[1e-3] * 50, kind="gemm", device="card", sizes={"m": [64] * 50})
    assert check_rows(same, {}).caught == ()


def test_a_column_that_was_not_measured_is_not_learned() -> None:
    power = np.full(400, 250.0)
    found = check_rows(table(power_w=power), {"card": device()})
    (column,) = found.columns
    assert (column.name, column.device, column.rows, column.figure) == ("power_w", "card", 400, 250.0)
    assert not found.learnable.optional("power_w").any()
    assert found.learnable.excluded[-1].events == 400
    assert len(found.learnable) == 400
    measured = table(power_w=power * np.linspace(0.5, 1, 400))
    assert check_rows(measured, {"card": device()}).columns == ()


def test_rows_at_another_clock() -> None:
    clock = np.full(400, 1.41e9)
    clock[[3, 50]] = 0.9e9
    found = check_rows(table(core_clock_hz=clock), {"card": device()})
    assert caught(found) == {"clock": [3, 50]}
    assert found.caught[0].figure == pytest.approx(0.9 / 1.41)
    # Where the clock is varied on purpose it is a size like others.
    swept = table(core_clock_hz=np.tile([0.6e9, 0.9e9, 1.2e9, 1.5e9], 100))
    assert "clock" not in caught(check_rows(swept, {"card": device()}))


def _repeated(times: Callable[[NDArray[np.intp]], NDArray[np.float64]], count: int = 90, each: int = 3) -> LatencyTable:
    """Each of the works measured several times, one round over all of them after the other."""
    one = table(count)
    rounds = LatencyTable.joined([one] * each)
    at = np.arange(len(rounds))
    draw = np.random.default_rng(4)
    values = rounds.latency_s.values * times(at) * np.exp(0.01 * draw.normal(size=len(at)))
    return msgspec.structs.replace(rounds, latency_s=Column(values, "s"), row=Column(at + 1, "1", "<i8"))


def test_a_round_of_repeats_at_another_clock() -> None:
    found = check_rows(_repeated(lambda at: np.where(at >= 180, 1.15, 1.0)), {"card": device()})
    rows = caught(found)
    assert set(rows) == {"clock"}
    assert len(set(rows["clock"]) & set(range(180, 270))) >= 88
    assert len(set(rows["clock"]) - set(range(180, 270))) <= 2
    assert np.median([row.figure for row in found.caught]) == pytest.approx(1.15, rel=0.02)
    assert check_rows(_repeated(lambda at: np.ones(len(at))), {"card": device()}).caught == ()


def test_repeats_that_disagree() -> None:
    found = check_rows(_repeated(lambda at: np.where(at == 100, 1.6, 1.0)), {"card": device()})
    assert caught(found) == {"disagrees": [100]}
    assert found.caught[0].figure == pytest.approx(1.6, rel=0.1)
    # Of two nobody can say which is right.
    pair = check_rows(_repeated(lambda at: np.where(at == 100, 1.6, 1.0), each=2), {"card": device()})
    assert caught(pair) == {"disagrees": [10, 100]}


def test_outliers_against_their_neighbours() -> None:
    draw = np.random.default_rng(8)
    at = np.sort(draw.choice(2000, 20, replace=False))
    slow, fast = at[:10], at[10:]
    found = check_rows(changed(changed(table(2000), slow, 10.0), fast, 0.1), {"card": device()})
    rows = caught(found)
    assert set().union(*rows.values()) <= set(at.tolist())
    assert len(found.caught) >= 18
    assert all(4 < row.figure < 25 or 1 / 25 < row.figure < 1 / 4 for row in found.caught if row.fault == "outlier")


def test_a_size_at_which_the_kernel_is_slow_is_no_fault() -> None:
    """A grid of sizes, of which 257 takes four times as long every time, and one row that is slow by accident."""
    m, n = (side.ravel() for side in np.meshgrid([64, 128, 192, 224, 256, 257, 320, 384, 448, 512, 640], 64 * np.arange(1, 13)))
    time_s = 1e-9 * m * n * np.where(m == 257, 4.0, 1.0) * np.exp(0.01 * np.random.default_rng(0).normal(size=len(m)))
    grid = LatencyTable.of(latency_s=time_s, kind="gemm", device="card", precision="fp32", file="g.csv", sizes={"m": m, "n": n}, flop=2.0 * m * n)
    found = check_rows(changed(grid, [14], 5.0), {})
    assert caught(found) == {"outlier": [14]}
    assert found.unchecked["outlier of one size"] >= 5


def test_what_is_unknown_to_a_limit_is_the_callers_choice() -> None:
    large = int(np.argmax(table().optional("flop")))
    faster = changed(table(), [large], 0.5)
    assert caught(check_rows(faster, {"card": device()})) == {"utilisation": [large]}
    assert check_rows(faster, {"card": device()}, Limits(over=2.0)).caught == ()


def test_values_that_are_not_positive() -> None:
    zero = changed(changed(table(), [5], 0.0), [6], -1.0)
    assert caught(check_rows(zero, {"card": device()})) == {"not positive": [5, 6]}
    power = np.full(400, 100.0) * np.linspace(0.5, 1, 400)
    power[9] = -3.0
    assert caught(check_rows(table(power_w=power), {"card": device()})) == {"not positive": [9]}
    empty = check_rows(table().rows(np.zeros(400, bool)), {})
    assert (len(empty.learnable), empty.caught) == (0, ())


def test_against_peaks_in_closed_form() -> None:
    one = LatencyTable.of(
        latency_s=[1e-3], kind="gemm", device="card", precision="fp32", sizes={"m": [1]}, flop=[PEAK * 5e-4], bytes=[CACHE + BANDWIDTH * 2e-4]
    )
    found = against_peaks(one, {"card": device()})
    assert (found.utilisation[0], found.bandwidth[0], found.least_s[0]) == pytest.approx((0.5, 0.2, 5e-4))
    assert against_peaks(one, {}).least_s.tolist() == [0.0]
    other = against_peaks(
        LatencyTable.of(latency_s=[1e-3], kind="gemm", device="card", precision="fp8", sizes={"m": [1]}, flop=[1e9]), {"card": device()}
    )
    assert not other.arithmetic_checked.any()


def test_neighbours_explain_a_slope_and_a_power_law() -> None:
    draw = np.random.default_rng(0)
    features = draw.uniform(0, 10, (500, 2))
    fit = local_fit(features, 0.5 * features[:, 0] - 2 * features[:, 1] + 3)
    assert np.abs(fit.line).max() < 0.15
    target = features @ np.array([0.7, 0.7]) + 0.02 * draw.normal(size=500)
    target[17] += math.log(10)
    far, distance = far_off(local_fit(features, target), math.log(2.2), 6.0)
    assert np.flatnonzero(far).tolist() == [17]
    assert distance[17] == pytest.approx(math.log(10), abs=0.5)
    left = robust_line(features, target)
    assert left[17] == pytest.approx(math.log(10), abs=0.1)
    assert np.median(np.abs(left)) < 0.03


def test_others_allow_their_time_and_what_is_in_proportion() -> None:
    features, work = np.array([[0.0], [1.0], [0.0]]), np.array([0.0, 1.0, 0.0])
    target = np.array([0.0, 1.7, 0.0])
    rows, others = np.array([1]), np.array([0, 2])
    assert from_others(features, target, work, rows, others) == pytest.approx([0.7])
    assert from_others(features, np.array([0.0, 0.4, 0.0]), work, rows, others) == pytest.approx([0.0])
    assert from_others(features, np.array([0.0, -0.4, 0.0]), work, rows, others) == pytest.approx([-0.4])
    assert from_others(features, target, work, rows, np.array([], int)).tolist() == [0.0]
