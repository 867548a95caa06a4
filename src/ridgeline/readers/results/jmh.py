"""JMH's JSON (`-rf json`): forks × iterations, every mode, parameters, histograms of sampled times.

This module decides the direction from the unit of each score: time an operation (`us/op`) is better lower, operations a time (`ops/ms`) higher; a
score in any other unit (of the profilers, such as `B/op` or `MB/sec`) does not say, and is left out. A fork is a process; without forks the
processes are not known. Parameters belong to the name.
Source: JMH 1.29, files it wrote; JSONResultFormat of JMH for the histograms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import SeriesSet

from .content import Content, decode_as, fields_of
from .gathering import Gathering
from .scales import finite, per_operation

__all__ = ["Jmh"]

_Number = float | str | None
#: Histograms of more samples together are left as aggregates.
_MOST_SAMPLES = 4_000_000


class _Metric(msgspec.Struct):
    score: _Number
    scoreUnit: str
    scorePercentiles: dict[str, _Number] = {}
    rawData: list[list[_Number]] = []
    rawDataHistogram: list[list[list[tuple[float, int]]]] = []


class _Result(msgspec.Struct):
    benchmark: str
    mode: str
    primaryMetric: msgspec.Raw
    secondaryMetrics: dict[str, msgspec.Raw] = {}
    threads: int | None = None
    forks: int | None = None
    params: dict[str, str] = {}
    jdkVersion: str = ""
    vmName: str = ""
    vmVersion: str = ""
    jvmArgs: list[str] = []
    jmhVersion: str = ""
    measurementIterations: int | None = None
    measurementTime: str = ""
    measurementBatchSize: int | None = None


class Jmh:
    """Reads what JMH writes with `-rf json -rff FILE`."""

    tool = "jmh"

    def sniff(self, content: Content) -> bool:
        """An array of results with a primary metric."""
        return bool(content.elements) and {"benchmark", "mode", "primaryMetric"} <= fields_of(content.elements[0]).keys()

    def read(self, content: Content) -> SeriesSet:
        """The primary metric of each benchmark, and those secondary ones whose unit tells their direction."""
        gathering = Gathering(content, self.tool)
        for index, raw in enumerate(content.elements):
            result = decode_as(raw, _Result)
            if isinstance(result, str):
                gathering.leave_out("not a result as JMH writes it", f"number {index}: {result}")
                continue
            _metric(gathering, result, result.mode, result.primaryMetric)
            for name, secondary in result.secondaryMetrics.items():
                _metric(gathering, result, f"{result.mode} {name}", secondary)
        return gathering.finish()


def _metric(gathering: Gathering, result: _Result, label: str, raw: msgspec.Raw) -> None:
    name = result.benchmark + "".join(f":{key}={value}" for key, value in result.params.items())
    metric = decode_as(raw, _Metric)
    if isinstance(metric, str):
        gathering.leave_out("not a metric as JMH writes it", f"{name} {label}: {metric}")
        return
    known = per_operation(metric.scoreUnit)
    if known is None:
        gathering.leave_out(f"a unit that does not tell whether more is better: {metric.scoreUnit!r}", f"{name} {label}")
        return
    scale, higher = known
    values, process = _values(gathering, metric, name)
    aggregates: dict[str, object] = {f"p{_short(q)}": value for q, value in metric.scorePercentiles.items()}
    aggregates |= {"mean": metric.score, "median": metric.scorePercentiles.get("50.0")}
    forked = result.forks != 0 and len(values) > 0
    gathering.add(
        name,
        label,
        scale,
        values,
        better="higher" if higher else "lower",
        process=process if forked else None,
        aggregates=aggregates,
        keys=_keys(result),
    )


def _values(gathering: Gathering, metric: _Metric, name: str) -> tuple[list[_Number] | NDArray[np.float64], list[int]]:
    """Every iteration of every fork, or every sampled time where there are histograms."""
    if metric.rawData or not metric.rawDataHistogram:
        values = [value for fork in metric.rawData for value in fork]
        return values, [index for index, fork in enumerate(metric.rawData) for _ in fork]
    forks = [[pair for iteration in fork for pair in iteration if pair[1] > 0] for fork in metric.rawDataHistogram]
    total = sum(count for fork in forks for _, count in fork)
    if total > _MOST_SAMPLES:
        gathering.leave_out(f"a histogram of more than {_MOST_SAMPLES} samples, of which only the aggregates are kept", name)
        return [], []
    flat = [pair for fork in forks for pair in fork]
    times = np.repeat(np.array([value for value, _ in flat], np.float64), [count for _, count in flat]) if flat else np.zeros(0)
    return times, [index for index, fork in enumerate(forks) for _ in range(sum(count for _, count in fork))]


def _short(quantile: str) -> str:
    number = finite(quantile)
    return quantile if number is None else f"{number:g}"


def _keys(result: _Result) -> Mapping[str, Any]:
    return {
        **{f"workload.{key}": value for key, value in result.params.items()},
        "threads": result.threads,
        "runtime.jdk": result.jdkVersion,
        "runtime.vm": f"{result.vmName} {result.vmVersion}",
        "runtime.arguments": result.jvmArgs,
        "method.iterations": f"{result.measurementIterations} × {result.measurementTime}" if result.measurementTime else None,
        "method.batch": result.measurementBatchSize,
        "tool.version": result.jmhVersion,
    }
