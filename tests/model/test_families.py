"""What operators must do, counted one by one beside the formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.model.families import FAMILIES, Demand, demand, sizes_of

small = st.integers(1, 6)


def said(found: Demand) -> tuple[float, ...]:
    return tuple(float(column) for column in found)


@given(small, small, small, small)
def test_gemm(batch: int, m: int, n: int, k: int) -> None:
    products = len(list(itertools.product(range(batch), range(m), range(n), range(k))))
    assert said(demand("gemm", {"batch": batch, "m": m, "n": n, "k": k})) == (2 * products, batch * m * k, k * n, batch * m * n)
    assert said(demand("gemm", {"batch": batch, "groups": batch, "m": m, "n": n, "k": k}))[2] == batch * k * n


def test_convolution_and_one_of_depth() -> None:
    sizes = {"c": 8, "h": 10, "w": 12, "k": 16, "p": 8, "q": 10, "r": 3, "s": 3}
    assert said(demand("convolution", sizes)) == (2 * 16 * 80 * 8 * 9, 8 * 120, 16 * 8 * 9, 16 * 80)
    assert said(demand("convolution", sizes | {"k": 8, "groups": 8})) == (2 * 8 * 80 * 9, 8 * 120, 8 * 9, 8 * 80)


@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 6), st.integers(0, 8), st.booleans())
def test_attention_pair_by_pair(heads: int, queries: int, before: int, window: int, causal: bool) -> None:
    keys = before + queries
    seen = [
        (query, key)
        for query, key in itertools.product(range(before, keys), range(keys))
        if not causal or (key <= query and (not window or key > query - window))
    ]
    asked = {
        "heads": heads,
        "kv_heads": 1,
        "queries": queries,
        "keys": keys,
        "head_size": 4,
        "causal": int(causal),
        "window": window if causal else 0,
    }
    found = demand("attention", asked)
    assert float(found.flop) == 2 * 2 * heads * len(seen) * 4
    assert float(found.weights) == 2 * len({key for _, key in seen}) * 4


@given(st.integers(1, 12), st.integers(1, 8), st.integers(1, 20))
def test_experts_that_are_reached(experts: int, active: int, tokens: int) -> None:
    active = min(active, experts)
    found = demand("moe", {"tokens": tokens, "hidden": 4, "inner": 2, "experts": experts, "active": active})
    assert float(found.flop) == 2 * tokens * active * 3 * 8
    reached = experts * (1 - (1 - active / experts) ** tokens)
    assert float(found.weights) == pytest.approx(24 * reached)
    assert (
        float(demand("moe", {"tokens": tokens, "hidden": 4, "inner": 2, "experts": experts, "active": active, "shared": 1}).weights) > found.weights
    )


def test_every_family_takes_arrays_and_nothing_grows_smaller() -> None:
    for kind, family in FAMILIES.items():
        sizes = {name: np.array([2.0, 4.0]) for name in family.sizes}
        one, two = np.array(demand(kind, sizes)).T
        assert (two >= one).all(), kind
        assert one.shape == (4,)
        assert set(sizes_of(kind, sizes)) == {*family.sizes, *family.defaults}


@pytest.mark.parametrize(
    ("kind", "sizes", "named"),
    [
        ("nothing", {"m": 1}, "nothing"), ("gemm", {"m": 1, "n": 1}, "no k"), ("gemm", {"m": 1, "n": 1, "k": 1, "depth": 2}, "depth"),
        ("gemm", {"m": 0, "n": 1, "k": 1}, "0.0 at 0"), ("gemm", {"m": [1, -2], "n": 1, "k": 1}, "-2.0 at 1"),
        ("elementwise", {"elements": np.nan}, "nan"), ("elementwise", {"elements": np.inf}, "inf"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(kind: str, sizes: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        demand(kind, sizes)
    assert named in str(refused.value)
