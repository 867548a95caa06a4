"""One line of `perf stat` as a `Count`, whatever its form: text, fields with a separator, or JSON.

This module decides which field is which. The number of fields before the count depends on the options (a time with `-I`, a CPU, socket or thread and
how many CPUs it sums with `--per-…` and `-A`), that after it on the version: a deviation (with `-r`) is told by its percent sign, not by its place.
Source: perf-stat(1), CSV FORMAT and JSON FORMAT, and output of perf 6.1.
"""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from .numbers import NOT_COUNTED, NOT_SUPPORTED, number

__all__ = ["Count", "fields_row", "json_row", "separator_of", "text_row"]

_DEVIATION = re.compile(r"\( {0,8}\+- {0,8}([\d.,]{1,20})% {0,8}\)")
_RUNNING = re.compile(r"\( {0,8}([\d.,]{1,8})% {0,8}\)")
_MISSING = (NOT_COUNTED, NOT_SUPPORTED)
_AGGREGATES = ("cpu", "core", "die", "cluster", "cache", "socket", "node", "thread", "cgroup")
_NAN = re.compile(rb':\s*"?-?(?:nan|inf(?:inity)?)"?\s*([,}])', re.IGNORECASE)
#: Characters of a line of `-x` at the most.
_LONGEST = 4000
_EVENT = re.compile(r"[A-Za-z_]")
#: One blank between digits and three more of them groups thousands; columns stand further apart.
_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u202f\u2009](?=\d{3}(?!\d))")


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """A count as it is written.

    Args:
        event: name; unit: as printed, empty for a count.
        value: null where `missing` says why (`<not counted>`, `<not supported>`).
        time_s: end of the interval; null without `-I`. summary: whether it sums intervals.
        where: CPU, socket, thread, …; empty for all.
        deviation, fraction: of the mean over runs, and of the time it was counted, as shares; null where not written.
        running_s: how long it was counted; null where not written.
        metric, metric_unit: what perf computed of it.
        line: its place.
    """

    event: str
    value: float | None
    unit: str = ""
    missing: str = ""
    time_s: float | None = None
    summary: bool = False
    where: str = ""
    deviation: float | None = None
    fraction: float | None = None
    running_s: float | None = None
    metric: float | None = None
    metric_unit: str = ""
    line: int = 0


def text_row(line: str, mark: str, at: int = 0) -> Count | None:
    """A line of the text form, or `None`."""
    left, _, right = line.partition("#")
    deviation, running = _DEVIATION.search(line), _RUNNING.search(line)
    for found in (deviation, running):
        left = left.replace(found[0], " ") if found else left
    tokens = _GROUPS.sub("", _protected(left)).split()
    time_s = None
    if len(tokens) > 2 and re.fullmatch(r"\d{1,9}[.,]\d{9}", tokens[0]) and (_is_value(tokens[1], mark) or _is_value(tokens[2], mark)):
        time_s, tokens = number(tokens[0], mark), tokens[1:]
    where, tokens = _where(tokens, mark)
    if (
        len(tokens) not in (2, 3)
        or tokens[1] == "seconds"
        or (len(tokens) == 3 and not _EVENT.match(tokens[1]))
        or not _is_value(tokens[0], mark)
        or not _EVENT.search(tokens[-1])
    ):
        return None
    metric, unit = _metric(right, mark)
    return Count(
        event=tokens[-1],
        unit=tokens[1] if len(tokens) == 3 else "",
        value=number(tokens[0], mark),
        missing=_missing(tokens[0]),
        time_s=time_s,
        where=where,
        deviation=_percent(deviation[1] if deviation else "", mark),
        fraction=_percent(running[1] if running else "", mark),
        metric=metric,
        metric_unit=unit,
        line=at,
    )


def separator_of(lines: list[str], mark: str) -> str:
    """The separator of a file of `-x`, or empty: the one that most lines can be read with."""
    sample = [line for line in lines[:400] if line.strip() and not line.startswith("#") and len(line) < _LONGEST][:40]
    candidates = {
        char for line in sample[:10] for char in line if char.isascii() and not char.isalnum() and char not in ".<>-_/%()'\"" and char != mark
    }
    scores = {char: sum(fields_row(line, char, mark) is not None for line in sample) for char in (candidates | {","}) - {mark}}
    best = max(sorted(scores), key=lambda char: scores[char], default="")
    return best if best and scores[best] else ""


def fields_row(line: str, separator: str, mark: str, at: int = 0) -> Count | None:
    """A line of `-x`, or `None`."""
    fields = _fields(line, separator)
    summary = fields[0] == "summary"
    fields = fields[1:] if summary else fields
    time_s = None
    if len(fields) > 4 and number(fields[0], mark) is not None and (_is_value(fields[1], mark) or _is_value(fields[2], mark)):
        time_s, fields = number(fields[0], mark), fields[1:]
    where, fields = _where(fields, mark)
    if len(fields) < 3 or not _is_value(fields[0], mark) or not _EVENT.search(fields[2]) or not _fits(fields[3:], mark):
        return None
    rest = [field for field in fields[3:] if not field.endswith("%")]
    deviation = next((field for field in fields[3:] if field.endswith("%") and number(field[:-1], mark) is not None), "")
    running = number(rest[0], mark) if rest else None
    return Count(
        event=fields[2],
        unit=fields[1],
        value=number(fields[0], mark),
        missing=_missing(fields[0]),
        time_s=time_s,
        summary=summary,
        where=where,
        deviation=_percent(deviation.removesuffix("%"), mark),
        fraction=_percent(rest[1], mark) if len(rest) > 1 else None,
        running_s=running / 1e9 if running is not None and running >= 0 else None,
        metric=number(rest[2], mark) if len(rest) > 2 else None,
        metric_unit=rest[3] if len(rest) > 3 else "",
        line=at,
    )


def json_row(data: bytes, mark: str, at: int = 0) -> Count | None:
    """A line of `-j`, or `None` where it holds no count (a metric alone, or damage)."""
    try:
        found = msgspec.json.decode(_NAN.sub(rb": null\1", data), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    event, raw = found.get("event"), found.get("counter-value")
    if not isinstance(event, str) or not event or raw is None:
        return None
    text = str(raw).strip()
    where = " ".join(str(found[name]) for name in _AGGREGATES if found.get(name) not in (None, ""))
    running, fraction = _loose(found.get("event-runtime"), mark), _loose(found.get("pcnt-running"), mark)
    deviation = _loose(found.get("variance"), mark)
    return Count(
        event=event,
        unit=str(found.get("unit") or ""),
        value=_loose(raw, mark),
        missing=_missing(text),
        time_s=_loose(found.get("interval", found.get("timestamp")), mark),
        where=f"CPU{where}" if "cpu" in found and where.isdigit() else where,
        deviation=deviation / 100 if deviation is not None else None,
        fraction=fraction / 100 if fraction is not None else None,
        running_s=running / 1e9 if running is not None and running >= 0 else None,
        metric=_loose(found.get("metric-value"), mark),
        metric_unit=str(found.get("metric-unit") or ""),
        line=at,
    )


def _loose(value: object, mark: str) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    plain = number(value, mark) if isinstance(value, str) else float(value) if abs(value) < 1e300 else None
    return plain if plain is not None and math.isfinite(plain) else None


def _protected(text: str) -> str:
    """The text with the blank within `<not counted>` replaced, so that it can be split at blanks."""
    for missing in _MISSING:
        text = text.replace(missing, missing.replace(" ", "_"))
    return text


def _missing(text: str) -> str:
    text = text.replace("_", " ")
    return text if text in _MISSING else ""


def _is_value(text: str, mark: str) -> bool:
    return bool(_missing(text)) or number(text, mark) is not None


def _where(fields: list[str], mark: str) -> tuple[str, list[str]]:
    """The aggregate before a count, with the number of CPUs it sums left out, and the rest."""
    if len(fields) < 3 or _is_value(fields[0], mark) or not fields[0]:
        return "", fields
    if _is_value(fields[1], mark):
        sums = _is_value(fields[2], mark) and number(fields[1], mark) is not None
        return fields[0], fields[2:] if sums else fields[1:]
    return "", fields


def _fields(line: str, separator: str) -> list[str]:
    """Fields of a line; an event such as `cpu/event=0x3c,umask=0/` is put together again where the separator stands in it."""
    parts = [part.strip() for part in line.split(separator)]
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1].count("/") % 2 and _EVENT.match(joined[-1]) and len(joined[-1]) < 400:
            joined[-1] += separator + part
        else:
            joined.append(part)
    return joined


def _fits(rest: list[str], mark: str) -> bool:
    """Whether what follows the event is a running time and a percentage, with or without a deviation; old versions end with the event."""
    plain = [field for field in rest if not field.endswith("%")]
    if not plain:
        return True
    percent = number(plain[1], mark) if len(plain) > 1 else None
    return number(plain[0], mark) is not None and (percent is None or 0 <= percent <= 200)


def _percent(text: str, mark: str) -> float | None:
    value = number(text, mark) if text else None
    return value / 100 if value is not None else None


def _metric(right: str, mark: str) -> tuple[float | None, str]:
    """What perf computed: a number and what it is."""
    right = _RUNNING.sub(" ", _DEVIATION.sub(" ", right)).strip()
    head, _, unit = right.partition(" ")
    return number(head.rstrip("%"), mark), (("% " if head.endswith("%") else "") + unit.strip())[:80]
