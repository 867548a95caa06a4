"""k6: the summary (`--summary-export`, or the data of `handleSummary`) and the points of `--out json`, one JSON object a line.

This module decides which metrics are results: trends that contain time, in milliseconds as k6 writes them; the rates of requests and iterations;
the shares of failed requests and of checks that held. A trend that does not say that it contains time is left out, but for k6's own ones, whose
meaning its documentation fixes. Points of requests whose response was not expected are counted and left out. A run is one process.
Source: the documentation of k6 (metrics, JSON output, end-of-test summary); unverified: no k6 was at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from ridgeline.core import LeftOut, SeriesSet

from .content import Content, fields_of, object_of
from .gathering import Gathering
from .scales import COUNT_RATE, MILLISECOND, NUMBER, finite

__all__ = ["K6"]

#: One name for whatever the script does: the file does not name it.
_NAME = "all"
_OWN_TIMES = (
    "http_req_",
    "iteration_duration",
    "group_duration",
    "ws_connecting",
    "ws_session_duration",
    "grpc_req_duration",
    "browser_http_req_duration",
)
_RATES = ("http_reqs", "iterations")
_SHARES: Mapping[str, tuple[str, Any]] = {"http_req_failed": ("failed_share", "lower"), "checks": ("checks_share", "higher")}
_STATISTICS = {"avg": "mean", "med": "median", "min": "min", "max": "max", "count": "n"}
_LOAD = "describes the load, or does not say whether more is better"


class _Data(msgspec.Struct):
    type: str = ""
    contains: str = ""
    time: str = ""
    value: float | str | None = None
    tags: dict[str, str] | None = None


class _Line(msgspec.Struct):
    type: str
    metric: str
    data: _Data


class K6:
    """Reads what `k6 run --summary-export FILE` and `--out json=FILE` write."""

    tool = "k6"

    def sniff(self, content: Content) -> bool:
        """Metrics by name of which k6 always has some, or lines with a metric and data."""
        if content.lines_fields:
            return {"type", "metric", "data"} <= content.lines_fields.keys()
        metrics = fields_of(content.fields.get("metrics"))
        return bool(metrics.keys() & {"iterations", "iteration_duration", "http_reqs", "http_req_duration", "vus"})

    def read(self, content: Content) -> SeriesSet:
        """One series a metric."""
        gathering = Gathering(content, self.tool)
        if content.lines_fields:
            _points(gathering, content)
        else:
            for name, raw in fields_of(content.fields["metrics"]).items():
                _metric(gathering, name, object_of(raw))
        return gathering.finish()


def _metric(gathering: Gathering, name: str, found: Mapping[str, Any]) -> None:
    nested = found.get("values")
    values: Mapping[str, Any] = nested if isinstance(nested, dict) else found
    _thresholds(gathering, name, found.get("thresholds"))
    if name in _SHARES:
        metric, better = _SHARES[name]
        share = finite(values.get("rate", values.get("value")))
        gathering.add(_NAME, metric, NUMBER, [share], better=better, zero=True)
    elif name in _RATES:
        gathering.add(_NAME, name, COUNT_RATE, [values.get("rate")], better="higher")
    elif "med" in values and _is_time(name, found.get("contains")):
        statistics: dict[str, object] = {word: values.get(key) for key, word in _STATISTICS.items()}
        statistics |= {f"p{key[2:-1]}": value for key, value in values.items() if key.startswith("p(") and key.endswith(")")}
        # Of a phase that most requests skip, such as connecting, the median is truly 0.
        gathering.add(_NAME, name, MILLISECOND, aggregates=statistics, zero=not name.startswith(("http_req_duration", "iteration_duration")))
    else:
        gathering.leave_out(_LOAD, name)


def _is_time(name: str, contains: object) -> bool:
    return contains == "time" if isinstance(contains, str) and contains else name.startswith(_OWN_TIMES)


def _thresholds(gathering: Gathering, name: str, found: object) -> None:
    """Thresholds that were crossed; the old export says whether each failed, the new one whether it is fine."""
    for rule, state in (found if isinstance(found, dict) else {}).items():
        failed = state is True or (isinstance(state, dict) and state.get("ok") is False)
        if failed:
            gathering.caution("threshold-crossed", f"{name}: {rule} did not hold", "k6 itself called this run failed")


class _Trend:
    def __init__(self) -> None:
        self.values: list[float | str | None] = []
        self.unexpected = 0
        self.first = self.last = ""


def _points(gathering: Gathering, content: Content) -> None:
    decoder = msgspec.json.Decoder(_Line)
    declared: dict[str, tuple[str, str]] = {}
    trends: dict[str, _Trend] = {}
    for number, line in enumerate(content.lines(), 1):
        try:
            entry = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            gathering.leave_out("a line that is damaged or cut short", f"line {number}")
            continue
        if entry.type == "Metric":
            declared[entry.metric] = (entry.data.type, entry.data.contains)
        elif entry.type == "Point":
            _point(trends.setdefault(entry.metric, _Trend()), entry.data)
    for metric, trend in trends.items():
        _trend(gathering, metric, trend, *declared.get(metric, ("", "")))


def _point(trend: _Trend, data: _Data) -> None:
    trend.first = trend.first or data.time
    trend.last = data.time or trend.last
    if (data.tags or {}).get("expected_response") == "false":
        trend.unexpected += 1
    else:
        trend.values.append(data.value)


def _trend(gathering: Gathering, metric: str, trend: _Trend, kind: str, contains: str) -> None:
    everything = len(trend.values) + trend.unexpected
    if metric in _RATES:
        seconds = _seconds(trend.first, trend.last)
        gathering.add(_NAME, metric, COUNT_RATE, [everything / seconds if seconds else None], better="higher", at=trend.first)
    elif metric == "http_req_failed":
        # Its points are 1 for a failed request, and the failed ones are just those that are tagged as not expected.
        ones = sum(finite(value) == 1.0 for value in trend.values) + trend.unexpected
        gathering.add(_NAME, "failed_share", NUMBER, [ones / everything], zero=True, at=trend.first)
    elif kind in ("trend", "") and _is_time(metric, contains):
        failed = [LeftOut(reason="response not expected", count=trend.unexpected, first=metric)] if trend.unexpected else []
        whole = metric.startswith(("http_req_duration", "iteration_duration"))
        gathering.add(_NAME, metric, MILLISECOND, trend.values, zero=not whole, at=trend.first, failed=failed)
    else:
        gathering.leave_out(_LOAD, metric)


def _seconds(first: str, last: str) -> float | None:
    try:
        return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
    except (ValueError, TypeError):
        return None
