"""Splits: whole groups, every group once, the same for rows in any order, and refused where something leaks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import LatencyTable, UsageError
from ridgeline.model.validation import Split, device_key, folds, group_codes, hold_out, leaks, nested, one_after_another, refuse_leaks, same_devices

CLAIMS = ("row", "shape", "family", "device", "precision", "m")


def table(count: int = 240, seed: int = 0) -> LatencyTable:
    draw = np.random.default_rng(seed)
    return LatencyTable.of(
        latency_s=np.exp(draw.normal(size=count)), kind=draw.choice(["gemm", "softmax", "conv", "norm", "bmm"], count).tolist(),
        device=draw.choice(["A100", "V100", "T4", "P4", "L4"], count).tolist(),
        precision=draw.choice(["fp32", "fp16", "bf16", "int8", "fp8"], count).tolist(), file="x.csv",
        sizes={"m": draw.integers(1, 7, count), "n": draw.integers(1, 4, count)},
    )  # fmt: skip


@given(st.sampled_from(CLAIMS), st.integers(2, 5), st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_each_group_is_held_out_once_and_whole(by: str, count: int, seed: int) -> None:
    found = table()
    codes = group_codes(found, by)
    parts = folds(found, by, count, seed)
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(len(found)))
    for part in parts:
        assert not set(codes[part.train].tolist()) & set(codes[part.test].tolist())
        assert sorted([*part.train.tolist(), *part.test.tolist()]) == list(range(len(found)))
        assert not leaks(found, part)


@given(st.sampled_from(CLAIMS), st.integers(0, 20), st.integers(0, 20))
@settings(max_examples=40, deadline=None)
def test_another_order_of_rows_gives_the_same_split(by: str, seed: int, shuffle: int) -> None:
    found = table()
    order = np.random.default_rng(shuffle).permutation(len(found))
    moved = found.rows(order)
    for one, other in zip(folds(found, by, 3, seed), folds(moved, by, 3, seed), strict=True):
        assert set(one.test.tolist()) == set(order[other.test].tolist())
    one, other = hold_out(found, by, 0.25, seed), hold_out(moved, by, 0.25, seed)
    assert set(one.test.tolist()) == set(order[other.test].tolist())


def test_the_seed_draws_and_the_share_is_kept() -> None:
    found = table(2000)
    first, again, other = hold_out(found, "row", 0.2, 1), hold_out(found, "row", 0.2, 1), hold_out(found, "row", 0.2, 2)
    assert first.test.tolist() == again.test.tolist() != other.test.tolist()
    assert len(first.test) == 400
    sizes = [len(part.test) for part in folds(found, "row", 7)]
    assert max(sizes) - min(sizes) <= 1
    # A shape takes its rows on all devices with it.
    assert abs(len(hold_out(found, "shape", 0.2, 1).test) - 400) < 40


def test_one_device_after_the_other() -> None:
    found = table()
    parts = list(one_after_another(found, "device"))
    assert [part.name for part in parts] == ["device A100", "device L4", "device P4", "device T4", "device V100"]
    assert all(set(found.rows(part.test).texts("device")) == {part.name.split()[1]} for part in parts)


def test_nested_folds_never_see_the_outer_test_rows() -> None:
    found = table()
    codes = group_codes(found, "shape")
    for outer, inner in nested(found, "shape", 3, 2, 5):
        held = set(codes[outer.test].tolist())
        for part in inner:
            assert set(np.concatenate([part.train, part.test]).tolist()) == set(outer.train.tolist())
            assert not held & set(codes[part.train].tolist())
            assert not held & set(codes[part.test].tolist())
            assert not leaks(found, part)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_shares_that_are_none(share: float) -> None:
    with pytest.raises(UsageError):
        hold_out(table(), "row", share)


def test_too_few_groups() -> None:
    one = table().rows(np.arange(3))
    for refused in (lambda: folds(one, "row", 4), lambda: folds(one, "row", 1), lambda: hold_out(one, "file", 0.5), lambda: folds(one, "nothing", 2)):
        with pytest.raises(UsageError):
            refused()
    with pytest.raises(UsageError):
        list(one_after_another(one, "file"))


def _split(by: str, train: list[int], test: list[int]) -> Split:
    return Split(by=by, name="by hand", train=np.array(train), test=np.array(test))


def _measured(latency_s: list[float], device: list[str] | str = "A100", m: list[int] | None = None) -> LatencyTable:
    count = len(latency_s)
    return LatencyTable.of(latency_s=latency_s, kind="gemm", device=device, precision="fp16", file="f.csv", sizes={"m": m or [8] * count})


def test_a_row_on_both_sides() -> None:
    (found, *_) = leaks(_measured([1.0, 2.0], m=[1, 2]), _split("row", [0, 1], [1]))
    assert (found.what, found.rows, found.places) == ("row", 1, ("f.csv row 2",))


def test_a_shape_on_both_sides_of_a_split_by_shape() -> None:
    rows = _measured([1.0, 2.0, 3.0], device=["A100", "V100", "A100"], m=[1, 1, 2])
    with pytest.raises(UsageError, match="the same shape") as refused:
        refuse_leaks(rows, _split("shape", [0, 2], [1]))
    assert "f.csv row 2 and f.csv row 1" in str(refused.value)
    assert leaks(rows, _split("device", [0, 2], [1])) == ()
    assert leaks(rows, _split("row", [0, 2], [1])) == ()


def test_one_measurement_written_down_twice() -> None:
    rows = _measured([0.12345, 0.2, 0.1234, 0.13])
    (found,) = leaks(rows, _split("row", [0, 1], [2, 3]))
    assert (found.what, found.rows, found.places) == ("measurement", 1, ("f.csv row 3 and f.csv row 1",))
    assert leaks(rows, _split("row", [0, 1], [2, 3]), rounding=1e-5) == ()
    # The same latency of another shape, or on another device, is no repetition.
    assert leaks(_measured([1.0, 1.0], m=[1, 2]), _split("row", [0], [1])) == ()
    assert leaks(_measured([1.0, 1.0], device=["A100", "V100"]), _split("row", [0], [1])) == ()


def test_one_device_under_two_names() -> None:
    rows = _measured([1.0, 2.0, 3.0], device=["NVIDIA Tesla V100-PCIE-32GB", "v100_pcie_32gb", "T4"])
    (found,) = leaks(rows, _split("device", [0, 2], [1]))
    assert (found.what, found.rows) == ("device", 1)
    assert leaks(rows, _split("device", [0, 1], [2])) == ()
    aliased = _measured([1.0, 2.0], device=["card 0", "V100"])
    assert leaks(aliased, _split("device", [0], [1])) == ()
    assert leaks(aliased, _split("device", [0], [1]), aliases={"card 0": "Tesla V100"})[0].what == "device"


def test_one_device_by_its_numbers() -> None:
    draw = np.random.default_rng(2)
    times = np.exp(draw.normal(size=30))
    same, other = times * (1 + 1e-5 * draw.normal(size=30)), times * np.exp(0.05 * draw.normal(size=30))
    shapes = list(range(1, 31))
    rows = _measured([*times, *same, *other], device=["one"] * 30 + ["two"] * 30 + ["three"] * 30, m=shapes * 3)
    assert [(a, b) for a, b, _ in same_devices(rows)] == [("one", "two")]
    (found,) = leaks(rows, _split("device", list(range(30)), list(range(30, 90))))
    assert (found.what, found.rows) == ("device", 30)


@pytest.mark.parametrize(("one", "other", "alike"), [
    ("NVIDIA A100-SXM4-40GB", "a100 sxm4 40gb", True), ("Intel(R) Xeon(R) Gold 6226", "xeon gold 6226", True), ("A100", "A10", False),
    ("A100 40GB", "A100 80GB", False), ("GeForce RTX 3090", "RTX 3090 Ti", False), ("NVIDIA GPU", "AMD GPU", False),
])  # fmt: skip
def test_names_of_devices(one: str, other: str, alike: bool) -> None:
    assert (device_key(one) == device_key(other)) is alike


def test_indexes_outside_of_the_table() -> None:
    for train, test in (([0], [5]), ([], [0]), ([0], []), ([-1], [0])):
        with pytest.raises(UsageError):
            leaks(_measured([1.0, 2.0]), Split(by="row", name="", train=np.array(train, int), test=np.array(test, int)))
