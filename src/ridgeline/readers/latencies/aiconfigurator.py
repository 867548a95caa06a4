"""aiconfigurator's tables (folder `systems/data`): kernels of serving frameworks on NVIDIA GPUs, one Parquet file a system, operator and version.

This module decides which tables are measurements of one operator, and what they measured: columns are told by their names, in
`aiconfigurator_columns`. Times are in ms, power in W. Left out with their reason: tables of several operators in a row (`mla_*_module`, one of which
repeats each key under several model names), those that do not state their sizes (`mla_bmm`), operators without a family (`gdn`), and `computescale`,
which is the difference of two kernels. `kernel_source` and the framework are in no column of a `LatencyTable`; the path of the file tells framework
and version.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import BackendUnavailable, Excluded, ReadError
from ridgeline.core.latencies import LatencyTable
from ridgeline.core.networks import RecordedNetwork

from ..source import Source
from .aiconfigurator_columns import DEVICES, TABLES, Rows, left_out
from .folder import Folder

__all__ = ["Aiconfigurator"]

_MAGIC = b"PAR1"
#: Columns that every table has, as they stand in the footer of the file.
_MARKS = (b"op_name", b"kernel_source", b"framework", b"latency")
_MOST_FOOTER = 2**24
_MOST_ROWS = 20_000_000
_MOST_MS = 1e6
_MOST_W = 1e5


class Aiconfigurator:
    """Reads the folder `systems/data` of aiconfigurator, a part of it, or one of its files."""

    origin = "aiconfigurator"

    def sniff(self, folder: Folder) -> bool:
        """A Parquet file whose footer names aiconfigurator's columns."""
        return any(_is_table(folder.source(file)) for file in _parquet(folder))

    def read(self, folder: Folder) -> LatencyTable:
        """All tables of the folder, one after the other."""
        tables, excluded = [], []
        for file in _parquet(folder):
            if not _is_table(folder.source(file)):
                continue
            table, left = _read(folder.source(file), file)
            excluded += left
            if table is not None:
                tables.append(table)
        if not tables:
            found = "; ".join(each.reason for each in excluded) or f"none in {folder.name}"
            raise ReadError("tables of operators as aiconfigurator publishes them", found=found, remedy="name the folder systems/data")
        whole = LatencyTable.joined(tables)
        source = "ai-dynamo/aiconfigurator, systems/data: kernels of serving frameworks, repeated without a pause"
        return msgspec.structs.replace(whole, source=source, excluded=_by_reason([*whole.excluded, *excluded]))

    def networks(self, folder: Folder) -> tuple[RecordedNetwork, ...]:
        """There are none."""
        return ()


def _parquet(folder: Folder) -> Iterator[str]:
    return (file for file in folder.files if file.endswith(".parquet") or Path(folder.name).is_file())


def _is_table(source: Source) -> bool:
    """By magic and footer alone, so that pyarrow is not needed to say no."""
    try:
        with source.path.open("rb") as file:
            if file.read(4) != _MAGIC:
                return False
            file.seek(-8, 2)
            size = int.from_bytes(file.read(4), "little")
            if file.read(4) != _MAGIC or size > min(_MOST_FOOTER, source.size_bytes - 12):
                return False
            file.seek(-8 - size, 2)
            footer = file.read(size)
    except OSError:
        return False
    return all(mark in footer for mark in _MARKS)


def _arrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise BackendUnavailable("pyarrow, for Parquet files", found=str(error), remedy="pip install 'ridgeline[parquet]'") from error
    return pyarrow.parquet


def _read(source: Source, file: str) -> tuple[LatencyTable | None, list[Excluded]]:
    columns = _columns(source)
    operators = set(columns["op_name"])
    if len(operators) != 1 and not operators <= {"mla_gen_pre", "mla_gen_post"}:
        raise source.damaged("a table of one operator", f"{len(operators)}: {', '.join(sorted(map(str, operators))[:5])}")
    operator = str(next(iter(operators)))
    count = len(columns["latency"])
    reason = left_out(operator)
    if reason or operator not in TABLES:
        return None, [Excluded(reason=reason or f"{operator[:40]}: an operator without a family", events=count, first=file)]
    mapping = TABLES[operator]
    missing = sorted({"device", "latency", *mapping.needs} - set(columns))
    if missing:
        raise source.damaged(f"columns {', '.join(mapping.needs)} of {operator}", f"no {', '.join(missing)}")
    rows = mapping.rows(columns, operator)
    return _table(source, file, columns, rows)


def _columns(source: Source) -> dict[str, Any]:
    """Every column: texts as lists, numbers as arrays."""
    parquet = _arrow()
    try:
        opened = parquet.ParquetFile(source.path)
        if opened.metadata.num_rows > _MOST_ROWS:
            raise source.damaged(f"at most {_MOST_ROWS} rows", f"{opened.metadata.num_rows}", "split the file")
        table = opened.read()
        found: dict[str, Any] = {}
        for name in table.column_names:
            column = table.column(name)
            if column.null_count:
                raise source.damaged("columns without gaps", f"{column.null_count} gaps in {name}")
            # `str` of Arrow's type keeps this free of its classes, which are loaded late.
            text = str(column.type) in ("string", "large_string") or str(column.type).startswith("dictionary")
            found[name] = column.to_pylist() if text else column.to_numpy()
    except (OSError, ValueError, TypeError, NotImplementedError, MemoryError) as error:
        raise source.damaged("a Parquet file", f"{type(error).__name__}: {error}", "fetch it again; Git LFS pointers are no data") from error
    if not table.num_rows:
        raise source.damaged("rows", "none")
    return found


def _table(source: Source, file: str, columns: dict[str, Any], rows: Rows) -> tuple[LatencyTable | None, list[Excluded]]:
    count = len(columns["latency"])
    latency = _number(source, columns, "latency")
    number = np.arange(1, count + 1)
    sizes = {name: np.asarray(values, np.float64) for name, values in rows.sizes.items()}
    bad = {"a latency that cannot be": ~((latency > 0) & (latency < _MOST_MS))}
    sound = np.ones(count, bool)
    for values in sizes.values():
        sound &= np.isfinite(values) & (values >= 0) & (values < 2**40) & (values == np.floor(values))
    bad["sizes that cannot be"] = ~sound
    power: dict[str, Any] = {}
    if "power" in columns:
        watts = _number(source, columns, "power")
        bad["a power that cannot be"] = ~((watts >= 0) & (watts < _MOST_W))
        power = {"power_w": watts}
    kept, excluded = np.ones(count, bool), []
    for reason, wrong in bad.items():
        caught = np.flatnonzero(wrong & kept)
        if caught.size:
            excluded.append(Excluded(reason=reason, events=int(caught.size), first=f"{file} row {number[caught[0]]}"))
        kept &= ~wrong
    at = np.flatnonzero(kept)
    if not at.size:
        return None, excluded
    texts: dict[str, Any] = {name: [values[row] for row in at] for name, values in (("variant", rows.variant), ("precision", rows.precision))}
    texts["device"] = [DEVICES.get(name, str(name)) for name in (columns["device"][row] for row in at)]
    table = LatencyTable.of(
        latency_s=latency[at] / 1e3, kind=rows.kind, file=file, row=number[at],
        sizes={name: values[at].astype(np.int64) for name, values in sizes.items()},
        **texts, **{name: values[at] for name, values in power.items()},
    )  # fmt: skip
    return table, excluded


def _number(source: Source, columns: dict[str, Any], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = columns[name]
    if isinstance(values, list) or np.asarray(values).dtype.kind not in "iuf":
        raise source.damaged(f"numbers in {name}", f"{values[0]!r:.40}")
    return np.asarray(values, np.float64)


def _by_reason(several: list[Excluded]) -> tuple[Excluded, ...]:
    """One entry a reason."""
    found: dict[str, Excluded] = {}
    for each in several:
        before = found.get(each.reason)
        found[each.reason] = each if before is None else msgspec.structs.replace(before, events=before.events + each.events)
    return tuple(found.values())
