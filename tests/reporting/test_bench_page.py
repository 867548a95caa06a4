"""The page of a benchmark: what is known stands there with its unit, what is not says why."""

from __future__ import annotations

import pytest

from ridgeline.core import (
    BenchReport,
    Caution,
    ClockState,
    CoreToCore,
    GroundTruth,
    InputLatency,
    Mode,
    Overhead,
    QuantileReport,
    Setting,
    Steadiness,
    TailReport,
)
from ridgeline.reporting import bench_page, markdown, terminal


@pytest.fixture
def bare() -> BenchReport:
    """One that knows next to nothing."""
    truth = GroundTruth(
        samples=1, processes=1, warmup=0, first_s=None, median_s=2e-3, median_ci_s=(2e-3, 2e-3), p99_s=None, p99_ci_s=None, min_s=2e-3,
        batched_s=None, noise_floor=None, overhead_s=None,
    )  # fmt: skip
    return BenchReport(
        target="work.py:run", machine="", software={}, method="", commit=None, threads=0, clock=ClockState(), ground_truth=truth,
        throughput_per_s=None, batched_s=None, first_s=None, steadiness=Steadiness(state="too few calls", because="one call"),
        quantiles=(QuantileReport(q=0.99, value_s=None, interval_s=None, confidence=0.95, samples=1, needed=299),), process_medians_s=(2e-3,),
    )  # fmt: skip


def full(bare: BenchReport) -> BenchReport:
    from msgspec.structs import replace

    return replace(
        bare,
        throughput_per_s=(900.0, 1000.0, 1100.0),
        batched_s=(0.9e-3, 1e-3, 1.1e-3),
        first_s=(0.04, 0.05, 0.06),
        steadiness=Steadiness(state="steady"),
        quantiles=(
            QuantileReport(q=0.0, value_s=1.5e-3, interval_s=None, confidence=0.95, samples=500, needed=1),
            QuantileReport(q=0.5, value_s=2e-3, interval_s=(1.9e-3, 2.1e-3), confidence=0.95, samples=500, needed=6),
            QuantileReport(q=0.999, value_s=None, interval_s=None, confidence=0.95, samples=500, needed=2995),
        ),
        modes_between=(Mode(value=1e-3, share=0.25), Mode(value=2e-3, share=0.75)),
        modes_within=(Mode(value=3e-3, share=1.0),),
        drift_per_s=0.0123,
        tail=TailReport(
            slowest=10, threshold_s=5e-3, explained={"preempted": 7}, usual={"preempted": 0.02}, unexplained=3, not_seen={"stolen": "no hypervisor"}
        ),
        inputs=tuple(InputLatency(name=f"input-{i}", samples=10, median_s=1e-3 * i, p90_s=None) for i in range(1, 15)),
        stages={"decode": (1e-3, 1.1e-3, 1.2e-3)},
        overhead=Overhead(
            sample_s=75e-9, bare_s=160e-9, batched_iteration_s=3e-9, timer_s=20e-9, timer_share=0.02, synchronise_s=1e-6
        ),
        settings=(
            Setting(name="governor", found="powersave", wanted="performance", used="performance", state="set"),
            Setting(name="priority", found="nice 0", wanted="nice -20", used="nice 0", state="not asked"),
            Setting(name="turbo", state="cannot", reason="not visible here"),
            Setting(name="swap", found="off", used="off"),
        ),
        cache="cold",
        soaked_s=61.0,
        throttled_samples=4,
        detectable_ratio=1.0123,
        noise_floor=0.01,
        warnings=(Caution(code="some-code", message="a message", effect="an effect"),),
    )  # fmt: skip


def test_what_is_not_known_says_why(bare: BenchReport) -> None:
    text = terminal(bench_page(bare), 120, False)
    for part in ("298 more calls needed", "every call is a process of its own", "one call", "too few processes", "not kept in a notebook"):
        assert part in text, part
    assert "None" not in text
    assert "nan" not in text.lower().split()


def test_everything_that_is_known_is_on_the_page(bare: BenchReport) -> None:
    text = terminal(bench_page(full(bare)), 160, False)
    for part in (
        "2.00 ms",
        "1.00 kcalls/s", "not 1 ÷ latency", "50.0 ms", "1.23%", "+1.23% a second", "1.00 ms (25.0%), 2.00 ms (75.0%)", "7 of 10", "3 of 10",
        "no hypervisor", "input-14", "decode", "75.0 ns", "160 ns", "more than 1 %", "cold", "61.0 s", "set from powersave, and put back",
        "--tune sets it", "not visible here", "some-code", "an effect",
    ):  # fmt: skip
        assert part in text, part
    assert "swap" not in text, "what is as it should be is in the JSON"
    assert "input-4 " not in text, "ten inputs, the slowest"
    assert "4 faster inputs" in text


def test_how_far_apart_the_cores_were(bare: BenchReport) -> None:
    from msgspec.structs import replace

    text = " ".join(terminal(bench_page(replace(bare, clock=ClockState(core_to_core=CoreToCore(looks_s=(4e-8, 2e-7, 4.4e-8))))), 160, False).split())
    assert "core to core 44.0 ns a cache line between two cores, 40.0 ns to 200 ns" in text
    text = terminal(bench_page(replace(bare, clock=ClockState(core_to_core=CoreToCore(missing="one CPU alone")))), 160, False)
    assert "one CPU alone" in text
    assert "core to core" not in terminal(bench_page(bare), 160, False), "a run of before"


def test_throughput_and_latency_are_never_said_of_each_other(bare: BenchReport) -> None:
    lines = terminal(bench_page(full(bare)), 160, False).splitlines()
    assert all("latency" not in line or "not" in line for line in lines if line.strip().startswith(("throughput", "batched")))


def test_it_is_markdown_too(bare: BenchReport) -> None:
    assert markdown(bench_page(full(bare))).startswith("# ")
