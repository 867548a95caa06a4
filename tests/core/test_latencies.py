"""Tables of latencies: built from plain arrays, cut, joined, grouped, written and read again; what is unusable is left out with its place."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Column, LatencyTable, MeasuredOn, MemoryBlobs, ReadError, UsageError
from ridgeline.core.documents import decode, encode


def table(count: int = 6, **further: object) -> LatencyTable:
    given = {
        "latency_s": np.arange(1, count + 1) * 1e-3, "kind": ["gemm", "softmax"] * (count // 2), "device": ["a", "a", "b"] * (count // 3),
        "precision": "fp32", "file": "x.csv", "sizes": {"m": np.arange(count) % 3 + 1, "n": [8, 0] * (count // 2)}, "flop": np.arange(count) * 1e6,
    }  # fmt: skip
    return LatencyTable.of(**{**given, **further})  # type: ignore[arg-type]


def test_columns_and_texts() -> None:
    found = table()
    assert len(found) == 6
    assert found.kinds == ("gemm", "softmax")
    assert found.texts("device") == ["a", "a", "b", "a", "a", "b"]
    assert found.dimension("n").tolist() == [8, 0, 8, 0, 8, 0]
    assert found.dimension("k").tolist() == [0] * 6
    assert found.optional("power_w").tolist() == [0.0] * 6
    assert found.values("flop").tolist() == [0.0, 1e6, 2e6, 3e6, 4e6, 5e6]
    assert found.place(2) == "x.csv row 3"
    assert found.described(0) == "gemm fp32 m=1 n=8"
    assert found.described(1) == "softmax fp32 m=2"


def test_rows_by_mask_and_by_index_are_the_same_rows() -> None:
    found = table()
    mask = found.latency_s.values > 0.003
    assert found.rows(mask) == found.rows(np.flatnonzero(mask))
    assert found.rows(mask).row.values.tolist() == [4, 5, 6]
    assert found.rows(np.array([5, 0])).latency_s.values.tolist() == [0.006, 0.001]
    assert len(found.rows(np.zeros(6, bool))) == 0


def test_a_table_that_is_cut_and_joined_is_the_same() -> None:
    found = table()
    joined = LatencyTable.joined([found.rows(np.arange(2)), found.rows(np.arange(2, 6))])
    assert joined == found


def test_joining_tables_of_different_kinds() -> None:
    other = LatencyTable.of(latency_s=[2.0], kind="attention", device="c", sizes={"heads": [4]}, power_w=[7.0], variant="causal", source="there")
    joined = LatencyTable.joined([table(), other])
    assert joined.kinds == ("attention", "gemm", "softmax")
    assert joined.texts("variant")[-1] == "causal"
    assert joined.dimension("heads").tolist() == [0] * 6 + [4]
    assert joined.optional("power_w").tolist() == [0.0] * 6 + [7.0]
    assert joined.optional("flop")[-1] == 0.0
    assert joined.energy_j is None
    assert len(LatencyTable.joined([])) == 0


@pytest.mark.parametrize("count", [6, 600])
def test_documents_round_trip(count: int) -> None:
    found, blobs = table(count), MemoryBlobs()
    assert decode(encode(found), LatencyTable) == found
    assert decode(encode(found, blobs), LatencyTable, blobs) == found
    assert len(blobs) == 0 if count == 6 else len(blobs) > 3


def test_what_is_no_number_is_left_out_with_its_place() -> None:
    bad = table(latency_s=[1.0, math.nan, 2.0, math.inf, 3.0, 4.0], power_w=[1.0, 1.0, math.nan, 1.0, math.inf, 1.0])
    assert bad.latency_s.values.tolist() == [1.0, 2.0, 4.0]
    # A power that is no number is one that is not known.
    assert bad.optional("power_w").tolist() == [1.0, 0.0, 1.0]
    assert [(entry.events, entry.first) for entry in bad.excluded] == [(2, "x.csv row 2"), (1, "x.csv row 5")]
    assert "latency_s" in bad.excluded[0].reason
    assert "power_w" in bad.excluded[1].reason


@pytest.mark.parametrize(
    "change",
    [
        {"kind": ["gemm"]}, {"sizes": {"m": [1.5] * 6}}, {"sizes": {"m": [-1] * 6}}, {"sizes": {"m": [1]}}, {"power": [1.0] * 6},
        {"row": [1, 2]}, {"latency_s": [[1.0] * 6]}, {"flop": [1.0]},
    ],
)  # fmt: skip
def test_columns_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        table(**change)


@pytest.mark.parametrize("column", [Column([0, 0, 0, 0, 0, 2], "1"), Column([-1, 0, 0, 0, 0, 0], "1"), Column([0.0] * 6, "1"), Column([0], "1")])
def test_codes_without_a_text_are_refused_also_in_a_document(column: Column) -> None:
    plain = encode(table()).replace(b'"values":[0,1,0,1,0,1]', b'"values":[0,1,0,1,0,9]')
    with pytest.raises(ReadError):
        decode(plain, LatencyTable)
    with pytest.raises(UsageError):
        LatencyTable(**{**{name: getattr(table(), name) for name in LatencyTable.__struct_fields__}, "kind": column})


def test_threads_go_along_with_the_rows_and_two_numbers_of_them_do_not_mix() -> None:
    one = msgspec.structs.replace(table(), measured_on={"a": MeasuredOn(threads=1)})
    assert decode(encode(one), LatencyTable) == one
    assert [one.rows(np.array([0, 1])).threads(name) for name in ("a", "b", "c")] == [1, 0, 0]
    assert LatencyTable.joined([one, one]).measured_on == one.measured_on
    # Rows of b say nothing in either.
    assert LatencyTable.joined([one, table().rows(np.array([2, 5]))]).measured_on == one.measured_on
    for other in (table(), msgspec.structs.replace(one, measured_on={"a": MeasuredOn(threads=2)})):
        with pytest.raises(UsageError, match="rows of a that were measured with one number of threads"):
            LatencyTable.joined([one, other])
    with pytest.raises(UsageError, match="threads"):
        MeasuredOn(threads=-1)


def test_rows_of_two_machines_of_one_name_do_not_mix() -> None:
    here, there = (msgspec.structs.replace(table(), measured_on={"a": MeasuredOn(fingerprint=name)}) for name in ("f1", "f2"))
    assert LatencyTable.joined([table(), here]).machine("a") == "f1"
    with pytest.raises(UsageError, match="f1 and f2"):
        LatencyTable.joined([here, there])


def test_a_column_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="heads"):
        table().values("heads")
    with pytest.raises(UsageError, match="latency_s"):
        table().optional("latency_s")


@given(st.lists(st.tuples(st.sampled_from(["gemm", "conv"]), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30), st.randoms())
def test_group_codes_are_those_of_equal_rows_in_any_order(rows: list[tuple[str, int, int]], random: object) -> None:
    def built(chosen: list[tuple[str, int, int]]) -> LatencyTable:
        kind, m, n = zip(*chosen, strict=True)
        return LatencyTable.of(latency_s=[1.0] * len(chosen), kind=list(kind), device="d", sizes={"m": m, "n": n})

    codes = built(rows).shape_codes().tolist()
    by_row = dict(zip(rows, codes, strict=True))
    assert [by_row[row] for row in rows] == codes
    assert len(set(codes)) == len(set(rows))
    assert sorted(set(codes)) == list(range(len(set(rows))))
    turned = rows[::-1]
    assert built(turned).shape_codes().tolist() == codes[::-1]
