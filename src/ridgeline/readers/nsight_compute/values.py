"""Texts of launches to numbers in base units, and these to `KernelCounts`.

This module decides what a metric is called where a file gives two of one name, and which unit its value is in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ridgeline.core import KernelCounts
from ridgeline.readers.written_numbers import Decimal, number

from .figures import figures
from .pages import Key, Launch, Pages, head
from .scales import counted, scale

__all__ = ["Values"]

_DURATIONS = (("gpu__time_duration.sum", "s"), ("gpu__time_duration.avg", "s"), ("Duration", "s"), ("gpu__time_duration_measured_user.sum", "s"))
#: Texts of launches that are kept as facts: this many, so long at the most.
_FACTS, _FACT_LENGTH = 40, 200


class Values:
    """The launches of a file in numbers.

    Attributes:
        units: metric → base unit; facts: texts of metrics and of the run; odd_units: unit that is not known → a metric that has it.
    """

    def __init__(self, pages: Pages, decimal: Decimal) -> None:
        self._pages = pages
        self._decimal: Decimal = decimal
        self._plain = _in_one_unit(pages.launches)
        self._known: dict[Key, tuple[str, Key, float]] = {}
        self.units: dict[str, str] = {}
        self.facts: dict[str, str] = {}
        self.odd_units: dict[str, str] = {}

    def kernel(self, launch: Launch, place: int) -> KernelCounts:
        """One launch; its texts are given up."""
        metrics: dict[Key, float] = {}
        raw: dict[str, float] = {}
        for key, text in launch.texts.items():
            value = number(head(text), self._decimal)
            if value is None:
                self._no_number(key[0], text, launch.line)
                continue
            name, in_base, factor = self._known.get(key) or self._learn(key)
            # Divided by a whole number the nearest float results; 9,589,248 × 1e-9 would be its neighbour.
            raw[name] = metrics[in_base] = value * factor if factor >= 1.0 else value / round(1.0 / factor)
        launch.texts.clear()
        identity = launch.identity
        self._fact("compute capability", identity.get("CC", ""))
        self._fact("process", identity.get("Process Name", ""))
        duration_s = self._duration(metrics, launch)
        return KernelCounts(
            name=identity.get("Kernel Name", ""),
            index=_whole(identity.get("ID", ""), place if "ID" not in identity else None),
            launches=_whole(identity.get("Invocations", ""), 1) or 1,
            duration_s=duration_s,
            device=f"GPU {identity['Device']}" if identity.get("Device", "").isdecimal() else identity.get("Device", ""),
            stream=identity.get("Stream", ""),
            grid=_dimensions(identity.get("Grid Size", "")) or _counted(metrics, "grid"),
            block=_dimensions(identity.get("Block Size", "")) or _counted(metrics, "block"),
            raw=raw,
            figures=figures(metrics, duration_s),
        )

    def _learn(self, key: Key) -> tuple[str, Key, float]:
        """What a metric is called, its key in its base unit, and the factor to that."""
        metric, written = key
        factor, unit = self._scale(metric, written)
        name = metric if metric in self._plain else f"{metric} [{unit}]"
        self.units[name] = unit
        self._known[key] = name, (metric, unit), factor
        return self._known[key]

    def _scale(self, metric: str, written: str) -> tuple[float, str]:
        if not written and ("pct_of_peak" in metric or (self._pages.without_units and metric.endswith((".pct", "_pct")))):
            return 0.01, "1"
        found = scale(written)
        if found is None:
            self.odd_units.setdefault(written, metric)
            return 1.0, written
        # Without a row of units nobody knows whether a duration is in nanoseconds or seconds.
        return (1.0, "") if self._pages.without_units and not metric.endswith(".ratio") and not counted(metric, "inst") else found

    def _duration(self, metrics: dict[Key, float], launch: Launch) -> float | None:
        value = next((metrics[source] for source in _DURATIONS if source in metrics), None)
        if value is None or value > 0.0:
            return value
        self._pages.leave_out("durations of kernels that are zero or negative", launch.line)
        return None

    def _no_number(self, metric: str, text: str, line: int) -> None:
        if text[:1].isdecimal():
            self._pages.leave_out("metrics whose value is no number", line)
        else:
            self._fact(metric, text)

    def _fact(self, name: str, text: str) -> None:
        if text and len(text) <= _FACT_LENGTH and len(self.facts) < _FACTS:
            self.facts.setdefault(name, text)


def _counted(metrics: dict[Key, float], what: str) -> tuple[int, ...]:
    """Blocks of a grid or threads of a block, where no column has their dimensions, as older versions write them."""
    names = (f"launch__{what}_size", f"{what.title()} Size")
    value = next((metrics[name, "1"] for name in names if (name, "1") in metrics), None)
    return (int(value),) if value is not None and 1 <= value < 2**53 else ()


def _in_one_unit(launches: Iterable[Launch]) -> set[str]:
    """Metrics that a file gives in one kind of unit: the details page has a Memory Throughput in % and another in bytes per second."""
    kinds: dict[str, set[str]] = {}
    for launch in launches:
        for metric, written in launch.texts:
            found = scale(written)
            kinds.setdefault(metric, set()).add(found[1] if found else written)
    return {metric for metric, units in kinds.items() if len(units) == 1}


def _whole(text: str, otherwise: int | None) -> int | None:
    digits = re.sub(r"[,.\s'’]", "", text)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 15 else otherwise


def _dimensions(text: str) -> tuple[int, ...]:
    """`(32, 32, 1)` as numbers; empty for anything else."""
    parts = text.strip().removeprefix("(").removesuffix(")").split(",")
    numbers = [_whole(part, None) for part in parts]
    return tuple(each for each in numbers if each is not None) if text and None not in numbers and len(parts) <= 3 else ()
