"""What may not be learned from is left out with words, or refused; features and keys of what may are what they say."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, LatencyTable, ReadError, UsageError, Workload
from ridgeline.model.operators.estimates import estimates
from ridgeline.model.operators.features import feature_matrix, feature_names, is_feature, operators
from ridgeline.model.operators.keys import shape_keys
from ridgeline.model.operators.preparing import prepared, some
from support.operator_rows import DEVICE, device, made_rows, workloads_of


def with_latencies(table: LatencyTable, at: int | slice, scale: float) -> LatencyTable:
    seconds = np.array(table.latency_s.values)
    seconds[at] *= scale
    return msgspec.structs.replace(table, latency_s=Column(seconds, "s"))


def reasons(table: LatencyTable) -> str:
    return "; ".join(f"{entry.events} {entry.reason}" for entry in table.excluded)


def test_a_row_above_the_peak_is_caught_though_the_table_has_no_flop() -> None:
    table = made_rows(200, kinds=("gemm",))
    work = np.prod([table.dimension(name) for name in ("m", "n", "k")], axis=0)
    largest = int(np.argmax(work))
    found = prepared(with_latencies(table, largest, 1 / 40), {DEVICE: device()})
    assert len(found.table) == 199
    assert "1 utilisation" in reasons(found.table)


def test_a_table_in_another_unit_is_refused() -> None:
    table = made_rows(100, kinds=("gemm", "softmax"))
    with pytest.raises(UsageError, match="rows caught"):
        prepared(with_latencies(table, slice(None), 1e-3), {DEVICE: device()})


def test_a_constant_column_is_not_learned() -> None:
    table = made_rows(100, kinds=("gemm",))
    table = msgspec.structs.replace(table, power_w=Column(np.full(len(table), 50.0), "W"))
    assert "power_w is 50" in reasons(prepared(table, {DEVICE: device()}).table)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": "program"}, "program: no operator family"),
        ({"device": "a thing"}, "a thing: a device of which nothing is known"),
        ({"precision": ""}, "no precision: no format of arithmetic"),
        ({"sizes": {"m": np.full(8, 5), "n": np.full(8, 5), "k": np.zeros(8)}}, "gemm without k"),
        ({"sizes": {"m": np.full(8, 5), "n": np.full(8, 5), "k": np.full(8, 5), "depth": np.full(8, 5)}}, "gemm with depth"),
    ],
)
def test_rows_that_nothing_is_known_of_are_left_out_with_their_reason(changed: dict[str, object], said: str) -> None:
    given_: dict[str, object] = {
        "latency_s": np.full(8, 1e-3), "kind": "gemm", "device": DEVICE, "precision": "fp32",
        "sizes": {name: np.full(8, 100) for name in ("m", "n", "k")},
    }  # fmt: skip
    strange = LatencyTable.of(**(given_ | changed))  # type: ignore[arg-type]
    found = prepared(LatencyTable.joined([made_rows(30, kinds=("gemm",)), strange]), {DEVICE: device()})
    assert len(found.table) == 30
    assert said in reasons(found.table)
    assert found.rows_given == 38


def test_nothing_left_is_refused_with_the_reasons() -> None:
    with pytest.raises(UsageError, match="a device of which nothing is known"):
        prepared(made_rows(30, kinds=("gemm",)), {})


def test_some_rows_are_those_rows() -> None:
    found = prepared(made_rows(40), {DEVICE: device()})
    at = np.array([100, 3, 50])
    part = some(found, at)
    assert part.table.latency_s.values.tolist() == found.table.latency_s.values[at].tolist()
    assert part.workloads == tuple(found.workloads[index] for index in at)
    for group in part.groups:
        again = estimates([part.workloads[index] for index in group.at.tolist()], group.device)
        assert group.estimates.latency_s == pytest.approx(again.latency_s)


def test_the_version_is_of_the_rows_not_of_where_they_lie() -> None:
    rows = made_rows(30, kinds=("gemm",))
    one = prepared(rows, {DEVICE: device()}).data_version
    assert prepared(msgspec.structs.replace(rows, source="elsewhere"), {DEVICE: device()}).data_version == one
    assert prepared(with_latencies(rows, 0, 1.01), {DEVICE: device()}).data_version != one


@pytest.mark.parametrize("kind", ["gemm", "elementwise", "softmax"])
def test_features_are_finite_and_known_by_name(kind: str) -> None:
    work = workloads_of(made_rows(40, kinds=(kind,)))
    formula, found = estimates(work, device()), operators(kind, work)
    names = (*feature_names(found, formula, device()), "variant Exp", "precision int8")
    values = feature_matrix(found, formula, device(), names)
    assert values.shape == (40, len(names))
    assert np.isfinite(values).all()
    assert all(is_feature(name) for name in names)
    assert not is_feature("nonsense")
    assert values[:, -2].tolist() == [float(each.variant == "Exp") for each in work]
    with pytest.raises(ReadError, match="nonsense"):
        feature_matrix(found, formula, device(), ("nonsense",))


SIZE = st.integers(1, 2**40)


@settings(max_examples=50, deadline=None)
@given(st.tuples(SIZE, SIZE, SIZE), st.integers(0, 2), st.sampled_from(["m", "n", "k"]))
def test_keys_are_equal_for_what_is_equal_and_for_nothing_else(sizes: tuple[int, int, int], step: int, name: str) -> None:
    work = Workload(kind="gemm", variant="a", sizes=dict(zip(("m", "n", "k"), sizes, strict=True)))
    other = msgspec.structs.replace(work, sizes={**work.sizes, name: work.sizes[name] + step})
    one, two = (int(shape_keys(operators("gemm", [each]), "d")[0]) for each in (work, other))
    assert (one == two) == (step == 0)
    swapped = msgspec.structs.replace(work, sizes=dict(zip(("n", "m", "k"), sizes, strict=True)))
    assert (int(shape_keys(operators("gemm", [swapped]), "d")[0]) == one) == (sizes[0] == sizes[1])
    assert int(shape_keys(operators("gemm", [work]), "e")[0]) != one
    assert int(shape_keys(operators("gemm", [msgspec.structs.replace(work, precision="fp16")]), "d")[0]) != one
