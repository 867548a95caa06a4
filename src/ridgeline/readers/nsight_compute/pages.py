"""The pages of Nsight Compute's CSV as launches with the texts of their metrics.

This module decides what a header, a launch, a metric and a unit are on each page: *details* (a row a metric, with section, name, unit and value),
*raw* (a row a launch, a column a metric, the units in the row under the header) and *summary* (`--print-summary`: a row a metric, with the average
over the launches). Lines before, between and after them are the program's own output, or the profiler's (`==PROF==`). What a text is worth is left to
`values`.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern
from typing import NamedTuple

from ridgeline.readers.delimited import Columns, Row, RowReader, delimiter_of
from ridgeline.readers.source import Source

__all__ = ["Launch", "Pages", "Text", "gather", "is_header"]

#: Columns that say which launch it is, and nothing of what was counted.
_IDENTITY = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
    "Invocations", "Section Name",
)  # fmt: skip
_RANGES = ("Domain:", "Push/Pop_Range", "Start/Stop_Range")
_VALUES = ("Metric Value", "Average")
_KERNEL = "Kernel Name"


class Text(NamedTuple):
    """A metric of a launch as it is written: value, unit, section (empty on the raw page), line."""

    value: str
    unit: str
    section: str
    line: int


class Launch:
    """One launch, or one row of a summary.

    Attributes:
        identity: column → text, of the columns that say which launch it is.
        texts: (metric, unit) → how it is written.
    """

    __slots__ = ("identity", "texts")

    def __init__(self, identity: dict[str, str]) -> None:
        self.identity = identity
        self.texts: dict[tuple[str, str], Text] = {}


class Pages:
    """What the pages of one file hold.

    Attributes:
        launches: in the order of the file.
        without_units: whether a raw page had no row of units; summed: whether there is a summary.
        tables: headers so far.
        left_out: reason → how many lines or values are in no launch, and the line of the first.
    """

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.without_units = False
        self.summed = False
        self.tables = 0
        self._found: dict[tuple[int, tuple[str, ...]], Launch] = {}
        self.left_out: dict[str, tuple[int, int]] = {}

    def leave_out(self, reason: str, line: int) -> None:
        """Count what is in no launch."""
        count, first = self.left_out.get(reason, (0, line))
        self.left_out[reason] = (count + 1, first)

    def launch(self, key: tuple[str, ...], identity: dict[str, str]) -> Launch:
        """The launch of that identity in the table at hand."""
        place = (self.tables, key)
        found = self._found.get(place)
        if found is None:
            found = self._found[place] = Launch(identity)
            self.launches.append(found)
        return found


def is_header(fields: Sequence[str]) -> bool:
    """Whether fields are a header of Nsight Compute."""
    names = {field.strip().lstrip("\ufeff") for field in fields}
    if _KERNEL not in names:
        return False
    if "Metric Name" in names:
        return not names.isdisjoint(_VALUES)
    return any("__" in name for name in names)


def header_of(line: str) -> str:
    """The delimiter under which a line is a header; empty if it is none."""
    return delimiter_of(line, lambda columns: is_header(columns.names)) if _KERNEL in line else ""


def gather(source: Source, reader: RowReader) -> Pages:
    """The launches of a file.

    Raises:
        ReadError: no header in it, or a line beyond the limits.
    """
    pages = Pages()
    lines = reader.lines()
    for _, line in lines:
        delimiter = header_of(line)
        if delimiter:
            break
    else:
        raise source.damaged("a table with the columns Kernel Name and Metric Name", "no line with them", "write it with ncu --csv")
    tables = [_Table(pages, reader.split(line, delimiter, 0))]
    for row in reader.following(lines, delimiter, lambda fields: is_header(fields) or tables[-1].is_row(fields)):
        if is_header(row.fields):
            tables[:] = [_Table(pages, row.fields)]
        else:
            tables[-1].take(row)
    return pages


class _Table:
    """One header and what it says of the rows below it."""

    def __init__(self, pages: Pages, header: Sequence[str]) -> None:
        self._pages = pages
        pages.tables += 1
        self._columns = columns = Columns(header)
        self._long = "Metric Name" in columns
        self._identity = [(name, place) for name in _IDENTITY[:-1] if (place := columns.where(name)) is not None]
        known = {place for _, place in self._identity}
        ranges = {place for place, name in enumerate(columns.names) if any(part in name for part in _RANGES)}
        self._metrics = [(place, intern(name)) for place, name in enumerate(columns.names) if name and place not in known | ranges]
        self._units: list[str] | None = None
        self._value = columns.where(*_VALUES)
        # Without its last columns (rule texts) a row of the details page is whole; one of the raw page needs them all.
        self._least = (max(columns.where("Metric Name") or 0, self._value or 0) if self._long else len(columns.names) - 1) + 1
        self._number = columns.where("ID")
        pages.summed |= "Invocations" in columns

    def is_row(self, fields: Sequence[str]) -> bool:
        """Whether fields are a row of this table."""
        if not self._least <= len(fields) <= len(self._columns.names) + 1:
            return False
        return self._number is None or fields[self._number].strip().isdecimal() or self._is_units(fields)

    def take(self, row: Row) -> None:
        """Put a row where it belongs."""
        fields = row.fields
        if not self.is_row(fields):
            if any(field.strip() for field in fields) and not fields[0].startswith("=="):
                self._pages.leave_out("lines between the rows that are no row of the table", row.line)
            return
        if not self._long and self._units is None:
            self._units = list(fields) if self._is_units(fields) else [""] * len(self._columns.names)
            self._pages.without_units |= not self._is_units(fields)
            if self._is_units(fields):
                return
        (self._metric if self._long else self._launch)(row)

    def _is_units(self, fields: Sequence[str]) -> bool:
        """The row of units has nothing in the columns that say which launch it is."""
        return not self._long and not any(fields[place].strip() for _, place in self._identity if place < len(fields))

    def _at(self, fields: Sequence[str]) -> Launch:
        key = tuple(fields[place] for _, place in self._identity)
        return self._pages.launch(key, {name: fields[place].strip() for name, place in self._identity})

    def _metric(self, row: Row) -> None:
        name = self._columns.text(row.fields, "Metric Name")
        if not name:
            self._pages.leave_out("rows with the tool's own advice, which is text", row.line)
            return
        assert self._value is not None
        unit, section = self._columns.text(row.fields, "Metric Unit"), self._columns.text(row.fields, "Section Name")
        self._keep(self._at(row.fields), name, Text(row.fields[self._value].strip(), intern(unit), intern(section), row.line))

    def _launch(self, row: Row) -> None:
        launch, units = self._at(row.fields), self._units
        assert units is not None
        for place, name in self._metrics:
            if row.fields[place].strip():
                self._keep(launch, name, Text(row.fields[place].strip(), intern(units[place].strip()), "", row.line))

    def _keep(self, launch: Launch, name: str, text: Text) -> None:
        first = launch.texts.setdefault((intern(name), text.unit), text)
        if first is not text and first.value != text.value:
            # The same metric stands in several sections, with one value; another one is of a second pass over the same launch.
            self._pages.leave_out("another value of the same metric and launch", text.line)
