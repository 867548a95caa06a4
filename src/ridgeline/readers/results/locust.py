"""Locust's tables (`--csv`: PREFIX_stats.csv and PREFIX_stats_history.csv) and its JSON (`--json`).

This module decides what they can say: response times as aggregates, in milliseconds as Locust writes them, the rate of requests and the share that
failed. Response times of failed requests are among them, which a caution says. Percentiles are rounded by Locust (to two figures). The history gives
the rate second by second while all users were there; the table of failures holds no times and is refused.
Source: Locust 2.47, files it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from ridgeline.core import ReadError, SeriesSet

from .content import Content, decode_as, fields_of
from .gathering import Gathering
from .scales import COUNT_RATE, MILLISECOND, NUMBER, finite

__all__ = ["Locust"]

_Number = float | str | None
_STATS = {"Type", "Name", "Request Count", "Failure Count", "Average Response Time", "Requests/s"}
_HISTORY = {"Timestamp", "User Count", "Name", "Requests/s", "Total Request Count"}
_FAILURES = {"Method", "Name", "Error", "Occurrences"}
_PERCENTILES = ("50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.9%", "99.99%")


class _Entry(msgspec.Struct):
    name: str
    method: str | None = None
    num_requests: int = 0
    num_failures: int = 0
    total_response_time: _Number = None
    min_response_time: _Number = None
    max_response_time: _Number = None
    start_time: float | None = None
    last_request_timestamp: float | None = None
    response_times: dict[str, int] = {}


class Locust:
    """Reads what `locust --csv PREFIX` and `--json` write."""

    tool = "locust"

    def sniff(self, content: Content) -> bool:
        """Its columns, or an array of entries with response times."""
        if content.header:
            columns = set(content.header)
            return any(wanted <= columns for wanted in (_STATS, _HISTORY, _FAILURES))
        return bool(content.elements) and {"num_requests", "num_failures", "response_times"} <= fields_of(content.elements[0]).keys()

    def read(self, content: Content) -> SeriesSet:
        """Response time, rate and share of failures of each request name."""
        gathering = Gathering(content, self.tool)
        columns = set(content.header)
        if columns >= _HISTORY:
            _history(gathering, content)
        elif columns >= _STATS:
            for row in content.rows():
                _row(gathering, row)
        elif columns:
            raise ReadError("Locust's table of response times", found=f"{content.name}, its table of failures", remedy="give PREFIX_stats.csv")
        else:
            _entries(gathering, content)
        return gathering.finish()


def _label(kind: str | None, name: str) -> str:
    return f"{kind or ''} {name}".strip()


def _row(gathering: Gathering, row: Mapping[str, str]) -> None:
    requests, failures = finite(row.get("Request Count")) or 0.0, finite(row.get("Failure Count")) or 0.0
    statistics: dict[str, object] = {f"p{column[:-1]}": row.get(column) for column in _PERCENTILES}
    # The column of the median is rounded to milliseconds like the percentiles, the average is not.
    statistics |= {"mean": row.get("Average Response Time"), "median": row.get("Median Response Time")}
    statistics |= {"min": row.get("Min Response Time"), "max": row.get("Max Response Time")}
    _add(gathering, _label(row.get("Type"), row.get("Name", "")), requests, failures, statistics, row.get("Requests/s"), "")


def _entries(gathering: Gathering, content: Content) -> None:
    for index, raw in enumerate(content.elements):
        entry = decode_as(raw, _Entry)
        if isinstance(entry, str):
            gathering.leave_out("not an entry as Locust writes it", f"number {index}: {entry}")
            continue
        total = finite(entry.total_response_time)
        statistics: dict[str, object] = {"min": entry.min_response_time, "max": entry.max_response_time}
        if total is not None and entry.num_requests > 0:
            statistics["mean"] = total / entry.num_requests
        statistics |= _from_histogram(entry.response_times)
        span = (entry.last_request_timestamp or 0.0) - (entry.start_time or 0.0)
        rate = entry.num_requests / span if entry.start_time and span > 0 else None
        _add(gathering, _label(entry.method, entry.name), entry.num_requests, entry.num_failures, statistics, rate, _time(entry.start_time))


def _from_histogram(counts: Mapping[str, int]) -> dict[str, object]:
    """Percentiles of Locust's rounded response times: the smallest time that at least that part of the requests took at most."""
    times = sorted((number, count) for text, count in counts.items() if (number := finite(text)) is not None and count > 0)
    total, found = sum(count for _, count in times), {}
    for word, part in (("median", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
        below = 0
        for time, count in times:
            below += count
            if below >= part * total:
                found[word] = time
                break
    return dict(found)


def _add(gathering: Gathering, name: str, requests: float, failures: float, statistics: Mapping[str, object], rate: object, at: str) -> None:
    if requests <= 0:
        gathering.leave_out("no request", name)
        return
    if failures > 0:
        gathering.caution("failed-requests", f"{name}: {failures:.0f} of {requests:.0f} requests failed", "their times are among the response times")
    gathering.add(name, "response_time", MILLISECOND, aggregates={**statistics, "n": requests}, at=at)
    gathering.add(name, "requests_per_s", COUNT_RATE, [rate], better="higher", at=at)
    gathering.add(name, "failed_share", NUMBER, [failures / requests], zero=True, at=at)


def _history(gathering: Gathering, content: Content) -> None:
    rows = list(content.rows())
    users = max((finite(row.get("User Count")) or 0.0 for row in rows), default=0.0)
    groups: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        groups.setdefault(_label(row.get("Type"), row.get("Name", "")), []).append(row)
    for name, group in groups.items():
        full = [row for row in group if finite(row.get("User Count")) == users]
        gathering.leave_out("a second in which not all users were there", name, len(group) - len(full))
        last = group[-1]
        at = _time(finite(group[0].get("Timestamp")))
        statistics = {"mean": last.get("Total Average Response Time"), "median": last.get("Total Median Response Time")}
        statistics |= {"min": last.get("Total Min Response Time"), "max": last.get("Total Max Response Time"), "n": last.get("Total Request Count")}
        gathering.add(
            name, "requests_per_s", COUNT_RATE, [row.get("Requests/s") for row in full], better="higher", keys={"workload.users": users}, at=at
        )
        gathering.add(name, "response_time", MILLISECOND, aggregates=statistics, keys={"workload.users": users}, at=at)


def _time(seconds: float | None) -> str:
    try:
        return "" if not seconds else datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
