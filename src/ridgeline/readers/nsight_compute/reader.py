"""`NsightCompute`: the CSV of `ncu --csv` to a `KernelTable`.

This module decides which numbers of a launch are kept and what is said beside them. Kernels are run again and again, each alone, until all counters
are taken: so there is never a timeline, and no share of the program. Values above their ceiling are told, not clamped.
Source: Nsight Compute CLI 2019.5 to 2026.2, as files show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ridgeline.core import Caution, Excluded, KernelCounts, KernelTable, Profile
from ridgeline.readers.delimited import RowReader
from ridgeline.readers.source import Source
from ridgeline.readers.written_numbers import Deciding, Decimal, number

from .figures import SHARES, figures
from .pages import Launch, Pages, gather, header_of
from .scales import counted, scale

__all__ = ["NsightCompute"]

_DURATIONS = (("gpu__time_duration.sum", "s"), ("gpu__time_duration.avg", "s"), ("Duration", "s"), ("gpu__time_duration_measured_user.sum", "s"))
_NONE = frozenset({"", "n/a", "(!) n/a", "nan", "-nan", "inf", "-inf", "none", "(!) nan"})
_NOT_AVAILABLE = "metrics that the tool gives no number for (n/a)"
_UNKNOWN_UNIT = "unknown-unit"
#: Texts of launches that are kept as facts: this many, so long at the most.
_FACTS, _FACT_LENGTH = 40, 200


class NsightCompute:
    """Counters of kernels from `ncu --csv`, pages raw, details and summary."""

    format = "nsight-compute"
    title = "Nsight Compute CSV (ncu --csv)"

    def recognises(self, source: Source) -> int:
        """By a header with Kernel Name and metrics, or by what the profiler prints before it."""
        head = source.head_text
        if "Kernel Name" in head and any(map(header_of, head.split("\n"))):
            return 95
        # The program may print more than the head before the table.
        return 40 if "==PROF==" in head else 0

    def read(self, source: Source) -> Profile:
        """The launches with their metrics; raises `ReadError` where there is no table, no number, or numbers that can be read in two ways."""
        reader = RowReader(source)
        pages = gather(source, reader)
        decimal = _decimal(source, pages)
        values = _Values(pages, decimal)
        kernels = tuple(values.kernel(launch, place) for place, launch in enumerate(pages.launches))
        if not any(kernel.raw for kernel in kernels):
            raise source.damaged("launches with metrics", f"{len(kernels)} launches and no number", "collect metrics: ncu --set full, or --metrics")
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="Nsight Compute",
            kernels=KernelTable(kernels=kernels, units=values.units, replayed=True, instrument="Nsight Compute"),
            facts=values.facts,
            excluded=tuple(Excluded(reason=reason, events=count, first=f"line {line}") for reason, (count, line) in sorted(pages.left_out.items())),
            warnings=(*_cautions(pages, kernels, values), *reader.warnings),
        )


def _decimal(source: Source, pages: Pages) -> Decimal:
    deciding = Deciding()
    for launch in pages.launches:
        for (metric, unit), text in launch.texts.items():
            deciding.hear(_head(text.value), f"line {text.line}", counts=not pages.summed and counted(metric, unit))
    decimal = deciding.decimal()
    if decimal is None:
        raise source.damaged("numbers that can be read in one way only", deciding.why(), "write it again with LC_ALL=C, or collect one more metric")
    return decimal


class _Values:
    """Texts of launches to numbers in base units."""

    def __init__(self, pages: Pages, decimal: Decimal) -> None:
        self._pages = pages
        self._decimal: Decimal = decimal
        self._plain = _in_one_unit(pages.launches)
        self.units: dict[str, str] = {}
        self.facts: dict[str, str] = {}
        self.odd_units: dict[str, str] = {}

    def kernel(self, launch: Launch, place: int) -> KernelCounts:
        """One launch."""
        metrics: dict[tuple[str, str], float] = {}
        raw: dict[str, float] = {}
        for (metric, written), text in launch.texts.items():
            value = number(_head(text.value), self._decimal)
            if value is None:
                self._no_number(metric, text.value, text.line)
                continue
            factor, unit = self._scale(metric, written)
            name = metric if metric in self._plain else f"{metric} [{unit}]"
            raw[name] = metrics[metric, unit] = _scaled(value, factor)
            self.units[name] = unit
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
            grid=_dimensions(identity.get("Grid Size", "")),
            block=_dimensions(identity.get("Block Size", "")),
            raw=raw,
            figures=figures(metrics, duration_s),
        )

    def _scale(self, metric: str, written: str) -> tuple[float, str]:
        if not written and ("pct_of_peak" in metric or (self._pages.without_units and metric.endswith((".pct", "_pct")))):
            return 0.01, "1"
        found = scale(written)
        if found is None:
            self.odd_units.setdefault(written, metric)
            return 1.0, written
        # Without a row of units nobody knows whether a duration is in nanoseconds or seconds.
        return (1.0, "") if self._pages.without_units and not metric.endswith(".ratio") and not counted(metric, "inst") else found

    def _duration(self, metrics: dict[tuple[str, str], float], launch: Launch) -> float | None:
        value = next((metrics[source] for source in _DURATIONS if source in metrics), None)
        if value is None or value > 0.0:
            return value
        self._pages.leave_out("durations of kernels that are zero or negative", next(iter(launch.texts.values())).line)
        return None

    def _no_number(self, metric: str, text: str, line: int) -> None:
        if text.strip().lower() in _NONE or any(sign.isdecimal() for sign in text[:1]):
            self._pages.leave_out(_NOT_AVAILABLE, line)
        else:
            self._fact(metric, text)

    def _fact(self, name: str, text: str) -> None:
        if text and len(text) <= _FACT_LENGTH and len(self.facts) < _FACTS:
            self.facts.setdefault(name, text)


def _in_one_unit(launches: Iterable[Launch]) -> set[str]:
    """Metrics that a file gives in one kind of unit: the details page has a Memory Throughput in % and another in bytes per second."""
    kinds: dict[str, set[str]] = {}
    for launch in launches:
        for metric, written in launch.texts:
            found = scale(written)
            kinds.setdefault(metric, set()).add(found[1] if found else written)
    return {metric for metric, units in kinds.items() if len(units) == 1}


def _head(text: str) -> str:
    """The value of a metric with instances, which stand behind it in brackets: `12 (3; 4; 5)`."""
    return text.partition(" (")[0] if text.endswith(")") else text


def _scaled(value: float, factor: float) -> float:
    # Divided by a whole number the nearest float results; 9,589,248 × 1e-9 would be its neighbour.
    return value / round(1.0 / factor) if 0.0 < factor < 1.0 else value * factor


def _whole(text: str, otherwise: int | None) -> int | None:
    digits = re.sub(r"[,.\s'’]", "", text)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 15 else otherwise


def _dimensions(text: str) -> tuple[int, ...]:
    """`(32, 32, 1)` as numbers; empty for anything else."""
    parts = text.strip().removeprefix("(").removesuffix(")").split(",")
    numbers = [_whole(part, None) for part in parts]
    return tuple(each for each in numbers if each is not None) if text and None not in numbers and len(parts) <= 3 else ()


def _cautions(pages: Pages, kernels: tuple[KernelCounts, ...], values: _Values) -> Iterable[Caution]:
    above = [(figure, value, kernel) for kernel in kernels for figure, value in kernel.figures.items() if figure in SHARES and value > 1.0]
    if above:
        figure, value, kernel = max(above, key=lambda each: each[1])
        yield Caution(
            code="above-ceiling",
            message=f"{len(above)} share{'s' * (len(above) > 1)} above 1, the largest {figure} = {value:.4f} of {kernel.name[:80]}",
            effect="counters of several passes, or a clock above the one of the ceiling: such a share says full, and no more",
        )
    if pages.without_units:
        yield Caution(
            code="no-units",
            message="the raw page has no row of units",
            effect="only ratios, shares and counts become figures; no durations, no rates",
        )
    if values.odd_units:
        unit, metric = next(iter(values.odd_units.items()))
        yield Caution(
            code=_UNKNOWN_UNIT,
            message=f"{len(values.odd_units)} units are not known, such as {unit[:40]!r} of {metric[:80]}",
            effect="their metrics are kept as the file has them",
        )
    if pages.summed:
        yield Caution(code="averaged", message="a summary: metrics are means over launches", effect="launches that differ cannot be told apart")
    yield Caution(
        code="replayed",
        message="kernels were run alone, and again for each group of counters",
        effect="times are those of a kernel alone: no timeline, no gaps, and no share of the program follow from them",
    )
