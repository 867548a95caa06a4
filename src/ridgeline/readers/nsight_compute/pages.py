"""The pages of Nsight Compute's CSV as launches with the texts of their metrics.

This module decides what a header, a launch, a metric and a unit are on each page: *details* (a row a metric, with section, name, unit and value),
*raw* (a row a launch, a column a metric, the units in the row under the header) and *summary* (`--print-summary`: a row a metric, with the average
over the launches). Lines before, between and after them are the program's own output, or the profiler's (`==PROF==`). What a text is worth is left to
`values`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.readers.delimited import Columns, Row, RowReader, delimiter_of
from ridgeline.readers.source import Source
from ridgeline.readers.written_numbers import Deciding

from .scales import counted

__all__ = ["Key", "Launch", "Pages", "gather", "head", "header_of"]

#: Columns that say which launch it is, and nothing of what was counted.
_IDENTITY = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
    "Invocations", "Section Name",
)  # fmt: skip
_RANGES = ("Domain:", "Push/Pop_Range", "Start/Stop_Range")
_VALUES = ("Metric Value", "Average")
_KERNEL = "Kernel Name"
_NONE = frozenset({"", "n/a", "(!) n/a", "nan", "-nan", "inf", "-inf", "none", "(!) nan"})


#: Metric and the unit that is written with it.
Key = tuple[str, str]


class Launch:
    """One launch, or one row of a summary.

    Attributes:
        identity: column → text, of the columns that say which launch it is; line: where it begins.
        texts: metric → its value as it is written.
    """

    __slots__ = ("identity", "line", "texts")

    def __init__(self, identity: dict[str, str], line: int) -> None:
        self.identity, self.line = identity, line
        self.texts: dict[Key, str] = {}


class Pages:
    """What the pages of one file hold.

    Attributes:
        launches: in the order of the file.
        without_units: whether a raw page had no row of units; summed: whether there is a summary.
        tables: headers so far; deciding: what the numbers tell of their decimal sign.
        left_out: reason → how many lines or values are in no launch, and the line of the first.
    """

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.without_units = False
        self.summed = False
        self.tables = 0
        self.deciding = Deciding()
        self._keys: dict[Key, Key] = {}
        self._counted: dict[Key, bool] = {}
        self._found: dict[tuple[int, tuple[str, ...]], Launch] = {}
        self.left_out: dict[str, tuple[int, int]] = {}

    def leave_out(self, reason: str, line: int) -> None:
        """Count what is in no launch."""
        count, first = self.left_out.get(reason, (0, line))
        self.left_out[reason] = (count + 1, first)

    def key(self, metric: str, unit: str) -> Key:
        """A metric with its unit, one object for all launches."""
        key = self._keys.setdefault((metric, unit), (metric, unit))
        if key not in self._counted:
            self._counted[key] = counted(metric, unit)
        return key

    def keep(self, launch: Launch, key: Key, value: str, line: int) -> None:
        """A value of a launch, as it is written; what is none is counted."""
        if value.lower() in _NONE:
            self.leave_out("metrics that the tool gives no number for (n/a)", line)
            return
        first = launch.texts.setdefault(key, value)
        if first is value:
            if "," in value or "." in value:
                self.deciding.hear(head(value), line, counts=self._counted[key] and not self.summed)
        elif first != value:
            # The same metric stands in several sections, with one value; another one is of a second pass over the same launch.
            self.leave_out("another value of the same metric and launch", line)

    def launch(self, key: tuple[str, ...], identity: dict[str, str], line: int) -> Launch:
        """The launch of that identity in the table at hand."""
        place = (self.tables, key)
        found = self._found.get(place)
        if found is None:
            found = self._found[place] = Launch(identity, line)
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
        self._metrics = [(place, name) for place, name in enumerate(columns.names) if name and place not in known | ranges]
        self._keys: list[tuple[int, Key]] | None = None
        # Without its last columns (rule texts) a row of the details page is whole; one of the raw page needs them all.
        self._number = columns.where("ID")
        needed = [columns.where("Metric Name"), columns.where(*_VALUES), self._number, *known]
        self._least = (max(place or 0 for place in needed) if self._long else len(columns.names) - 1) + 1
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
        if not self._long and self._keys is None:
            units = fields if self._is_units(fields) else [""] * len(self._columns.names)
            self._keys = [(place, self._pages.key(name, units[place].strip())) for place, name in self._metrics]
            self._pages.without_units |= units is not fields
            if units is fields:
                return
        (self._metric if self._long else self._launch)(row)

    def _is_units(self, fields: Sequence[str]) -> bool:
        """The row of units has nothing in the columns that say which launch it is."""
        return not self._long and not any(fields[place].strip() for _, place in self._identity if place < len(fields))

    def _at(self, row: Row) -> Launch:
        key = tuple(row.fields[place] for _, place in self._identity)
        return self._pages.launch(key, {name: row.fields[place].strip() for name, place in self._identity}, row.line)

    def _metric(self, row: Row) -> None:
        name = self._columns.text(row.fields, "Metric Name")
        if not name:
            self._pages.leave_out("rows with the tool's own advice, which is text", row.line)
            return
        key = self._pages.key(name, self._columns.text(row.fields, "Metric Unit"))
        self._pages.keep(self._at(row), key, self._columns.text(row.fields, *_VALUES), row.line)

    def _launch(self, row: Row) -> None:
        launch, keep = self._at(row), self._pages.keep
        for place, key in self._keys or ():
            # A cell without anything is of a metric that was not asked for in this launch.
            if row.fields[place]:
                keep(launch, key, row.fields[place].strip(), row.line)


def head(text: str) -> str:
    """The value of a metric with instances, which stand behind it in brackets: `12 (3; 4; 5)`."""
    return text.partition(" (")[0] if text.endswith(")") else text
