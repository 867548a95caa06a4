"""`NsysStats`: the CSV of `nsys stats`: summaries to tables, traces to a timeline; one report a file, or several after one another.

This module decides by the columns of a header which report follows, whatever is printed around it (notices, `Processing […]`, titles), in the names
of 2020 (`Time(%)`, `Average`, no unit: nanoseconds) and of now (`Time (%)`, `Avg (ns)`; the unit stands in the header and may be any). No real file
was at hand: columns are those of the tool's documentation and of reports that people published.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from ridgeline.core import Caution, Excluded, Profile, ProfileRow, ProfileTable, Timeline, Track

from .assembling import Assembly, kind_of
from .databases import MISSING
from .delimited import Row, RowReader, split, unverified
from .joining import matches
from .kinds import bare_call, call_kind, device_kind, iteration_of
from .source import Source
from .written_numbers import number

__all__ = ["NsysStats"]

_SECONDS = {"ns": Decimal("1e-9"), "us": Decimal("1e-6"), "μs": Decimal("1e-6"), "ms": Decimal("1e-3"), "s": Decimal(1), "sec": Decimal(1)}
_BYTES = {"byte": 1.0, "bytes": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
_COUNTS = ("instances", "num calls", "count", "operations", "calls", "nvtx inst", "num")
_NAMES = ("name", "operation", "range", "kernel name", "event", "nvtx range")
_STATISTICS = {
    "median_s": ("med", "median"),
    "least_s": ("min", "minimum"),
    "most_s": ("max", "maximum"),
}
_UNIT = re.compile(r"^(?P<name>[^()]*?)\s*(?:\((?P<unit>[^()]*)\))?$")
_TITLE = re.compile(r"[\[(]?(?:[^\[\]()]*[/\\])?(?P<name>[a-z][a-z0-9_:]*sum|[a-z0-9_]*trace)(?:\.py|:[a-z]+)?[\])]", re.IGNORECASE)
_WORDS = {"api": "runtime", "osrt": "runtime", "nvtx": "ranges", "mem": "copies", "kern": "kernels"}


class NsysStats:
    """Reads what `nsys stats --format csv` writes."""

    format = "nsys-stats"
    title = "nsys stats CSV"

    def recognises(self, source: Source) -> int:
        """By a line that has the columns of a summary or a trace."""
        if b"\x00" in source.head[:64]:
            return 0
        for line in source.head_text.splitlines()[:400]:
            if len(line) < 2000 and (header := _Header.of(line)) is not None:
                return 75 if header.trace else 80
        return 0

    def read(self, source: Source) -> Profile:
        """All reports of the file; raises `ReadError` where there is none, or none with a row."""
        reading = _Reading()
        rows = RowReader(source)
        for row in rows.rows(_delimiter(source)):
            reading.take(row)
        timeline, excluded = reading.close()
        tables = tuple(table for table in reading.tables if table.rows)
        if timeline is None and not tables:
            raise source.damaged("a summary or a trace of nsys stats with rows", "none", "run nsys stats --format csv again")
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="NVIDIA Nsight Systems (nsys stats)",
            resolution_s=1e-9,
            timeline=timeline,
            tables=tables,
            excluded=excluded,
            warnings=(unverified("CSV of nsys stats"), *rows.warnings, *reading.warnings),
        )


class _Header:
    """Where which column of a report is, and in which unit."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = [field.strip() for field in fields]
        self.units: dict[str, str] = {}
        self.place: dict[str, int] = {}
        for place, field in enumerate(self.fields):
            found = _UNIT.match(field.removesuffix(":"))
            name, unit = (found["name"].casefold(), (found["unit"] or "").casefold()) if found else (field.casefold(), "")
            if name not in self.place:
                self.place[name], self.units[name] = place, unit
        self.trace = {"start", "duration", "name"} <= self.place.keys() and "total time" not in self.place
        self.summary = "total time" in self.place and any(name in self.place for name in _COUNTS) and any(name in self.place for name in _NAMES)
        self.sizes = "total" in self.place and "count" in self.place and "operation" in self.place

    @classmethod
    def of(cls, line: str) -> _Header | None:
        """The header that a line is, or `None`."""
        # Nearly all lines are none, which is told without taking them apart.
        plain = line.casefold()
        if "total time" not in plain and not ("(" in plain and "start" in plain and "duration" in plain):
            return None
        return next((header for sign in ",\t;" if (header := cls(split(line, sign))).trace or header.summary), None)

    def text(self, fields: Sequence[str], *names: str) -> str:
        """The first of these columns that there is, as text."""
        place = next((self.place[name] for name in names if name in self.place), None)
        return fields[place].strip() if place is not None and place < len(fields) else ""

    def seconds(self, fields: Sequence[str], *names: str) -> float | None:
        """The first of these columns that there is, in seconds."""
        name = next((name for name in names if name in self.place), "")
        value = number(self.text(fields, name), ".") if name else None
        return None if value is None else float(Decimal(repr(value)) * _SECONDS.get(self.units[name], _SECONDS["ns"]))

    def ticks(self, fields: Sequence[str], name: str) -> int:
        """A time in nanoseconds, without rounding more than the file does; `MISSING` where there is none."""
        text = self.text(fields, name).replace(",", "")
        try:
            value = Decimal(text) * _SECONDS.get(self.units.get(name, ""), _SECONDS["ns"]) * 10**9
            return int(value.to_integral_value()) if abs(value) < 2**62 else MISSING
        except (ArithmeticError, ValueError):
            return MISSING

    def whole(self, fields: Sequence[str], *names: str) -> int:
        """A whole number, or −1."""
        text = self.text(fields, *names)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else -1

    def bytes(self, fields: Sequence[str]) -> int:
        """Bytes that were moved, or −1."""
        value = number(self.text(fields, "bytes"), ".")
        factor = _BYTES.get(self.units.get("bytes", ""))
        return -1 if value is None or factor is None or not 0 <= value * factor < 2**62 else round(value * factor)


class _Reading:
    """Rows, one after the other, to tables and events."""

    def __init__(self) -> None:
        self.tables: list[ProfileTable] = []
        self.warnings: list[Caution] = []
        self._assembly = Assembly(1e-9)
        self._title = ""
        self._header: _Header | None = None
        self._rows: list[ProfileRow] = []
        self._work: list[tuple[int, ...]] = []
        self._calls: list[tuple[int, ...]] = []

    def take(self, row: Row) -> None:
        line = ",".join(row.fields)
        header = _Header(row.fields)
        if header.trace or header.summary or header.sizes:
            self._close_table()
            self._header = header
        elif self._header is None or len(row.fields) < max(2, len(self._header.fields) - 1):
            found = _TITLE.search(line)
            if found:
                self._close_table()
                self._title, self._header = found["name"].casefold(), None
            elif not line.strip():
                self._close_table()
                self._header = None
        elif self._header.sizes:
            self._assembly.leave_out("rows of tables of sizes, which tell no time", 1, first=f"line {row.line}")
        elif self._header.summary:
            self._summary(self._header, row)
        else:
            self._event(self._header, row)

    def close(self) -> tuple[Timeline | None, tuple[Excluded, ...]]:
        self._close_table()
        work, calls = (np.array(rows, np.int64).reshape(-1, 7) for rows in (self._work, self._calls))
        events = []
        for rows in (work, calls):
            start, end, name, lane, kind, size, _ = rows.T
            numbers = {"bytes": size} if (size >= 0).any() else {}
            events.append(self._assembly.add(start, end, name=name, lane=lane, kind=kind, numbers=numbers, place="row"))
        call = matches(np.zeros(len(calls), np.int64), calls[:, 6], np.zeros(len(work), np.int64), work[:, 6])
        linked = (call >= 0) & (work[:, 6] >= 0)
        if len({track.process for track in self._assembly.tracks if track.role == "thread"}) <= 1:
            self._assembly.link(events[1][call[linked]], events[0][linked], "launch")
        elif linked.any():
            message = "calls of several processes share numbers, and device work does not say its process"
            self.warnings.append(Caution(code="missing-launch", message=message, effect="what launched device work is not known"))
        return self._assembly.timeline()

    def _close_table(self) -> None:
        if self._rows and self._header is not None:
            of = next((word for key, word in _WORDS.items() if key in self._title), None) or _guessed(self._header)
            self.tables.append(ProfileTable(rows=tuple(self._rows), of=of, nested=of == "ranges", name=self._title))
        self._rows = []

    def _summary(self, header: _Header, row: Row) -> None:
        total = header.seconds(row.fields, "total time")
        calls = number(header.text(row.fields, *_COUNTS), ".")
        name = header.text(row.fields, *_NAMES)
        if total is None or total < 0 or not name or (calls is not None and calls < 0):
            self._assembly.leave_out("rows without a name or a time", 1, first=f"line {row.line}")
            return
        share = number(header.text(row.fields, "time", "time(%)", "time (%)"), ".")
        further = {key: header.seconds(row.fields, *names) for key, names in _STATISTICS.items()}
        self._rows.append(
            ProfileRow(
                name=name,
                kind=header.text(row.fields, "category", "style"),
                total_s=total,
                calls=calls,
                share=share / 100 if share is not None and 0 <= share <= 100 else None,
                median_s=_positive(further["median_s"]),
                least_s=_positive(further["least_s"]),
                most_s=_positive(further["most_s"]),
            )
        )

    def _event(self, header: _Header, row: Row) -> None:
        fields = row.fields
        start, length = header.ticks(fields, "start"), header.ticks(fields, "duration")
        name = header.text(fields, "name")
        if start == MISSING or length == MISSING or length < 0 or not name:
            self._assembly.leave_out("rows without a name or a time", 1, first=f"line {row.line}")
            return
        device = header.text(fields, "device")
        correlation = header.whole(fields, "corrid", "corr id")
        if device or "strm" in header.place:
            lane = self._stream(device, header.text(fields, "strm"), header.text(fields, "ctx"))
            kind = "copy" if "memcpy" in name.casefold() else "fill" if "memset" in name.casefold() else device_kind(name)
            self._work.append((start, start + length, self._assembly.name(name), lane, kind_of(kind), header.bytes(fields), correlation))
            return
        process, thread = header.text(fields, "pid"), header.text(fields, "tid")
        lane = self._assembly.lane(Track(name=f"process {process} thread {thread}".strip(), role="thread", process=process, thread=thread))
        name, kind = _host_event(name, "nvtx" in self._title or "rangestack" in header.place)
        self._calls.append((start, start + length, self._assembly.name(name), lane, kind_of(kind), -1, correlation))

    def _stream(self, device: str, stream: str, context: str) -> int:
        found = re.search(r"\((\d+)\)\s*$", device)
        where = f"GPU {found[1]}" if found else device or "GPU"
        return self._assembly.lane(Track(name=f"{where} stream {stream}".strip(), device=where, role="queue", thread=f"{context}:{stream}"))


def _host_event(name: str, ranges: bool) -> tuple[str, str]:
    if ranges:
        return name, "iteration" if iteration_of(name) >= 0 else "annotation"
    return bare_call(name), call_kind(bare_call(name))


def _guessed(header: _Header) -> str:
    """What the rows of a summary are, where no title says it."""
    if "style" in header.place or "range" in header.place:
        return "ranges"
    if "operation" in header.place:
        return "copies" if "category" not in header.place else "kernels"
    return "runtime" if "num calls" in header.place else "kernels"


def _positive(value: float | None) -> float | None:
    return value if value is None or value >= 0 else None


def _delimiter(source: Source) -> str:
    for line in source.head_text.splitlines()[:400]:
        for sign in ",\t;":
            if (header := _Header(split(line, sign) if len(line) < 2000 else [])).trace or header.summary:
                return sign
    return ","
