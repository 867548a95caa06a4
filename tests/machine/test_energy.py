"""Counters of energy on made trees of /sys, and a made NVML: what counts, starting again, and why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ridgeline.machine import Nvml, Rapl


def zone(root: Path, name: str, kind: str, microjoules: int, around: int = 1000) -> Path:
    folder = root / "sys/class/powercap" / name
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{kind}\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text(f"{around}\n")
    return folder / "energy_uj"


def test_packages_and_their_memory_count_and_nothing_twice(tmp_path: Path) -> None:
    first, second = zone(tmp_path, "intel-rapl:0", "package-0", 100), zone(tmp_path, "intel-rapl:1", "package-1", 200)
    cores, memory = zone(tmp_path, "intel-rapl:0:0", "core", 50), zone(tmp_path, "intel-rapl:0:1", "dram", 10)
    board = zone(tmp_path, "intel-rapl:2", "psys", 0)
    beside = zone(tmp_path, "intel-rapl-mmio:0", "package-0", 0)
    counter = Rapl(tmp_path)
    assert (counter.missing, counter.read_j()) == ("", 0.0)
    for path, now in ((first, 160), (second, 230), (cores, 90), (memory, 15), (board, 999), (beside, 60)):
        path.write_text(str(now))
    assert counter.read_j() == pytest.approx((60 + 30 + 5) * 1e-6)


def test_a_counter_that_starts_again_goes_on(tmp_path: Path) -> None:
    path = zone(tmp_path, "intel-rapl:0", "package-0", 900, around=1000)
    counter = Rapl(tmp_path)
    for now, total in ((950, 50), (20, 120), (30, 130)):
        path.write_text(str(now))
        assert counter.read_j() == pytest.approx(total * 1e-6)


def test_why_there_is_none(tmp_path: Path) -> None:
    assert "no package" in Rapl(tmp_path).missing
    path = zone(tmp_path, "intel-rapl:0", "package-0", 1)
    path.unlink()
    path.mkdir()
    assert "needs root" in Rapl(tmp_path).missing
    assert Rapl(tmp_path).read_j() == 0.0


class MadeNvml:
    def __init__(self, *millijoules: int) -> None:
        self._left, self.asked = list(millijoules), ""

    def nvmlInit(self) -> None:
        if not self._left:
            raise RuntimeError("Driver Not Loaded")

    def nvmlDeviceGetHandleByIndex(self, number: int) -> str:
        self.asked = f"number {number}"
        return self.asked

    def nvmlDeviceGetHandleByUUID(self, text: str) -> str:
        self.asked = text
        return text

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        assert handle == self.asked
        return self._left.pop(0)


@pytest.mark.parametrize(("visible", "asked"), [(None, "number 0"), ("2,3", "number 2"), ("GPU-1234", "GPU-1234")])
def test_a_gpu_counts_millijoules(visible: str | None, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    library = MadeNvml(5000, 7500)
    counter = Nvml(library)
    assert (counter.missing, counter.read_j(), library.asked) == ("", pytest.approx(2.5), asked)


def test_a_driver_that_is_not_there_is_said() -> None:
    assert Nvml(MadeNvml()).missing == "NVML: Driver Not Loaded"
