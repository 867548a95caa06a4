"""Events, operators and rows of tables as Parquet, for query engines: a row each, times in whole ticks and in seconds.

Texts are dictionary columns, so that a name that a million events have is written once. What the file means (tick, unit) is in its schema's metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import EVENT_KINDS, BackendUnavailable, OperatorUse, ProfileTable, Timeline

__all__ = ["write_events", "write_operators", "write_rows"]

#: Events of a row group, which is what is held in memory twice.
_GROUP = 1_000_000


def write_events(timeline: Timeline, file: BinaryIO) -> None:
    """Write every event: `name`, `kind`, `track`, `device`, `process`, `thread`, `rank`, `start_tick`, `duration_tick`, `start_s`, `duration_s`, and
    the further numbers and texts of the timeline, null where an event has none.

    Args:
        timeline: what to write; seconds are of its own clock.
        file: opened for writing bytes.

    Raises:
        BackendUnavailable: pyarrow is missing.
    """
    arrow, parquet = _arrow()
    metadata = {"ridgeline": "ridgeline.events/1", "tick_s": repr(timeline.tick_s)}
    writer = None
    for part in _parts(len(timeline)):
        table = arrow.table(_columns(arrow, timeline, part)).replace_schema_metadata(metadata)
        if writer is None:
            writer = parquet.ParquetWriter(file, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _parts(length: int) -> Iterator[slice]:
    yield from (slice(start, min(start + _GROUP, length)) for start in range(0, max(1, length), _GROUP))


def _columns(arrow: Any, timeline: Timeline, part: slice) -> dict[str, Any]:
    # Half of a surrogate pair is no text.
    strings = arrow.array([text.encode("utf-8", "replace").decode() for text in timeline.strings], arrow.string())
    track = timeline.track.values[part].astype(np.int32)
    start, duration = (column.values[part].astype(np.int64) for column in (timeline.start_tick, timeline.duration_tick))
    kinds = timeline.kind.values[part] if timeline.kind is not None else np.zeros(len(track), dtype=np.int8)
    found = {
        "name": _dictionary(arrow, timeline.name.values[part], strings),
        "kind": _dictionary(arrow, kinds, arrow.array(EVENT_KINDS)),
        "track": _dictionary(arrow, track, arrow.array([one.name for one in timeline.tracks], arrow.string())),
    }
    for field in ("device", "process", "thread"):
        found[field] = _dictionary(arrow, track, arrow.array([getattr(one, field) for one in timeline.tracks], arrow.string()))
    ranks = arrow.array([one.rank for one in timeline.tracks], arrow.int64())
    found["rank"] = ranks.take(arrow.array(track))
    found |= {
        "start_tick": arrow.array(start),
        "duration_tick": arrow.array(duration),
        "start_s": arrow.array(start * timeline.tick_s),
        "duration_s": arrow.array(duration * timeline.tick_s),
    }
    for name, column in timeline.numbers.items():
        values = column.values[part]
        found[_free(name, found)] = arrow.array(values, mask=values < 0)
    for name, column in timeline.texts.items():
        found[_free(name, found)] = _dictionary(arrow, column.values[part], strings)
    return found


def _free(name: str, taken: dict[str, Any]) -> str:
    """A name that no other column has."""
    while name in taken:
        name += "_"
    return name


def _dictionary(arrow: Any, indices: NDArray[Any], values: Any) -> Any:
    whole = indices.astype(np.int32)
    # A dictionary with a text twice, as two tracks of one process, is one that readers may refuse.
    unique = values.unique()
    if len(unique) < len(values):
        moved = values.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int32)
        whole, values = np.where(whole < 0, -1, moved[np.maximum(whole, 0)]).astype(np.int32), unique
    return arrow.DictionaryArray.from_arrays(arrow.array(whole, mask=whole < 0), values)


def write_operators(operators: Sequence[OperatorUse], file: BinaryIO) -> None:
    """Write one row an operator, with the fields of `OperatorUse` as columns; errors as `write_events`."""
    import msgspec

    arrow, parquet = _arrow()
    names = [field.name for field in msgspec.structs.fields(OperatorUse)]
    columns = {name: [getattr(one, name) for one in operators] for name in names}
    types = {**dict.fromkeys(("name", "kind", "caller"), arrow.string()), "calls": arrow.int64()}
    schema = arrow.schema([(name, types.get(name, arrow.float64())) for name in names], metadata={"ridgeline": "ridgeline.operators/1"})
    parquet.write_table(arrow.table(columns, schema=schema), file, compression="zstd")


def write_rows(tables: Sequence[ProfileTable], file: BinaryIO) -> None:
    """Write the rows of the profiler's own tables, one after the other; `table` and `per_call` say of which one; errors as `write_events`."""
    arrow, parquet = _arrow()
    texts = ("name", "kind", "device", "provider", "precision", "kernel", "shapes")
    numbers = ("total_s", "calls", "own_s", "first_s", "least_s", "most_s", "median_s", "share")
    rows = [
        {
            "table": table.name or table.of, "of": table.of, "per_call": table.per_call, "node": row.node,
            **{name: getattr(row, name) for name in (*texts, *numbers)},
        }
        for table in tables
        for row in table.rows
    ]  # fmt: skip
    fields = [("table", arrow.string()), ("of", arrow.string()), ("per_call", arrow.bool_()), ("node", arrow.int64())]
    fields += [(name, arrow.string()) for name in texts] + [(name, arrow.float64()) for name in numbers]
    schema = arrow.schema(fields, metadata={"ridgeline": "ridgeline.rows/1"})
    parquet.write_table(arrow.Table.from_pylist(rows, schema=schema), file, compression="zstd")


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise BackendUnavailable("pyarrow, for Parquet files", found=str(error), remedy="pip install 'ridgeline[parquet]'") from error
    return pyarrow, pyarrow.parquet
