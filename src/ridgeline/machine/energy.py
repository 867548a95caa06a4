"""Counters of energy: of the processor packages by the kernel's powercap, of a GPU by NVML.

Only reads; how long a stretch has to be for a difference to count is `update_s` times as many updates as an error allows.

Sources: Documentation/power/powercap/powercap.rst (intel-rapl zones, `energy_uj`, `max_energy_range_uj`; AMD's counters are there too); M. Hähnel et
al., "Measuring Energy Consumption for Short Code Paths Using RAPL", SIGMETRICS PER 40(3), 2012 (an update about each millisecond); Z. Yang et al.,
"Part-time Power Measurements: nvidia-smi's Lack of Attention", SC 2024 (updates of NVIDIA GPUs up to 100 ms apart).
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Protocol

from .system_files import number, read

__all__ = ["EnergyCounter", "Nvml", "Rapl"]

_POWERCAP = "sys/class/powercap"
_MICRO, _MILLI = 1e-6, 1e-3


class EnergyCounter(Protocol):
    """Counts joules.

    Attributes:
        update_s: seconds between its updates.
    """

    update_s: float

    def read_j(self) -> float:
        """Joules since it was made."""


class Rapl:
    """All processor packages and the memory beside them. A counter starts again at its range: it has to be read once in that time, a minute or more.

    Args:
        root: `/`, or the folder of a recorded tree of /sys.

    Attributes:
        missing: why nothing can be counted; empty where it can.
    """

    update_s = 1e-3

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        zones = _zones(root)
        unreadable = [zone for zone in zones if number(read(root, f"{zone}/energy_uj")) is None]
        self.missing = _why(zones, unreadable)
        self._zones = [] if self.missing else zones
        self._last = {zone: self._microjoules(zone) for zone in self._zones}
        self._spent = 0

    def read_j(self) -> float:
        """Joules since it was made."""
        for zone in self._zones:
            now, before = self._microjoules(zone), self._last[zone]
            around = (number(read(self._root, f"{zone}/max_energy_range_uj")) or 0) if now < before else 0
            self._spent += max(0, now - before + around)
            self._last[zone] = now
        return self._spent * _MICRO

    def _microjoules(self, zone: str) -> int:
        return number(read(self._root, f"{zone}/energy_uj")) or 0


def _zones(root: Path) -> list[str]:
    """Packages, and the memory that is not among what they count."""
    folder = root / _POWERCAP
    try:
        names = sorted(each.name for each in folder.iterdir() if each.name.startswith("intel-rapl:"))
    except OSError:
        return []
    kinds = {name: read(root, f"{_POWERCAP}/{name}/name") or "" for name in names}
    return [f"{_POWERCAP}/{name}" for name, kind in kinds.items() if kind.startswith("package-") or (kind == "dram" and name.count(":") == 2)]


def _why(zones: list[str], unreadable: list[str]) -> str:
    if not zones:
        return f"no package in /{_POWERCAP}, as on most virtual machines"
    return f"/{unreadable[0]}/energy_uj cannot be read, which needs root since Linux 5.10" if unreadable else ""


class Nvml:
    """One NVIDIA GPU, the first that this process may use; since Volta. Needs the package nvidia-ml-py.

    Args:
        library: `pynvml`, or what behaves like it; imported if null.

    Attributes:
        missing: why nothing can be counted; empty where it can.
    """

    update_s = 0.1

    def __init__(self, library: Any = None) -> None:
        self._library, self._handle, self.missing = library, None, ""
        try:
            if library is None:
                self._library = importlib.import_module("pynvml")
            self._library.nvmlInit()
            self._handle = self._device()
            self._start = self._millijoules()
        except ImportError:
            self.missing = "the package nvidia-ml-py: pip install nvidia-ml-py"
        except Exception as error:  # of the library, which has a class for each
            self.missing = f"NVML: {error}"

    def read_j(self) -> float:
        """Joules since it was made."""
        return (self._millijoules() - self._start) * _MILLI

    def _device(self) -> Any:
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip() or "0"
        if first.isdigit():
            return self._library.nvmlDeviceGetHandleByIndex(int(first))
        return self._library.nvmlDeviceGetHandleByUUID(first)

    def _millijoules(self) -> int:
        return int(self._library.nvmlDeviceGetTotalEnergyConsumption(self._handle))
