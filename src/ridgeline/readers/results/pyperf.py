"""pyperf's suites: JSON of format 1.0, one run a process, packed with gzip or not.

This module decides which runs count: those with values; calibration runs have warm-ups only, and warm-ups are no values. Values in the file are
already divided by loops × inner loops. Metadata is inherited: suite, benchmark, run, the nearest wins. pyperf itself calls less faster for every
unit it has (second, byte, integer), and takes `second` where none is given.
Source: pyperf 2.11, "pyperf JSON format" in its documentation, and files it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ridgeline.core import LeftOut, SeriesSet

from .content import Content, decode_as, entries_of, fields_of, object_of
from .gathering import Gathering
from .scales import BYTE, COUNT, SECOND, Scale

__all__ = ["Pyperf"]

_Value = float | str | None
_UNITS: Mapping[str, Scale] = {"second": SECOND, "byte": BYTE, "integer": COUNT}
#: One word for every unit, so that one benchmark in bytes and in seconds is a difference of units and not two benchmarks.
_METRIC = "value"
_KEYS = {
    "machine.cpu": "cpu_model_name",
    "machine.cores": "cpu_count",
    "machine.host": "hostname",
    "machine.settings": "cpu_config",
    "machine.affinity": "cpu_affinity",
    "kernel": "platform",
    "python": "python_version",
    "python.implementation": "python_implementation",
    "python.compiler": "python_compiler",
    "python.flags": "python_cflags",
    "python.gil": "python_gil",
    "aslr": "aslr",
    "timer": "timer",
    "commit": "commit_id",
    "workload.statement": "timeit_stmt",
    "workload.setup": "timeit_setup",
    "command": "command",
    "tool.version": "perf_version",
}


class _Run(msgspec.Struct):
    values: list[_Value] = []
    warmups: list[Any] = []
    metadata: dict[str, Any] = {}


class _Benchmark(msgspec.Struct):
    runs: list[msgspec.Raw]
    metadata: dict[str, Any] = {}


class Pyperf:
    """Reads what `pyperf … -o FILE` writes."""

    tool = "pyperf"

    def sniff(self, content: Content) -> bool:
        """A version beside benchmarks that have runs."""
        if not {"benchmarks", "version"} <= content.fields.keys() or "machine_info" in content.fields:
            return False
        entries = entries_of(content.fields["benchmarks"])
        return not entries or "runs" in fields_of(entries[0])

    def read(self, content: Content) -> SeriesSet:
        """One series a benchmark, each run that has values a process."""
        gathering = Gathering(content, self.tool)
        suite = object_of(content.fields.get("metadata"))
        for index, raw in enumerate(entries_of(content.fields["benchmarks"])):
            benchmark = decode_as(raw, _Benchmark)
            if isinstance(benchmark, str):
                gathering.leave_out("not a benchmark as pyperf writes it", f"number {index}: {benchmark}")
            else:
                _benchmark(gathering, benchmark, suite)
        return gathering.finish()


def _benchmark(gathering: Gathering, benchmark: _Benchmark, suite: Mapping[str, Any]) -> None:
    metadata = {**suite, **benchmark.metadata}
    values: list[_Value] = []
    process: list[int] = []
    calibrations = damaged = 0
    for index, raw in enumerate(benchmark.runs):
        run = decode_as(raw, _Run)
        if isinstance(run, str):
            damaged += 1
            continue
        if not run.values:
            calibrations += 1
            continue
        # Where a suite holds one run, pyperf keeps all its metadata with that run.
        metadata = {**run.metadata, **metadata}
        values.extend(run.values)
        process.extend([index] * len(run.values))
    name, unit = str(metadata.get("name", "")), str(metadata.get("unit", "second"))
    if unit not in _UNITS:
        gathering.leave_out(f"a unit that is not known: {unit!r}", name)
        return
    scale = _UNITS[unit]
    failed = [LeftOut(reason="calibration, without values", count=calibrations), LeftOut(reason="not a run as pyperf writes it", count=damaged)]
    keys = {key: metadata.get(field) for key, field in _KEYS.items()}
    at = str(metadata.get("date", ""))
    gathering.add(
        name or "unnamed",
        _METRIC,
        scale,
        values,
        process=process,
        keys=keys,
        at=at,
        zero=scale is not SECOND,
        failed=[entry for entry in failed if entry.count],
    )
