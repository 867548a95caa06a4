"""When the probe is measured, when it is taken from the cache, and what happens when the cache is broken. Nothing is really measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ridgeline.flows.probe as flow
from ridgeline.core import Ceiling, Cost, Device, Machine, Need, Quantity
from ridgeline.core.documents import encode
from ridgeline.flows.instruments import Instruments, satisfy
from ridgeline.machine import read_machine
from ridgeline.targets import parse_target
from support.facts_by_hand import facts


def _device(machine: Machine, name: str) -> Device:
    ceiling = Ceiling(engine="fma", precision="fp32", threads=1, rate=Quantity.exact(1e9, "FLOP/s", source="measured"))
    return Device(name=name, kind="cpu", ceilings=(ceiling,), fingerprint=machine.fingerprint)


class Probe:
    """Stands in for the child: counts how often it was asked, and how."""

    def __init__(self) -> None:
        self.asked: list[bool] = []

    def __call__(self, machine: Machine, quick: bool, say: Any) -> Device:
        self.asked.append(quick)
        say("measuring", 0.5)
        return _device(machine, f"probe {len(self.asked)}")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Probe:
    fake = Probe()
    monkeypatch.setattr(flow, "_measured", fake)
    monkeypatch.setattr(flow, "core_to_core_here", lambda: 0.0)
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "cache"))
    return fake


def _files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "probe").glob("*.json"))


def test_it_is_measured_once_and_kept(measured: Probe, tmp_path: Path) -> None:
    first = flow.probe()
    assert flow.probe() == first
    assert flow.probe(quick=True) == first  # a full one is better than a quick one
    assert measured.asked == [False]
    assert len(_files(tmp_path)) == 1


def test_how_far_apart_the_cpus_are_is_never_kept(measured: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host moves the CPUs of a virtual machine within minutes: the kept probe says how far they are apart now, the file does not change."""
    flow.probe()
    (file,) = _files(tmp_path)
    before = file.read_bytes()
    for seconds in (4e-8, 2e-7):
        monkeypatch.setattr(flow, "core_to_core_here", lambda seconds=seconds: seconds)
        device = flow.probe()
        assert [cost.seconds.value for cost in device.costs if cost.name == "core-to-core"] == [seconds]
    assert file.read_bytes() == before
    assert measured.asked == [False]


def test_how_far_apart_they_were_in_another_minute_is_not_how_far_they_are(measured: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a program that leaves two CPUs no turn together nothing is known, and predictions say what they assume."""
    cost = Cost(name="core-to-core", seconds=Quantity.exact(3e-4, "s", source="measured"))
    real = flow._measured
    monkeypatch.setattr(flow, "_measured", lambda *given: msgspec.structs.replace(real(*given), costs=(cost,)))
    for device in (flow.probe(), flow.probe()):
        assert device.cost("core-to-core") is None
        assert any("could not be measured now" in note for note in device.notes)
    monkeypatch.setattr(flow, "core_to_core_here", lambda: 4e-8)
    for device in (flow.probe(), flow.probe(refresh=True)):
        assert [each.seconds.value for each in device.costs] == [4e-8]
        assert device.notes == ()


def test_a_quick_one_does_not_stand_in_for_a_full_one(measured: Probe, tmp_path: Path) -> None:
    quick = flow.probe(quick=True)
    assert flow.probe(quick=True) == quick
    full = flow.probe()
    assert full != quick
    assert flow.probe(quick=True) == full
    assert measured.asked == [True, False]


def test_refresh_measures_again_and_replaces(measured: Probe) -> None:
    flow.probe()
    again = flow.probe(refresh=True)
    assert again.name == "probe 2"
    assert flow.probe() == again


def test_another_machine_or_other_software_is_another_probe(measured: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flow.probe()
    monkeypatch.setattr(flow, "software_versions", lambda names: {"torch": "other"})
    flow.probe()
    here = read_machine()
    import msgspec

    monkeypatch.setattr(flow, "read_machine", lambda: msgspec.structs.replace(here, fingerprint="elsewhere"))
    flow.probe()
    assert len(measured.asked) == 3
    assert len(_files(tmp_path)) == 3


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"[]", b'{"schema": "ridgeline.run/1"}', b'{"schema": "ridgeline.device/9"}', None])
def test_a_damaged_probe_is_measured_again_with_a_note(measured: Probe, tmp_path: Path, damage: bytes | None) -> None:
    flow.probe()
    (file,) = _files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    told: list[str] = []
    device = flow.probe(report=lambda label, fraction: told.append(label))
    assert measured.asked == [False, False]
    assert "measured again" in device.notes[0]
    assert any("measured again" in label for label in told)
    assert flow.probe() == device


def test_a_probe_of_another_machine_under_our_name_is_not_believed(measured: Probe, tmp_path: Path) -> None:
    flow.probe()
    (file,) = _files(tmp_path)
    import msgspec

    file.write_bytes(encode(msgspec.structs.replace(_device(read_machine(), "copied"), fingerprint="elsewhere")))
    assert flow.probe().name == "probe 2"


def test_a_cache_that_is_a_file_costs_the_keeping_not_the_result(measured: Probe, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    device = flow.probe()
    assert device.name == "probe 1"
    assert "not kept" in device.notes[-1]
    assert (tmp_path / "cache").read_text() == "in the way"


def test_a_full_disk_costs_the_keeping_not_the_result(measured: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    from ridgeline.core import UsageError

    def full(path: Path, data: bytes) -> None:
        raise UsageError("space", found="none", remedy="free some")

    monkeypatch.setattr(flow, "write_atomic", full)
    assert "not kept" in flow.probe().notes[-1]


def test_two_at_once_measure_once(tmp_path: Path) -> None:
    """Four processes; the fake probe appends a line to a file each time it measures."""
    code = (
        "import sys, time\n"
        "import ridgeline.flows.probe as flow\n"
        "from ridgeline.core import Ceiling, Cost, Device, Quantity\n"
        "def measured(machine, quick, say):\n"
        "    open(sys.argv[1], 'a').write('x')\n"
        "    time.sleep(0.3)\n"
        "    rate = Quantity.exact(1e9, 'FLOP/s', source='measured')\n"
        "    ceiling = Ceiling(engine='fma', precision='fp32', threads=1, rate=rate)\n"
        "    return Device(name='n', kind='cpu', ceilings=(ceiling,), fingerprint=machine.fingerprint)\n"
        "flow._measured = measured\n"
        "print(flow.probe().name)\n"
    )
    environment = {**os.environ, "RIDGELINE_CACHE": str(tmp_path / "cache")}
    count = tmp_path / "count"
    command = [sys.executable, "-c", code, str(count)]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate(timeout=120)[0] for process in processes] == ["n\n"] * 4
    assert count.read_text() == "x"


def test_the_child_side_reports_label_and_fraction(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType

    machine = read_machine()
    module = ModuleType("ridgeline.measurement.probe")

    def measure(*, machine: Machine, quick: bool, report: Any) -> Device:
        report("fma", 0.25)
        return _device(machine, f"quick={quick}")

    module.probe = measure  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ridgeline.measurement.probe", module)
    told: list[Any] = []
    assert flow.measure_here(machine, True, told.append).name == "quick=True"
    assert told == [["fma", 0.25]]


def test_that_it_cannot_be_kept_is_a_warning(measured: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "file"))
    told: list[str] = []
    flow.probe(report=lambda label, fraction: told.append(label))
    assert len([label for label in told if label.startswith("warning: the probe is not kept: ")]) == 1


def test_a_diagnosis_says_that_it_probes_only_when_it_does(measured: Probe) -> None:
    told: list[str] = []

    def report(label: str, fraction: float | None) -> None:
        told.append(label)

    instruments = Instruments(
        spec=parse_target("a.b:c"),
        worker=None,  # type: ignore[arg-type]
        budget_s=1.0,
        samples=None,
        report=report,
        probe=lambda: flow.probe(report=report),
    )
    known = facts([])
    need = Need(level=4, instrument="device", because="every fraction is against a ceiling")
    assert satisfy(need, instruments, known).device is not None
    assert told == ["measuring"]
    told.clear()
    assert satisfy(need, instruments, known).device is not None
    assert told == []
