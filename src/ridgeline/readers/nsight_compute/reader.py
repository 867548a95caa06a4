"""`NsightCompute`: the CSV of `ncu --csv` to a `KernelTable`.

This module decides what is said beside the numbers. Kernels are run again and again, each alone, until all counters
are taken: so there is never a timeline, and no share of the program. Values above their ceiling are told, not clamped.
Source: Nsight Compute CLI 2019.5 to 2026.2, as files show it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ridgeline.core import Caution, Excluded, KernelCounts, KernelTable, Profile
from ridgeline.readers.delimited import RowReader
from ridgeline.readers.source import Source
from ridgeline.readers.written_numbers import Decimal

from .figures import SHARES
from .pages import Pages, gather, header_of
from .values import Values

__all__ = ["NsightCompute"]

_UNKNOWN_UNIT = "unknown-unit"


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
        values = Values(pages, decimal)
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
    decimal = pages.deciding.decimal()
    if decimal is None:
        raise source.damaged(
            "numbers that can be read in one way only", pages.deciding.why(), "write it again with LC_ALL=C, or collect one more metric"
        )
    return decimal


def _cautions(pages: Pages, kernels: tuple[KernelCounts, ...], values: Values) -> Iterable[Caution]:
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
