"""HELP's tables: latency of whole networks of three search spaces (NAS-Bench-201, FBNet, OFA) on GPUs, server CPUs, phones and accelerators.

This module decides what a column and an architecture are. One column is a device; for GPUs its last number is the batch, for others it belongs to
the name (`essential_ph_1`, `gold_6226`), and the batch is not said. `kind` is `network`, `variant` the architecture as the table writes it. Cells
of NAS-Bench-201 without a path from input to output are left out: runtimes that prune report some 0.01 ms for them. Phones report whole milliseconds.

A `LatencyTable` cannot hold operators of an architecture; they are in its text. Source: HayeonLee/HELP, lists converted to tables.
"""

from __future__ import annotations

import re
from pathlib import Path

from ridgeline.core import ReadError
from ridgeline.core.latencies import LatencyTable
from ridgeline.core.networks import RecordedNetwork

from ..delimited import Columns, RowReader, table
from .folder import Folder
from .gathering import Gathered, number, starts

__all__ = ["Help", "cell_operators", "connected", "with_disconnected"]

#: Columns whose last number is a batch.
_WITH_BATCH = re.compile(r"(?P<device>1080ti|2080ti|titan_?xp?|titan_rtx|v100)_(?P<batch>\d{1,5})$")
_EDGE = re.compile(r"([a-z_]+(?:_\dx\d)?)~(\d)")
#: From and to which of the four nodes of a cell its six edges go.
_FROM, _TO = (0, 0, 1, 0, 1, 2), (1, 2, 2, 3, 3, 3)
_CELL = "|"
_MOST_MS = 1e7
_SOURCE = "HayeonLee/HELP: networks of NAS-Bench-201, FBNet and OFA, ms as in its lists"


class Help:
    """Reads tables of HELP."""

    origin = "HELP"

    def sniff(self, folder: Folder) -> bool:
        """A table of architectures by device."""
        return starts(folder, "arch,1080ti_", "arch,2080ti_")

    def read(self, folder: Folder) -> LatencyTable:
        """One row for each architecture and device."""
        return _table(folder, disconnected=False)

    def networks(self, folder: Folder) -> tuple[RecordedNetwork, ...]:
        """None: architectures come without a list of their operators and sizes."""
        return ()


def with_disconnected(path: str | Path) -> LatencyTable:
    """The table of `Help.read` and the cells without a path, which HELP's own split holds among its queries."""
    return _table(Folder(path), disconnected=True)


def cell_operators(architecture: str) -> tuple[str, ...]:
    """The six operators of a cell of NAS-Bench-201, in the order of its edges; empty for another text.

    >>> cell_operators("|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|")
    ('none', 'none', 'none', 'skip_connect', 'none', 'none')
    """
    found = _EDGE.findall(architecture) if architecture.startswith(_CELL) else []
    whole = len(found) == len(_FROM) and all(int(source) == node for (_, source), node in zip(found, _FROM, strict=True))
    return tuple(name for name, _ in found) if whole else ()


def connected(operators: tuple[str, ...]) -> tuple[bool, ...]:
    """Which edges of a cell lie on a path from its input to its output.

    >>> connected(cell_operators("|none~0|+|none~0|none~1|+|skip_connect~0|none~1|nor_conv_1x1~2|"))
    (False, False, False, True, False, False)
    """
    there = [operator != "none" for operator in operators]
    reached, reaching = {0}, {3}
    for source, target, open_ in zip(_FROM, _TO, there, strict=True):
        if open_ and source in reached:
            reached.add(target)
    for source, target, open_ in reversed(list(zip(_FROM, _TO, there, strict=True))):
        if open_ and target in reaching:
            reaching.add(source)
    return tuple(open_ and source in reached and target in reaching for source, target, open_ in zip(_FROM, _TO, there, strict=True))


def _table(folder: Folder, *, disconnected: bool) -> LatencyTable:
    rows = Gathered(sizes=("batch",))
    for file in folder.files:
        if folder.first_line(file).startswith("arch,"):
            _read(rows, folder, file, disconnected)
    if not len(rows):
        raise ReadError("latencies of architectures", found=f"none in {folder.name}", remedy="name the folder of the tables")
    return rows.table(_SOURCE)


def _read(rows: Gathered, folder: Folder, file: str, disconnected: bool) -> None:
    source = folder.source(file)
    columns, lines = table(source, RowReader(source), lambda found: "arch" in found and len(found.names) > 1, "a column arch and devices")
    devices = _devices(columns)
    for order, (line, fields) in enumerate(lines, 1):
        if fields == [""]:
            continue
        if len(fields) != len(columns.names):
            raise source.damaged("whole rows", f"line {line} with {len(fields)} of {len(columns.names)} fields", "fetch it again")
        architecture = columns.text(fields, "arch")
        operators = cell_operators(architecture)
        if operators and not disconnected and not any(connected(operators)):
            rows.leave("cells without a path from input to output", f"{file} row {order}", len(devices))
            continue
        for place, device, batch in devices:
            milliseconds = number(fields[place])
            if not 0 < milliseconds < _MOST_MS:
                rows.leave("a latency that cannot be", f"{file} row {order}: {columns.names[place]} {fields[place][:40]!r}")
                continue
            values = {"kind": "network", "variant": architecture, "device": device, "file": file, "row": order, "latency_s": milliseconds / 1e3}
            rows.add(values, {"batch": batch})


def _devices(columns: Columns) -> list[tuple[int, str, int]]:
    """Place, device and batch (0: not said) of each column."""
    found = []
    for place, name in enumerate(columns.names):
        if name != "arch":
            batched = _WITH_BATCH.match(name)
            found.append((place, batched["device"], int(batched["batch"])) if batched else (place, name, 0))
    return found
