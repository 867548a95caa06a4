"""BenchmarkDotNet's JSON exporters: full (every measurement) and brief (statistics only).

This module decides which measurements count: workload, stage result, nanoseconds ÷ operations; a launch is a process. A benchmark without
statistics failed. Bytes allocated an operation, where the memory diagnoser ran, are a metric of their own.
Source: BenchmarkDotNet 0.12.1, a full report it wrote; its documentation of exporters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ridgeline.core import SeriesSet

from .content import Content, decode_as, entries_of, object_of, text_of
from .gathering import Gathering
from .scales import BYTE, NANOSECOND, finite

__all__ = ["BenchmarkDotNet"]

_Number = float | str | None
_HOST = {
    "machine.cpu": "ProcessorName",
    "machine.cores": "LogicalCoreCount",
    "machine.architecture": "Architecture",
    "kernel": "OsVersion",
    "runtime": "RuntimeVersion",
    "runtime.sdk": "DotNetCliVersion",
    "build": "Configuration",
    "tool.version": "BenchmarkDotNetVersion",
}
_STATISTICS = {"Mean": "mean", "Median": "median", "StandardDeviation": "stddev", "Min": "min", "Max": "max", "Q1": "q1", "Q3": "q3", "N": "n"}
_TITLED = re.compile(r"-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$")


class _Measurement(msgspec.Struct, rename="pascal"):
    iteration_mode: str = ""
    iteration_stage: str = ""
    launch_index: int = 0
    operations: _Number = None
    nanoseconds: _Number = None


class _Benchmark(msgspec.Struct, rename="pascal"):
    full_name: str = ""
    display_info: str = ""
    type: str = ""
    method: str = ""
    parameters: str | None = None
    statistics: dict[str, Any] | None = None
    measurements: list[_Measurement] | None = None
    memory: dict[str, Any] | None = None


class BenchmarkDotNet:
    """Reads `BenchmarkDotNet.Artifacts/results/*-report-full.json` and its brief kin."""

    tool = "benchmarkdotnet"

    def sniff(self, content: Content) -> bool:
        """Its host information beside benchmarks."""
        return {"HostEnvironmentInfo", "Benchmarks"} <= content.fields.keys()

    def read(self, content: Content) -> SeriesSet:
        """Time, and allocated bytes, of each benchmark."""
        gathering = Gathering(content, self.tool)
        host = object_of(content.fields["HostEnvironmentInfo"])
        if host.get("HasAttachedDebugger") is True:
            gathering.caution("debugger", "a debugger was attached", "times are not those of the program alone")
        keys = {key: host.get(field) for key, field in _HOST.items()}
        at = _at(text_of(content.fields.get("Title")))
        for index, raw in enumerate(entries_of(content.fields["Benchmarks"])):
            benchmark = decode_as(raw, _Benchmark)
            if isinstance(benchmark, str):
                gathering.leave_out("not a benchmark as BenchmarkDotNet writes it", f"number {index}: {benchmark}")
            else:
                _benchmark(gathering, benchmark, keys, at)
        return gathering.finish()


def _benchmark(gathering: Gathering, benchmark: _Benchmark, host: Mapping[str, object], at: str) -> None:
    name = benchmark.full_name or f"{benchmark.type}.{benchmark.method}({benchmark.parameters or ''})"
    if benchmark.statistics is None:
        gathering.leave_out("failed: no statistics", name)
        return
    keys = {**host, "job": benchmark.display_info.rpartition(": ")[2], "workload.parameters": benchmark.parameters}
    aggregates = {own: benchmark.statistics.get(field) for field, own in _STATISTICS.items()}
    results = [entry for entry in benchmark.measurements or [] if _is_result(entry)]
    if results:
        values: list[Any] = [_each(entry) for entry in results]
        process: list[int] | None = [entry.launch_index for entry in results]
    else:
        original = benchmark.statistics.get("OriginalValues")
        values, process = (original if isinstance(original, list) else []), None
    gathering.add(name, "time", NANOSECOND, values, process=process, aggregates=aggregates, keys=keys, at=at)
    allocated = (benchmark.memory or {}).get("BytesAllocatedPerOperation")
    if allocated is not None:
        gathering.add(name, "allocated", BYTE, [allocated], keys=keys, at=at, zero=True)


def _is_result(entry: _Measurement) -> bool:
    return entry.iteration_mode == "Workload" and entry.iteration_stage == "Result"


def _each(entry: _Measurement) -> float | None:
    time, count = finite(entry.nanoseconds), finite(entry.operations)
    return time / count if time is not None and count else None


def _at(title: str) -> str:
    match = _TITLED.search(title)
    return "" if match is None else "{}-{}-{}T{}:{}:{}".format(*match.groups())
