"""Timelines and tables as Parquet: every event a row, nulls where an event has nothing, names of lanes once even where several share them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import EVENT_KINDS, Column, OperatorUse, ProfileRow, ProfileTable, Track
from ridgeline.reporting.export.parquet import write_events, write_operators, write_rows
from timeline.building import HOST, stream, timeline_of

parquet = pytest.importorskip("pyarrow.parquet")


def rows_of(write: Any, *arguments: Any) -> list[dict[str, Any]]:
    file = io.BytesIO()
    write(*arguments, file)
    file.seek(0)
    found: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
    return found


@settings(deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([HOST, stream(7), stream(9)]),
            st.sampled_from(EVENT_KINDS),
            st.text(max_size=5),
            st.integers(-(2**60), 2**60),
            st.integers(0, 2**40),
        ),
        max_size=12,
    ),
)
def test_every_event_is_a_row(rows: list[tuple[Track, str, str, int, int]]) -> None:
    usable = [row for row in rows if row[2].encode("utf-8", "ignore").decode() == row[2]]
    timeline = timeline_of([(track, kind, name, start, start + long) for track, kind, name, start, long in usable])
    found = rows_of(write_events, timeline)
    assert [(row["track"], row["kind"], row["name"], row["start_tick"], row["duration_tick"]) for row in found] == [
        (track.name, kind, name, start, long) for track, kind, name, start, long in usable
    ]
    assert [row["duration_s"] for row in found] == pytest.approx([long * 1e-9 for *_, long in usable])
    assert [row["device"] for row in found] == [track.device for track, *_ in usable]


def test_what_an_event_has_not_is_null() -> None:
    timeline = timeline_of(
        [(HOST, "operator", "a", 0, 1), (HOST, "operator", "b", 1, 2)],
        numbers={"bytes": Column([-1, 7], "B", "int64"), "name": Column([3, -1], "1", "int64")},
        texts={"shapes": Column([1, -1], "count", "int32")},
    )
    first, second = rows_of(write_events, timeline)
    assert (first["bytes"], second["bytes"]) == (None, 7)
    assert (first["shapes"], second["shapes"]) == ("b", None)
    # A number that is called as a column of ours is kept beside it.
    assert (first["name"], first["name_"], second["name_"]) == ("a", 3, None)


def test_operators_and_rows_of_tables() -> None:
    uses = [OperatorUse(name="gemm", kind="compute", calls=3, total_s=0.5, own_s=0.5, share=0.1, slack_s=None)]
    (row,) = rows_of(write_operators, uses)
    assert (row["name"], row["calls"], row["total_s"], row["slack_s"]) == ("gemm", 3, 0.5, None)
    table = ProfileTable(
        rows=(ProfileRow(name="conv", kind="Conv", total_s=0.25, node=4), ProfileRow(name="add", total_s=0.5)), of="layers", per_call=True
    )
    first, second = rows_of(write_rows, [table])
    assert (first["table"], first["per_call"], first["node"], first["kind"], first["total_s"]) == ("layers", True, 4, "Conv", 0.25)
    assert (second["node"], second["kind"]) == (None, "")


def test_more_events_than_a_group_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    import ridgeline.reporting.export.parquet as module

    monkeypatch.setattr(module, "_GROUP", 7)
    timeline = timeline_of([(HOST, "operator", str(index % 3), index, index + 1) for index in range(50)])
    assert [row["start_tick"] for row in rows_of(write_events, timeline)] == np.arange(50).tolist()
