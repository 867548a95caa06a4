"""What decides which way a kernel takes, by hand: blocks that threads share, channels that fill sixteens, what is far away."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ridgeline.core import Workload
from ridgeline.model.families import demand, sizes_of
from ridgeline.model.operators.cases import cases
from ridgeline.model.operators.estimates import estimates
from ridgeline.model.operators.features import feature_matrix, operators
from support.operator_rows import device


def plain(kind: str, units: float, **sizes: int) -> dict[str, float]:
    """The columns of one operator that are no logarithms."""
    given = sizes_of(kind, {name: np.array([float(size)]) for name, size in sizes.items()})
    return {name: float(np.asarray(values).ravel()[0]) for name, values in cases(kind, given, demand(kind, given), units).plain.items()}


IMAGE = {"n": 1, "h": 8, "w": 8, "p": 8, "q": 8, "r": 3, "s": 3}


@pytest.mark.parametrize(("groups", "units", "share"), [(1, 1, 1.0), (2, 2, 1.0), (3, 2, 0.75), (4, 2, 1.0), (3, 4, 0.75), (8, 3, 8 / 9)])
def test_groups_are_shared_out_whole(groups: int, units: int, share: float) -> None:
    """Three groups take two threads as long as four: three quarters of what they could do."""
    found = plain("convolution", units, c=16 * groups, k=16 * groups, groups=groups, **IMAGE)
    assert found["shared groups"] == pytest.approx(share)


def test_channels_that_fill_sixteens() -> None:
    whole, odd = (plain("convolution", 2, c=c, k=k, groups=1, **IMAGE) for c, k in ((32, 48), (18, 20)))
    assert [whole[name] for name in ("whole channels", "whole filters", "channels of sixteen", "filters of sixteen")] == [1, 1, 1, 1]
    assert [odd[name] for name in ("whole channels", "whole filters")] == [0, 0]
    assert [odd[name] for name in ("channels of four", "channels of sixteen", "filters of sixteen")] == pytest.approx([18 / 20, 18 / 32, 20 / 32])


def test_a_strided_reduction_shares_what_lies_outside() -> None:
    """5 blocks of 6 results each: two threads take three blocks in turn; 6 results fill six eighths of a vector, and no whole fours."""
    found = plain("reduction", 2, rows=30, columns=7, inner=6)
    assert (found["strided"], found["one block"], found["whole fours"]) == (1, 0, 0)
    assert [found[name] for name in ("shared outer", "inner of four", "inner of eight")] == pytest.approx([5 / 6, 6 / 8, 6 / 8])
    assert plain("reduction", 2, rows=6, columns=7, inner=6)["one block"] == 1
    assert plain("reduction", 2, rows=48, columns=49)["shared blocks"] == pytest.approx(3 / 4), "blocks of sixteen channels"


def features(work: Workload, *names: str) -> list[float]:
    found = operators(work.kind, [work])
    made: list[float] = feature_matrix(found, estimates([work], device()), device(), names)[0].tolist()
    return made


def test_each_distance_has_a_column_of_its_own() -> None:
    """Ten times as much touched since the memory of the results was used moves that column alone, by ln 10."""
    given: dict[str, Any] = {"kind": "softmax", "sizes": {"rows": 64, "columns": 64}, "reuse_bytes": 1e8, "age_bytes": 1e8}
    near = features(Workload(**given, result_age_bytes=1e7), "cold", "old", "place", "place inner")
    far = features(Workload(**given, result_age_bytes=1e8), "cold", "old", "place", "place inner")
    assert [b - a for a, b in zip(near, far, strict=True)] == pytest.approx([0.0, 0.0, math.log(10), math.log(10)])


def test_the_layout_is_seen_whatever_is_done_in_the_same_pass() -> None:
    sizes = {"c": 32, "k": 32, "groups": 1, **IMAGE}
    layouts = [("NCHWc", "Conv"), ("NCHWc", "Conv+Relu"), ("", "Conv"), ("NHWC", "QLinearConv")]
    found = [features(Workload(kind="convolution", sizes=sizes, layout=layout, variant=variant), "blocked")[0] for layout, variant in layouts]
    assert found == [1, 1, 0, 0]


def test_larger_windows_are_more_to_unroll() -> None:
    small, large = ({"c": 32, "k": 32, "groups": 1, **IMAGE, "r": side, "s": side} for side in (1, 3))
    ratios = [math.exp(features(Workload(kind="convolution", sizes=sizes), "unrolled")[0]) - 1 for sizes in (small, large)]
    times = [float(estimates([Workload(kind="convolution", sizes=sizes)], device()).latency_s[0]) for sizes in (small, large)]
    assert ratios[1] * times[1] == pytest.approx(9 * ratios[0] * times[0])
