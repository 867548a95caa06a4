"""Qualcomm QNN: the event list that `qnn-profile-viewer`, and onnxruntime's QNN provider, write as CSV.

This module decides that events of level ROOT are steps of a run (initialise, execute, …) and those of level SUB-EVENT with the message NODE are
operators. Nodes of the HTP are timed in cycles: they become seconds only where the file has the same execution in cycles and in microseconds.
Source: the format string in onnxruntime's QNN provider; unverified, since no file of the tool itself was at hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ridgeline.core import Caution, KernelCounts, KernelTable, Profile, ProfileRow, ProfileTable

from .delimited import Columns, RowReader, header_in, table, unverified
from .source import Source
from .stacking import LeftOut, nothing
from .written_numbers import plain

__all__ = ["Qnn"]

_SCALES = {"US": 1e6, "MS": 1e3, "NS": 1e9, "S": 1.0}
_IDENTIFIER = re.compile(r"^(?P<name>.*?)(?::OpId_(?P<node>\d+))?(?: \((?P<unit>cycles|us)\))?$", re.IGNORECASE)
_EXECUTE = re.compile(r"accelerator \(execute\) time", re.IGNORECASE)


class Qnn:
    """Event lists of QNN."""

    format = "qnn"
    title = "QNN profile CSV (qnn-profile-viewer)"

    def recognises(self, source: Source) -> int:
        """By its columns."""
        return 95 if header_in(source.head_text, _is_header) else 0

    def read(self, source: Source) -> Profile:
        """Steps and operators over all runs of the file; raises `ReadError` where there are none."""
        reader, left_out, events = RowReader(source), LeftOut(), _Events()
        columns, rows = table(source, reader, _is_header, "columns of QNN's event list")
        for row in rows:
            if not any(row.fields) or _is_header(Columns(row.fields)):
                continue
            value = plain(columns.text(row.fields, "Time"))
            if value is None or value < 0.0 or len(row.fields) < 7:
                left_out.add("events without a time, or with one that is none", f"line {row.line}")
                continue
            message, level = columns.text(row.fields, "Message").upper(), columns.text(row.fields, "Event Level").upper()
            unit, name = columns.text(row.fields, "Unit of Measurement").upper(), columns.text(row.fields, "Event Identifier")
            if not events.add(message, level, unit, message if name in ("", "NULL") else name, value):
                left_out.add("events that are no times, such as counts", f"line {row.line}")
        if not events:
            raise nothing(source, "events with times", left_out.listed)
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="QNN",
            resolution_s=1e-6,
            tables=events.tables(),
            kernels=events.kernels(),
            excluded=left_out.listed,
            warnings=(unverified("QNN's event list"), *events.warnings(), *reader.warnings),
        )


def _is_header(columns: Columns) -> bool:
    return "Unit of Measurement" in columns and "Event Identifier" in columns and "Event Level" in columns


class _Events:
    """Sums of events by what they are."""

    def __init__(self) -> None:
        self._steps: dict[str, list[float]] = {}
        self._nodes: dict[str, list[float]] = {}
        self._cycles: dict[str, list[float]] = {}
        self._clock: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._steps or self._nodes or self._cycles)

    def add(self, message: str, level: str, unit: str, name: str, value: float) -> bool:
        """Take one event; counts (of threads, …) are no times and have no place."""
        node = message == "NODE" and level != "ROOT"
        if unit == "CYCLES":
            if _EXECUTE.search(name):
                self._clock["cycles"] = self._clock.get("cycles", 0.0) + value
            elif node:
                self._cycles.setdefault(name, []).append(value)
        elif unit in _SCALES:
            if _EXECUTE.search(name) and "qnn" not in name.lower():
                self._clock["s"] = self._clock.get("s", 0.0) + value / _SCALES[unit]
            (self._nodes if node else self._steps).setdefault(name, []).append(value / _SCALES[unit])
        return unit == "CYCLES" or unit in _SCALES

    @property
    def _hertz(self) -> float | None:
        """Cycles of a second, where the same executions were timed in both."""
        cycles, seconds = self._clock.get("cycles"), self._clock.get("s")
        return cycles / seconds if cycles and seconds else None

    def tables(self) -> tuple[ProfileTable, ...]:
        """Operators and steps, summed over all that the file covers."""
        nodes: dict[str, Sequence[float]] = dict(self._nodes)
        if self._hertz:
            nodes |= {name: [value / self._hertz for value in values] for name, values in self._cycles.items()}
        found = []
        if nodes:
            found.append(ProfileTable(rows=_rows(nodes, "NPU"), of="operators", name="nodes"))
        if self._steps:
            # Steps contain one another: the accelerator's time lies in that of the call.
            found.append(ProfileTable(rows=_rows(self._steps, ""), of="ranges", nested=True, name="steps"))
        return tuple(found)

    def kernels(self) -> KernelTable | None:
        """Operators in cycles, as they were counted."""
        if not self._cycles:
            return None
        counts = tuple(
            KernelCounts(name=_name(name)[0], launches=len(values), device="NPU", raw={"cycles": sum(values)})
            for name, values in self._cycles.items()
        )
        return KernelTable(kernels=counts, units={"cycles": "cycle"}, replayed=False, instrument="QNN")

    def warnings(self) -> tuple[Caution, ...]:
        """What was made of cycles."""
        if not self._cycles:
            return ()
        if self._hertz:
            message = f"seconds of nodes are their cycles at {self._hertz / 1e6:.0f} MHz, the accelerator's cycles by its time"
            return (Caution(code="cycles-scaled", message=message, effect="a clock that changed within a run shifts them"),)
        return (Caution(code="no-clock", message="nodes are in cycles, and nothing tells the clock", effect="no seconds of nodes"),)


def _name(identifier: str) -> tuple[str, int | None]:
    found = _IDENTIFIER.match(identifier)
    if found is None:
        return identifier, None
    node = found["node"]
    return found["name"] or identifier, int(node) if node and len(node) <= 9 else None


def _rows(events: Mapping[str, Sequence[float]], device: str) -> tuple[ProfileRow, ...]:
    return tuple(
        ProfileRow(
            name=_name(name)[0],
            node=_name(name)[1],
            calls=float(len(values)),
            total_s=sum(values),
            first_s=values[0],
            least_s=min(values),
            most_s=max(values),
            device=device,
            provider="QNN" if device else "",
        )
        for name, values in events.items()
    )
