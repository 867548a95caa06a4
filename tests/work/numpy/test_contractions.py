"""Products of a matrix with its own transpose, of several operands and over several axes: what numpy executes, in the order in which it does.

Where an operand is copied first, or where numpy has no BLAS, there is no triangle. Operands are described by real arrays: their addresses decide.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.measurement.operators.python.capture import Blocks, seen_call
from ridgeline.measurement.operators.python.kinds import Kinds
from ridgeline.work.numpy import ArrayFacts, work_of
from ridgeline.work.numpy.transposed import as_matrix

M = np.arange(15.0).reshape(3, 5)  # 3 × 5: a product with its own transpose has 9 results of 5, of which 6 are a triangle
S = np.arange(16.0).reshape(4, 4)
CUBE = np.arange(60.0).reshape(3, 4, 5)
STACK = np.ones((3, 4, 4))
WIDE = np.arange(60.0).reshape(6, 10)


def counted(function: Callable[..., Any], *args: Any, **kwargs: Any) -> float | None:
    result = function(*args, **kwargs)
    seen = seen_call(function, args, kwargs, result, Kinds(), Blocks(), lambda _: False)
    return work_of(seen.kind, seen.inputs, seen.outputs, seen.options).flop


@pytest.mark.parametrize(
    ("function", "args", "options", "multiply_adds"),
    [
        (np.matmul, (M, M.T), {}, 6 * 5),
        (np.matmul, (M.T, M), {}, 15 * 3),
        (np.dot, (M, M.T), {}, 6 * 5),
        (np.inner, (M, M), {}, 6 * 5),
        (np.linalg.multi_dot, ([M, M.T],), {}, 6 * 5),
        (np.tensordot, (M, M, (1, 1)), {}, 6 * 5),
        (np.tensordot, (M, M, ([0], [0])), {}, 15 * 3),
        (np.tensordot, (M, M), {"axes": (-1, -1)}, 6 * 5),
        # 3 × 20 with its own transpose: the axes of 4 and 5 lie side by side.
        (np.tensordot, (CUBE, CUBE, ((1, 2), (1, 2))), {}, 6 * 20),
        (np.einsum, ("ij,kj->ik", M, M), {"optimize": True}, 6 * 5),
        (np.einsum, ("ji,jk", M, M), {"optimize": True}, 15 * 3),
        (np.einsum, ("ijk,ljk->il", CUBE, CUBE), {"optimize": True}, 6 * 20),
        # Stacks: 3 products of 4 × 5 with its own transpose, 10 of 16 results each.
        (np.matmul, (CUBE, CUBE.swapaxes(1, 2)), {}, 3 * 10 * 5),
        (np.einsum, ("bij,bkj->bik", CUBE, CUBE), {"optimize": True}, 3 * 10 * 5),
        # Part of a wider matrix: matmul takes it as it lies, dot copies both operands, which then are two matrices.
        (np.matmul, (WIDE[:3, :5], WIDE[:3, :5].T), {}, 6 * 5),
        (np.dot, (WIDE[:3, :5], WIDE[:3, :5].T), {}, 9 * 5),
        (np.matmul, (WIDE[::2, ::2], WIDE[::2, ::2].T), {}, 9 * 5),
        # No transpose of itself, another matrix, an operand that is copied first, no BLAS, no matrix.
        (np.matmul, (S, S), {}, 16 * 4),
        (np.matmul, (M, M.copy().T), {}, 9 * 5),
        (np.inner, (M, M.copy()), {}, 9 * 5),
        (np.tensordot, (S, S, 1), {}, 16 * 4),
        (np.tensordot, (STACK, STACK, ((1, 2), (2, 1))), {}, 9 * 16),
        (np.einsum, ("ij,kj->ik", M, M), {}, 9 * 5),
        (np.matmul, (M.astype(int), M.astype(int).T), {}, 9 * 5),
        (np.matmul, (M[:, :1], M[:, :1].T), {}, 9),
        (np.dot, (M[:1], M[:1].T), {}, 5),
    ],
)
def test_a_matrix_times_its_own_transpose(function: Callable[..., Any], args: tuple[Any, ...], options: Any, multiply_adds: float) -> None:
    assert counted(function, *args, **options) == 2 * multiply_adds


A, B, C = (np.ones(shape) for shape in ((2, 30), (30, 5), (5, 60)))


@pytest.mark.parametrize(
    ("function", "args", "options", "multiply_adds"),
    [
        # (A B) C is 2·30·5 + 2·5·60 = 900, A (B C) is 30·5·60 + 2·30·60 = 12 600; one loop nest 2·30·5·60 products of three.
        (np.linalg.multi_dot, ([A, B, C],), {}, 900),
        (np.einsum, ("ij,jk,kl->il", A, B, C), {"optimize": True}, 900),
        (np.einsum, ("ij,jk,kl->il", A, B, C), {"optimize": ["einsum_path", (1, 2), (0, 1)]}, 12_600),
        (np.einsum, ("ij,jk,kl->il", A, B, C), {}, 2 * 18_000),
        # A chain of four: ((A B) C) D with D of 60 × 2 is 900 + 2·60·2 = 1140, but (A B)(C D) is 300 + 5·60·2 + 2·5·2 = 920.
        (np.linalg.multi_dot, ([A, B, C, np.ones((60, 2))],), {}, 920),
        (np.linalg.multi_dot, ([np.ones(30), B, C, np.ones(60)],), {}, 30 * 5 + 5 * 60 + 5),
        # M Mᵀ M: 9 results of 5, of which 6, and 15 of 3.
        (np.linalg.multi_dot, ([M, M.T, M],), {}, 6 * 5 + 15 * 3),
        # A letter that nobody else has is summed before the product: 4 + 4 additions, then 4 × 1.
        (np.einsum, ("ij,ik->i", S, S), {"optimize": True}, 4),
        (np.einsum, ("...j,jk", CUBE, C), {"optimize": True}, 12 * 5 * 60),
        # By squaring: S², S⁴, S⁵; the inverse is 4³ more.
        (np.linalg.matrix_power, (S, 5), {}, 3 * 64),
        (np.linalg.matrix_power, (S, 1), {}, 0),
        (np.linalg.matrix_power, (S + np.eye(4), -2), {}, 64 + 64),
        (np.cov, (M,), {}, 6 * 5),
        (np.cov, (M,), {"rowvar": False}, 15 * 3),
        (np.corrcoef, (M,), {}, 6 * 5),
    ],
)
def test_several_products(function: Callable[..., Any], args: tuple[Any, ...], options: Any, multiply_adds: float) -> None:
    assert counted(function, *args, **options) == 2 * multiply_adds


@pytest.mark.parametrize(
    ("kind", "inputs", "options"),
    [
        ("numpy.einsum", 3, {"args": ("ij,jk,kl->il", None, None, None), "optimize": None}),
        ("numpy.einsum", 3, {"args": ("ij,jk,kl->il", None, None, None), "optimize": ("nothing",)}),
        ("numpy.einsum", 9, {"args": ("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", *(None,) * 9), "optimize": "optimal"}),
        ("numpy.einsum", 2, {"args": ("i?,?k", None, None)}),
        ("numpy.linalg.multi_dot", 1, {}),
        ("numpy.linalg.multi_dot", 70, {}),
        ("numpy.linalg.matrix_power", 1, {"args": (None, "two")}),
        ("numpy.cov", 2, {}),
    ],
)
def test_what_cannot_be_told_is_unknown(kind: str, inputs: int, options: Any) -> None:
    work = work_of(kind, [ArrayFacts(shape=(4, 4), strides=(32, 8), buffer=number) for number in range(inputs)], [], options)
    assert (work.flop, work.engine) == (None, None)
    assert work.reason


@given(st.permutations(range(4)), st.integers(0, 4), st.lists(st.integers(1, 3), min_size=4, max_size=4), st.booleans())
def test_a_matrix_without_a_copy_is_what_numpy_says(order: list[int], split: int, shape: list[int], holes: bool) -> None:
    """Against numpy: reshaping to two axes gives a view exactly where the steps merge, and then with those steps."""
    base = np.arange(2 * np.prod(shape)).reshape(*shape[:-1], 2 * shape[-1])[..., :: 2 if holes else 1][..., : shape[-1]]
    facts = ArrayFacts(shape=base.shape, strides=base.strides, item_bytes=8)
    turned = base.transpose(order)
    sizes = [int(np.prod(turned.shape[:split])), int(np.prod(turned.shape[split:]))]
    wanted, found = turned.reshape(sizes), as_matrix(facts, (order[:split], order[split:]))
    assert (found is not None) == (np.shares_memory(wanted, base))
    if found is not None:
        assert found.shape == wanted.shape
        assert [step for size, step in zip(found.shape, found.strides, strict=True) if size > 1] == [
            step for size, step in zip(wanted.shape, wanted.strides, strict=True) if size > 1
        ]
