"""The delegate's operators tied to nodes: cases as XNNPACK makes them, and what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.measurement.operators.tflite.align import align

CONV, CLAMP, COPY, DENSE = "Convolution (NHWC, F32) IGEMM", "Clamp (NC)", "Copy (NC, X8)", "Fully Connected (NC, F32) GEMM"


@pytest.mark.parametrize(
    ("kinds", "operators", "expected"),
    [
        (["CONV_2D", "RELU"], [CONV, CLAMP], [(0,), (1,)]),
        # the activation went into the convolution
        (["CONV_2D", "RELU", "CONV_2D"], [CONV, CONV], [(0,), (), (1,)]),
        # a concatenation of three is three copies
        (["CONV_2D", "CONCATENATION", "CONV_2D"], [CONV, COPY, COPY, COPY, CONV], [(0,), (1, 2, 3), (4,)]),
        # a square that a mean took in
        (["MUL", "MEAN", "ADD"], ["Mean Squared (ND) Reduce2", "Add (ND)"], [(), (0,), (1,)]),
        # a 1×1 convolution runs as a product, behind a reshape of its own
        (["CONV_2D", "SOFTMAX"], ["Static Reshape (NC)", DENSE, "Softmax (NC, F32)"], [(0, 1), (2,)]),
        (["PAD", "CONV_2D"], [CONV], [(), (0,)]),
        (["ADD"], ["Add (ND)", CLAMP], [(0, 1)]),
    ],
)
def test_as_xnnpack_does_it(kinds, operators, expected) -> None:
    assert align(kinds, operators) == expected


def test_an_operator_nobody_knows_goes_to_a_neighbour() -> None:
    taken = align(["CONV_2D", "CONV_2D"], [CONV, "Something New (NC)", CONV])
    assert sorted(position for found in taken for position in found) == [0, 1, 2]


KINDS = st.sampled_from(["CONV_2D", "RELU", "CONCATENATION", "MEAN", "ADD", "RESHAPE", "custom:Odd"])
NAMES = st.sampled_from([CONV, CLAMP, COPY, DENSE, "Add (ND)", "Mean (ND)", "Odd One", ""])


@given(kinds=st.lists(KINDS, min_size=1, max_size=12), operators=st.lists(NAMES, max_size=16))
def test_every_operator_goes_to_exactly_one_node_in_order(kinds, operators) -> None:
    taken = align(kinds, operators)
    assert len(taken) == len(kinds)
    assert [position for found in taken for position in found] == list(range(len(operators)))


@given(kinds=st.lists(st.sampled_from(["CONV_2D", "ADD", "MEAN"]), min_size=1, max_size=40))
def test_a_delegate_that_folds_nothing_is_aligned_one_to_one(kinds) -> None:
    names = {"CONV_2D": CONV, "ADD": "Add (ND)", "MEAN": "Mean (ND)"}
    assert align(kinds, [names[kind] for kind in kinds]) == [(index,) for index in range(len(kinds))]


def test_long_lists_out_of_step() -> None:
    kinds = ["CONV_2D", "RELU"] * 600
    taken = align(kinds, [CONV] * 600)
    assert [len(found) for found in taken] == [1, 0] * 600
