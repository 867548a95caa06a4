"""Steps through memory: the closed cases, and what numpy's own iterator does with random operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.work.numpy import ArrayFacts, work_of
from ridgeline.work.numpy.call import Call
from ridgeline.work.numpy.walk import along_axis, steps

N = 64


def facts(array: Any, buffer: int, *, fresh: bool = False) -> ArrayFacts:
    return ArrayFacts(
        shape=array.shape,
        strides=array.strides,
        item_bytes=array.itemsize,
        dtype=array.dtype.name,
        buffer=buffer,
        buffer_bytes=array.nbytes,
        fresh=fresh,
    )


def walked(kind: str, *arrays: Any, group: str = "elementwise", **options: Any) -> dict[int, int]:
    inputs = tuple(facts(array, number) for number, array in enumerate(arrays))
    return steps(Call(kind=kind, inputs=inputs, options=options), group)


SQUARE = np.zeros((N, N))


@pytest.mark.parametrize(
    ("kind", "arrays", "group", "expected"),
    [
        ("numpy.add", (SQUARE, SQUARE), "elementwise", {}),
        # All operands by column: numpy walks by column.
        ("numpy.add", (SQUARE.T, SQUARE.T), "elementwise", {}),
        ("numpy.negative", (SQUARE.T,), "elementwise", {}),
        # They disagree: C order wins.
        ("numpy.add", (SQUARE, SQUARE.T), "elementwise", {1: 8 * N}),
        ("numpy.add", (SQUARE.T, SQUARE), "elementwise", {0: 8 * N}),
        # A sum over the first axis runs row by row, over the last one too.
        ("numpy.sum", (SQUARE,), "reduction", {}),
        ("numpy.sum", (SQUARE.T,), "reduction", {}),
        ("numpy.sum", (SQUARE[:, 3],), "reduction", {0: 8 * N}),
        ("numpy.sum", (SQUARE[:, ::2],), "reduction", {0: 16}),
        # Two columns of each row are runs of 16 bytes, one every 8 N bytes: on average 4 N an element.
        ("numpy.sum", (SQUARE[:, :2],), "reduction", {0: 4 * N}),
        # A run of a whole cache line is as good as contiguous.
        ("numpy.sum", (SQUARE[:, :8],), "reduction", {}),
        ("numpy.add", (SQUARE, SQUARE[0]), "elementwise", {}),
        ("numpy.matmul", (SQUARE, SQUARE.T), "matmul", {}),
        ("numpy.matmul", (np.zeros((N, 2 * N))[:, ::2], SQUARE), "matmul", {0: 16}),
        ("numpy.linalg.inv", (SQUARE,), "other", {}),
    ],
)
def test_steps(kind: str, arrays: Any, group: str, expected: dict[int, int]) -> None:
    assert walked(kind, *arrays, group=group) == expected


@pytest.mark.parametrize(
    ("kind", "options", "axis"),
    [
        ("numpy.sort", {"args": (None, 0)}, 0),
        ("numpy.sort", {"args": (None,)}, 1),
        ("numpy.cumsum", {"axis": 0, "args": (None,)}, 0),
        ("numpy.cumsum", {"args": (None,)}, None),
        ("numpy.fft.fft", {"axis": -2, "args": (None,)}, 0),
        ("numpy.sum", {"axis": 0, "args": (None,)}, None),
        ("numpy.sort", {"axis": 7, "args": (None,)}, None),
    ],
)
def test_functions_along_an_axis(kind: str, options: dict[str, Any], axis: int | None) -> None:
    assert along_axis(Call(kind=kind, inputs=(facts(SQUARE, 0),), options=options)) == axis


def test_the_work_of_a_call_carries_its_steps() -> None:
    by_column = work_of("numpy.sort", [facts(SQUARE, 0)], [facts(SQUARE, 1, fresh=True)], {"axis": 0, "args": (None,)})
    by_row = work_of("numpy.sort", [facts(SQUARE, 0)], [facts(SQUARE, 1, fresh=True)], {"axis": 1, "args": (None,)})
    assert [use.stride_bytes for use in by_column.reads or ()] == [8 * N]
    assert [use.stride_bytes for use in by_row.reads or ()] == [None]


operands = st.lists(st.tuples(st.permutations(range(3)), st.sampled_from([1, 2, 3])), min_size=1, max_size=3)


@given(operands)
def test_numpy_walks_the_same_way(given_operands: list[tuple[list[int], int]]) -> None:
    # Operands of one logical shape with axes permuted in memory and holes along the last one in memory.
    shape = (9, 10, 11)
    arrays = []
    for order, hole in given_operands:
        stored = [shape[axis] for axis in order]
        stored[-1] *= hole
        base = np.zeros(stored)[..., ::hole]
        arrays.append(base.transpose(np.argsort(order)))
    iterator: Any = np.nditer(arrays, flags=["external_loop"], order="K")
    chunk = iterator.value if len(arrays) > 1 else (iterator.value,)
    expected = {number: part.strides[0] for number, part in enumerate(chunk) if part.strides[0] > 8}
    assert walked("numpy.add", *arrays) == expected
