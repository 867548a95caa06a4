"""`soak`: load the machine until it is as warm, and as slow, as it will be while measuring.

Goes on until temperature, clock and the time of the load have levelled off, each as far as it can be seen, and says why it ended. When a series has
levelled is decided by `stats.has_levelled`. Sources: thermal zones and hwmon in sysfs (Documentation/driver-api/thermal, hwmon/sysfs-interface).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from ridgeline.core import UsageError
from ridgeline.core.units import format_quantity
from ridgeline.stats import has_levelled

from ..clock import read_clock
from ..system_files import number, read

__all__ = ["Heat", "SoakResult", "read_heat", "soak"]

#: Seconds that one point of the series stands for, and the shortest soak: a heat sink of ten minutes is told from one that is warm.
_BLOCK_S, _LEAST_S, _LIMIT_S = 2.0, 60.0, 900.0
_KELVIN, _PART = 1.0, 0.01
_ZERO_CELSIUS_K = 273.15


class Heat(msgspec.Struct, frozen=True, kw_only=True):
    """How warm and how fast the machine is: the hottest sensor in kelvin and the mean clock in Hz; null where there is none to be seen."""

    temperature_k: float | None = None
    hz: float | None = None


class SoakResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a soak went.

    Args:
        ended: `levelled`, `limit`, or `nothing to see` where neither temperature nor clock nor a time of the load was there to follow.
        because: one sentence.
        seconds: of load.
        temperature_k, hz, load_s: (at first, at the end), null where not seen.
    """

    ended: Literal["levelled", "limit", "nothing to see"]
    because: str
    seconds: float
    temperature_k: tuple[float, float] | None = None
    hz: tuple[float, float] | None = None
    load_s: tuple[float, float] | None = None


def read_heat(root: Path = Path("/")) -> Heat:
    """The hottest sensor of thermal zones and hwmon, and the clock where cpufreq tells it."""
    found = []
    for pattern in ("sys/class/thermal/thermal_zone[0-9]*/temp", "sys/class/hwmon/hwmon[0-9]*/temp[0-9]*_input"):
        for file in root.glob(pattern):
            value = number(read(root, str(file.relative_to(root))))  # thousandths of a degree Celsius
            if value is not None and 0 < value < 150_000:
                found.append(value / 1e3 + _ZERO_CELSIUS_K)
    # Without cpufreq there is only the nominal clock, which never moves.
    followed = any((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
    return Heat(temperature_k=max(found, default=None), hz=read_clock(root).hz if followed else None)


def soak(
    load: Callable[[], float],
    *,
    read: Callable[[], Heat] = read_heat,
    report: Callable[[str, float | None], None] | None = None,
    least_s: float = _LEAST_S,
    limit_s: float = _LIMIT_S,
    block_s: float = _BLOCK_S,
    clock: Callable[[], float] = time.monotonic,
) -> SoakResult:
    """Load until everything that can be seen has levelled off.

    Args:
        load: makes one round of load and returns the seconds that a call took in it; what it raises is passed on.
        read: how warm and fast the machine is.
        report: told a label and the part of the limit that has passed.
        least_s, limit_s: shortest and longest soak, in seconds.
        block_s: seconds that one point of a series stands for.
        clock: monotonic seconds.

    Raises:
        UsageError: a limit that is not above zero.
    """
    if not 0 < limit_s < math.inf:
        raise UsageError("a limit of the soak above 0 s", found=repr(limit_s), remedy="give for example 300 s")
    series, begun = _Series(), clock()
    least_s = min(least_s, limit_s)
    while True:
        series.add(_block(load, block_s, clock), read())
        passed = clock() - begun
        if report is not None:
            report(series.label(), min(1.0, passed / limit_s))
        if not series.followed() and passed >= least_s:
            return series.result("nothing to see", "neither temperature nor clock nor the time of the load can be seen here", passed)
        moving = series.moving()
        if passed >= least_s and not moving:
            return series.result("levelled", f"{_listed(series.followed())} levelled off{series.blind()}", passed)
        if passed >= limit_s:
            return series.result("limit", f"after {format_quantity(limit_s, 's')} {_listed(moving)} still moved", passed)


def _block(load: Callable[[], float], block_s: float, clock: Callable[[], float]) -> float:
    """Load for a block; the median time of a call in it."""
    times, until = [load()], clock() + block_s
    while clock() < until:
        times.append(load())
    return float(np.median(times))


class _Series:
    """What has been seen, block by block."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {"temperature": [], "clock": [], "time": []}

    def add(self, load_s: float, heat: Heat) -> None:
        for name, value in (("temperature", heat.temperature_k), ("clock", heat.hz), ("time", load_s)):
            if value is not None and math.isfinite(value) and value > 0:
                self._values[name].append(value)

    def followed(self) -> list[str]:
        return [name for name, values in self._values.items() if values]

    def moving(self) -> list[str]:
        """What has not levelled off yet."""
        found = []
        for name in self.followed():
            values = self._values[name]
            tolerance = _KELVIN if name == "temperature" else _PART * float(np.median(values))
            if not has_levelled(values, tolerance):
                found.append(name)
        return found

    def blind(self) -> str:
        missing = [name for name in ("temperature", "clock") if not self._values[name]]
        return f"; {_listed(missing)} cannot be seen here" if missing else ""

    def label(self) -> str:
        temperatures = self._values["temperature"]
        return f"soaking, {temperatures[-1] - _ZERO_CELSIUS_K:.0f} °C" if temperatures else "soaking"

    def result(self, ended: Literal["levelled", "limit", "nothing to see"], because: str, seconds: float) -> SoakResult:
        ends = {name: (values[0], values[-1]) if values else None for name, values in self._values.items()}
        return SoakResult(ended=ended, because=because, seconds=seconds, temperature_k=ends["temperature"], hz=ends["clock"], load_s=ends["time"])


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
