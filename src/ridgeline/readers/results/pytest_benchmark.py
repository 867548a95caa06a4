"""pytest-benchmark's JSON: `--benchmark-json`, `--benchmark-save`, with the data of every round or with statistics only.

This module decides what is a value: the time of one round ÷ its iterations, in seconds, as the plugin stores it; all rounds are of one process.
A test that failed after its benchmark stands in the file like any other: the format does not tell.
Source: pytest-benchmark 5.3, files it wrote, and one of 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ridgeline.core import SeriesSet

from .content import Content, decode_as, entries_of, fields_of, object_of, text_of
from .gathering import Gathering
from .scales import SECOND

__all__ = ["PytestBenchmark"]

_Number = float | str | None


class _Stats(msgspec.Struct):
    data: list[_Number] = []
    rounds: _Number = None
    iterations: _Number = None
    mean: _Number = None
    stddev: _Number = None
    median: _Number = None
    min: _Number = None
    max: _Number = None
    q1: _Number = None
    q3: _Number = None


class _Benchmark(msgspec.Struct):
    name: str
    stats: _Stats
    fullname: str = ""
    group: str | None = None
    params: dict[str, Any] | None = None
    options: dict[str, Any] = {}


class PytestBenchmark:
    """Reads what `pytest --benchmark-json=FILE` writes."""

    tool = "pytest-benchmark"

    def sniff(self, content: Content) -> bool:
        """Machine information beside benchmarks."""
        return {"machine_info", "benchmarks"} <= content.fields.keys()

    def read(self, content: Content) -> SeriesSet:
        """One series a benchmark."""
        gathering = Gathering(content, self.tool)
        keys = _machine(content)
        at = text_of(content.fields.get("datetime"))
        for index, raw in enumerate(entries_of(content.fields["benchmarks"])):
            benchmark = decode_as(raw, _Benchmark)
            if isinstance(benchmark, str):
                gathering.leave_out("not a benchmark as pytest-benchmark writes it", f"number {index}: {benchmark}")
            else:
                _benchmark(gathering, benchmark, keys, at)
        return gathering.finish()


def _machine(content: Content) -> dict[str, object]:
    info = object_of(content.fields["machine_info"])
    found = info.get("cpu")
    cpu: Mapping[str, Any] = found if isinstance(found, dict) else {}
    commit = text_of(fields_of(content.fields.get("commit_info")).get("id"))
    return {
        "machine.cpu": cpu.get("brand_raw") or cpu.get("brand"),
        "machine.cores": cpu.get("count"),
        "machine.architecture": info.get("machine"),
        "machine.host": info.get("node"),
        "kernel": " ".join(str(info[name]) for name in ("system", "release") if info.get(name)),
        "python": info.get("python_version"),
        "python.implementation": info.get("python_implementation"),
        "python.compiler": info.get("python_compiler"),
        "commit": None if commit == "unversioned" else commit,
        "tool.version": text_of(content.fields.get("version")),
    }


def _benchmark(gathering: Gathering, benchmark: _Benchmark, machine: Mapping[str, object], at: str) -> None:
    stats = benchmark.stats
    keys: dict[str, object] = {**machine, "group": benchmark.group}
    keys |= {f"workload.{name}": value for name, value in (benchmark.params or {}).items()}
    keys |= {f"options.{name}": benchmark.options.get(name) for name in ("disable_gc", "timer")}
    aggregates = {name: getattr(stats, name) for name in ("mean", "stddev", "median", "min", "max", "q1", "q3")}
    gathering.add(benchmark.fullname or benchmark.name, "time", SECOND, stats.data, aggregates={**aggregates, "n": stats.rounds}, keys=keys, at=at)
