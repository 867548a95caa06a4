"""`Series`: the values of one benchmark, process by process, as every comparison reads them, whoever measured them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from .column import Column
from .core_to_core import CoreToCore
from .errors import UsageError
from .facts import Caution

__all__ = ["Better", "LeftOut", "Series", "SeriesSet"]

Better = Literal["lower", "higher"]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of a file that are in no series: why, how many, and the name of the first."""

    reason: str
    count: int
    first: str = ""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one benchmark.

    Args:
        name: of the benchmark, the same in every file of its tool.
        metric: what a value is: `latency` of one call, `batched` seconds a call among many, or the tool's own word (`real_time`, `throughput`).
        unit: of the values, one of `core.units.BASE_UNITS`.
        better: whether lower or higher values are better, as the file or the metric says.
        values: shape (n,), in the order in which they were taken; empty where the file holds aggregates only.
        process: which process took each value, shape (n,), in the order of the processes.
        processes_known: whether the processes were told apart; otherwise `process` is 0 throughout, and what differs from process to process is
            not in the values.
        aggregates: statistic (`mean`, `median`, `stddev`, `p99`, …) → value, where a file says so itself.
        keys: what makes results comparable or not: key → value as text (see `diagnosis.comparison.keys`).
        left_out: entries of the file that are not among the values.
        cautions: what its reader must know.
        sentinel_s: seconds of a short loop beside each value, which takes longer while another program uses the core, shape (n,); null without.
        core_to_core: how far apart the cores were meanwhile; null where nobody looked.
        side_by_side: whether several threads worked at once, so that this matters.
        at: ISO 8601 time at which it was measured, empty if not known.
    """

    name: str
    metric: str = "latency"
    unit: str = "s"
    better: Better = "lower"
    values: Column
    process: Column
    processes_known: bool = True
    aggregates: dict[str, float] = {}
    keys: dict[str, str] = {}
    left_out: tuple[LeftOut, ...] = ()
    cautions: tuple[Caution, ...] = ()
    sentinel_s: Column | None = None
    core_to_core: CoreToCore | None = None
    side_by_side: bool = False
    at: str = ""

    def __post_init__(self) -> None:
        if len(self.values) != len(self.process):
            found = f"{len(self.values)} values and {len(self.process)} process numbers"
            raise UsageError("a Series with a process for each value", found=found, remedy="give both columns in one length")
        if self.values.unit != self.unit:
            raise UsageError(f"Series.values in {self.unit!r}", found=self.values.unit, remedy="convert them")

    def by_process(self) -> tuple[NDArray[Any], ...]:
        """The values of each process, in the order of the processes."""
        values, process = self.values.values, self.process.values
        if len(values) == 0:
            return ()
        order = np.argsort(process, kind="stable")
        edges = np.flatnonzero(np.diff(process[order])) + 1
        return tuple(np.split(values[order], edges))


class SeriesSet(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.series/1"):
    """What one result file or run holds.

    Args:
        source: path of the file, or id of the run.
        tool: which tool wrote it, such as `pyperf`; `ridgeline` for a run.
        series: one for each benchmark and metric.
        left_out: entries that became no series.
        cautions: about the whole.
    """

    source: str
    tool: str
    series: tuple[Series, ...]
    left_out: tuple[LeftOut, ...] = ()
    cautions: tuple[Caution, ...] = ()
