"""GenAI-Perf and its successor AIPerf: the summary (`profile_export_genai_perf.json`, `profile_export_aiperf.json`), the records of AIPerf, one a
line, and the raw `profile_export.json` of GenAI-Perf.

This module decides which metrics are results, by their documented names: latencies are better lower, throughputs higher; lengths and counts describe
the load. Units are those that each metric names. In the raw export times are nanoseconds: a request's latency is from its timestamp to its last
response, the time to the first token to its first, where it streamed. Records of requests that failed are counted and left out.
Source: the documentation of GenAI-Perf and AIPerf; unverified: no file that they wrote was at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ridgeline.core import LeftOut, SeriesSet
from ridgeline.core.series import Better

from .content import Content, decode_as, entries_of, fields_of, object_of
from .gathering import Gathering
from .scales import COUNT_RATE, NANOSECOND, Scale, finite, spelled

__all__ = ["GenaiPerf"]

_NAME = "profile"
_LOWER = ("request_latency", "time_to_first_token", "time_to_second_token", "inter_token_latency", "inter_chunk_latency")
_HIGHER = (
    "request_throughput",
    "request_goodput",
    "goodput",
    "output_token_throughput",
    "output_token_throughput_per_user",
    "output_token_throughput_per_request",
    "total_token_throughput",
)
_STATISTICS = {"avg": "mean", "std": "stddev", "min": "min", "max": "max", "count": "n"}
_RATE_UNITS = ("requests/sec", "requests/s", "req/s", "tokens/sec", "tokens/s", "tokens/sec/user", "tokens/s/user", "tokens/sec/request")


class _Metric(msgspec.Struct):
    unit: str
    avg: float | str | None = None


class _Value(msgspec.Struct):
    value: Any = None
    unit: str = ""


class _Record(msgspec.Struct):
    metrics: dict[str, _Value]
    error: Any = None
    metadata: dict[str, Any] = {}


class _Request(msgspec.Struct):
    timestamp: int
    response_timestamps: list[int] = []
    success: bool = True


class _Experiment(msgspec.Struct):
    requests: list[_Request]
    experiment: dict[str, Any] = {}


class GenaiPerf:
    """Reads what `genai-perf profile` and `aiperf profile` leave in their artifact directory."""

    tool = "genai-perf"

    def sniff(self, content: Content) -> bool:
        """A latency with its unit, records with metrics and an error, or experiments with requests."""
        if content.lines_fields:
            return {"metrics", "error"} <= content.lines_fields.keys()
        if "request_latency" in content.fields:
            return "unit" in fields_of(content.fields["request_latency"])
        experiments = entries_of(content.fields.get("experiments"))
        return bool(experiments) and "requests" in fields_of(experiments[0])

    def read(self, content: Content) -> SeriesSet:
        """One series a metric."""
        gathering = Gathering(content, self.tool)
        if content.lines_fields:
            _records(gathering, content)
        elif "experiments" in content.fields:
            _experiments(gathering, content)
        else:
            _summary(gathering, content)
        return gathering.finish()


def _scale(metric: str, unit: str) -> tuple[Scale, Better] | None:
    if metric in _LOWER:
        time = spelled(unit)
        return (time, "lower") if time is not None and time.unit == "s" else None
    return (COUNT_RATE, "higher") if metric in _HIGHER and unit in _RATE_UNITS else None


def _summary(gathering: Gathering, content: Content) -> None:
    keys = _input(content)
    for name, raw in content.fields.items():
        metric = decode_as(raw, _Metric)
        if isinstance(metric, str):
            continue
        known = _scale(name, metric.unit)
        if known is None:
            gathering.leave_out("describes the load, or its unit or direction is not known", name)
            continue
        stated: dict[str, object] = {}
        for key, value in object_of(raw).items():
            word = _STATISTICS.get(key, key)
            if word in _STATISTICS.values() or (key[:1] == "p" and key[1:].replace(".", "").isdigit()):
                stated[word] = value
        scale, better = known
        if better == "higher" and len(stated) == 1:
            gathering.add(_NAME, name, scale, [metric.avg], better=better, keys=keys)
        else:
            gathering.add(_NAME, name, scale, better=better, aggregates={**stated, "median": stated.get("p50")}, keys=keys)


def _input(content: Content) -> dict[str, object]:
    """What the file says of how it was asked."""
    config = object_of(content.fields.get("input_config"))
    wanted = {"workload.model": "model_names", "workload.concurrency": "concurrency", "workload.rate": "request_rate", "backend": "backend"}
    flat = _flat(config)
    return {key: flat.get(name) for key, name in wanted.items()}


def _flat(config: Mapping[str, Any], depth: int = 3) -> dict[str, object]:
    """Scalars and lists of a nested configuration by their own name, the outermost first."""
    flat: dict[str, object] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            if depth:
                flat = {**_flat(value, depth - 1), **flat}
        else:
            flat[name] = value
    return flat


def _records(gathering: Gathering, content: Content) -> None:
    values: dict[tuple[str, str], list[Any]] = {}
    failed = 0
    for number, line in enumerate(content.lines(), 1):
        record = decode_as(line, _Record)
        if isinstance(record, str):
            gathering.leave_out("a line that is damaged or cut short", f"line {number}")
        elif record.error or record.metadata.get("was_cancelled") is True:
            failed += 1
        else:
            for name, found in record.metrics.items():
                values.setdefault((name, found.unit), []).append(found.value)
    lost = [LeftOut(reason="request that failed or was cancelled", count=failed)] if failed else []
    for (name, unit), found_values in values.items():
        known = _scale(name, unit)
        if known is None:
            gathering.leave_out("describes the load, or its unit or direction is not known", name)
        else:
            gathering.add(_NAME, name, known[0], found_values, better=known[1], failed=lost, zero=name.startswith("inter_"))


def _experiments(gathering: Gathering, content: Content) -> None:
    for index, raw in enumerate(entries_of(content.fields["experiments"])):
        experiment = decode_as(raw, _Experiment)
        if isinstance(experiment, str):
            gathering.leave_out("not an experiment as GenAI-Perf writes it", f"number {index}: {experiment}")
            continue
        good = [request for request in experiment.requests if request.success and request.response_timestamps]
        lost = len(experiment.requests) - len(good)
        failed = [LeftOut(reason="request without a response", count=lost)] if lost else []
        mode, value = experiment.experiment.get("mode"), finite(experiment.experiment.get("value"))
        keys: dict[str, object] = {"workload.load": f"{mode} {value:g}" if mode and value is not None else None}
        latencies = [float(request.response_timestamps[-1] - request.timestamp) for request in good]
        gathering.add(_NAME, "request_latency", NANOSECOND, latencies, keys=keys, failed=failed)
        firsts = [float(request.response_timestamps[0] - request.timestamp) for request in good if len(request.response_timestamps) > 1]
        if firsts:
            gathering.add(_NAME, "time_to_first_token", NANOSECOND, firsts, keys=keys, failed=failed)
