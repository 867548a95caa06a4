"""Gradients and composition: FLOPs of training are three times those of inference, and the slower of host and device counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError, Workload
from ridgeline.model.families import demand
from ridgeline.model.graphs.composing import composed
from ridgeline.model.graphs.gradients import TRANSPOSED, gradients

SIZE = st.integers(1, 4096)


@given(m=SIZE, n=SIZE, k=SIZE, batch=st.integers(1, 64), variant=st.sampled_from(["linear", "matmul"]))
def test_both_gradients_of_a_product_are_as_much_work_as_it(m: int, n: int, k: int, batch: int, variant: str) -> None:
    sizes = {"m": m, "n": n, "k": k} | ({"batch": batch, "groups": batch} if variant == "matmul" else {})
    forward = Workload(kind="gemm", variant=variant, sizes=sizes)
    products = [work for work in gradients(forward).backward if work.kind == "gemm"]
    assert [demand("gemm", work.sizes).flop.item() for work in products] == [demand("gemm", sizes).flop.item()] * 2
    assert {work.layout for work in products} == {TRANSPOSED}


def test_bytes_of_gradients() -> None:
    def moved(work: Workload) -> int:
        return sum(8 * each.sizes["elements"] for each in gradients(work).backward)

    assert moved(Workload(kind="softmax", sizes={"rows": 10, "columns": 100})) == 22_000
    assert moved(Workload(kind="elementwise", variant="mul", sizes={"elements": 1000, "inputs": 2})) == 24_000
    assert moved(Workload(kind="elementwise", variant="mul", sizes={"elements": 1000, "inputs": 1})) == 8_000
    assert moved(Workload(kind="elementwise", variant="add", sizes={"elements": 1000, "inputs": 2})) == 0
    assert moved(Workload(kind="copy", variant="dropout", sizes={"elements": 1250})) == 25_000
    weights = gradients(Workload(kind="gemm", variant="linear", sizes={"m": 4, "n": 8, "k": 16})).accumulation
    assert [8 * work.sizes["elements"] for work in weights] == [12 * 8 * 16]


def test_the_slower_of_host_and_device_counts() -> None:
    found = composed([1e-3, 2e-3], [2, 3], launch_s=1e-5)
    assert (found.seconds, found.exposed_s) == (pytest.approx(8e-3), 0)
    bound = composed([1e-6, 2e-6], [2, 3], launch_s=1e-5)
    assert (bound.seconds, bound.exposed_s) == (pytest.approx(5e-5), pytest.approx(4.2e-5))


@pytest.mark.parametrize("wrong", [([1.0, float("nan")], [1, 1]), ([-1.0], [1]), ([1.0], [1, 2]), ([1.0], [-1])])
def test_times_that_cannot_be_are_refused(wrong: tuple[list[float], list[int]]) -> None:
    with pytest.raises(UsageError):
        composed(*wrong)
