"""The other pages: log, run, device, catalogue, doctor, calculation."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Ceiling, Cost, Device, DoctorReport, Finding, MemoryLevel, Quantity, Run
from ridgeline.device import catalogue
from ridgeline.flows.calc import calc
from ridgeline.notebook import RunSummary
from ridgeline.reporting import (
    calc_list_page,
    calc_page,
    device_page,
    devices_page,
    doctor_page,
    html,
    log_table,
    markdown,
    page,
    probe_page,
    run_page,
    terminal,
)


def _rate(value: float, unit: str) -> Quantity:
    return Quantity(value=value, low=value * 0.95, high=value * 1.02, confidence=0.95, unit=unit, source="measured", origin="probe")


@pytest.fixture
def device() -> Device:
    return Device(
        name="Test CPU",
        kind="cpu",
        ceilings=(
            Ceiling(engine="fma", precision="fp32", threads=1, rate=_rate(117e9, "FLOP/s"), spread=0.03),
            Ceiling(engine="read", precision="any", threads=2, rate=_rate(37e9, "B/s"), level="DRAM", working_set_bytes=2**28, stable=False),
            Ceiling(engine="latency", precision="any", threads=1, rate=_rate(9e-8, "s"), level="DRAM", working_set_bytes=2**28),
        ),
        levels=(MemoryLevel(name="L1", capacity_bytes=32768, shared_by=1), MemoryLevel(name="L3", capacity_bytes=2**25)),
        costs=(Cost(name="dispatch", library="torch", seconds=_rate(2e-6, "s")),),
        notes=("L3 is shared with strangers",),
    )


def test_the_log_shows_runs_in_the_order_given() -> None:
    runs = [
        RunSummary(id="b", verb="diagnose", at="2026-01-02T03:04:05+00:00", target="m.onnx", bound="bandwidth", cause="streaming", median_s=0.0125),
        RunSummary(id="a", verb="probe", at="2026-01-01T03:04:05+00:00", target="x" * 300),
        RunSummary(id="0", verb="diagnose", at="2026-01-01T03:04:05+00:00", target="h", bound="none", median_s=1.0),
    ]
    lines = terminal(log_table(runs), 120).splitlines()
    first = next(index for index, line in enumerate(lines) if line.split()[:1] == ["b"])
    assert "12.5 ms" in lines[first]
    assert "2026-01-02 03:04:05" in lines[first]
    assert "streaming" in lines[first]
    assert lines[first + 1].split()[0] == "a"
    assert "…" in lines[first + 1]
    # Median, bound and cause; a column that no run fills, as here that of the commits, is not there.
    assert lines[first + 1].count("—") == 3
    assert "commit" not in lines[first - 2]
    assert "none" in lines[first + 2]
    assert max(map(len, lines)) <= 120


def test_an_empty_log_says_how_to_begin() -> None:
    assert "ridgeline diagnose TARGET" in terminal(log_table([]), 80)


def test_a_run_shows_its_diagnosis_or_what_was_measured(stored_run: Run) -> None:
    assert stored_run.diagnosis is not None
    assert run_page(stored_run) == page(stored_run.diagnosis)
    text = terminal(run_page(msgspec.structs.replace(stored_run, diagnosis=None)), 100)
    assert stored_run.id in text
    assert "1000" in text
    assert "No diagnosis" in text


def test_a_device_shows_every_ceiling_with_its_doubt(device: Device) -> None:
    text = terminal(probe_page(device), 160)
    assert "117 GFLOP/s [111 GFLOP/s, 119 GFLOP/s]" in text
    assert "37.0 GB/s" in text
    assert "NO" in text  # not stable
    assert "90.0 ns" in text
    assert "2.00 µs" in text
    assert "L3 is shared with strangers" in text


def test_a_device_of_nothing_renders() -> None:
    for render in (lambda p: terminal(p, 60), markdown, html):
        assert "not measured" in render(probe_page(Device(name="", kind="npu")))


def test_the_whole_catalogue_renders() -> None:
    devices = catalogue()
    text = terminal(devices_page(devices), 200)
    for device in devices:
        assert device.name in text
        assert device.name in terminal(probe_page(device), 200)
        assert device.name in terminal(device_page(device), 80)


def test_a_device_of_the_catalogue_names_the_source_of_every_number() -> None:
    device = next(device for device in catalogue() if device.name == "NVIDIA B300 SXM 288GB")
    text = terminal(device_page(device), 160)
    assert "known by specification only: nothing here was measured" in text
    assert "WHAT DOES NOT FIT TOGETHER" in text
    assert "(-36%)" in text
    assert "two of four weights are zero" in text
    for origin in {ceiling.rate.origin.split(",")[0] for ceiling in device.ceilings}:
        assert origin in text
    for note in device.notes:
        assert note.removeprefix("check: ")[:30] in text
    for render in (markdown, html):
        assert "14.0 PFLOP/s" in render(device_page(device))


def test_a_device_of_nothing_has_a_page_of_the_catalogue() -> None:
    for render in (lambda p: terminal(p, 60), markdown, html):
        assert "no source at hand" in render(device_page(Device(name="", kind="npu")))


def test_the_list_says_how_each_device_is_known() -> None:
    text = terminal(devices_page(catalogue()), 200)
    assert "  spec " in text
    assert "  assumed " in text
    assert "bounds" in text


def test_the_doctor_says_first_what_is_missing_and_how_to_mend_it() -> None:
    report = DoctorReport(
        machine="Test CPU",
        fingerprint="f",
        findings=(
            Finding(name="schedstat", ok=True, detail="readable"),
            Finding(name="hardware counters", ok=False, detail="no PMU", consequence="Causes need perturbation.", remedy="use a machine with a PMU"),
            Finding(name="GPU", ok=None, detail="none seen"),
        ),
    )
    text = terminal(doctor_page(report), 100)
    assert text.index("hardware counters") < text.index("GPU") < text.index("schedstat")
    assert "Causes need perturbation. To enable: use a machine with a PMU" in text
    assert "1 of 3 checks passed; 1 cannot be used here." in text


def test_calc_shows_the_answer_first() -> None:
    text = terminal(calc_page(calc("roofline", ["flop=33.55MFLOP", "bytes=33.55MB", "peak=128GFLOP/s", "bandwidth=13GB/s"])), 100)
    assert text.index("2.58 ms") < text.index("128 GFLOP/s")
    listed = terminal(calc_list_page(calc()), 100)
    assert "roofline" in listed
    assert "ridgeline calc amdahl" in listed
