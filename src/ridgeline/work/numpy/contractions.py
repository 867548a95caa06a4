"""Products of several operands or over several axes: einsum, tensordot, chains of matrices, powers, covariances.

Each is taken apart into the products that numpy makes of it, in the order that numpy chooses, so that what is counted is what is executed: an einsum
of three operands is three nested loops or two products, depending on `optimize`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ridgeline.work.work import Work

from .call import Call, formula, moved
from .facts import ArrayFacts
from .products import multiply_adds
from .transposed import as_matrix, results_computed

__all__: list[str] = []

#: Longest chain of matrices whose order is worked out: it takes the cube of that.
_LONGEST_CHAIN = 64
#: Operands of an einsum whose order is asked for.
_MOST_OPERANDS = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@formula("tensordot linalg.tensordot")
def _tensordot(call: Call) -> Work:
    """|a| = free_a·K and |b| = free_b·K with |out| = free_a·free_b, so K = √(|a||b| ÷ |out|)."""
    if len(call.inputs) < 2:
        return moved(call, "matmul", None, None, reason="an operand that is no array")
    first, second = call.inputs[:2]
    results = call.outputs[0].size if call.outputs else 1
    depth = math.sqrt(first.size * second.size / results) if results else 0.0
    summed = _summed_axes(call.option("axes", 2, 2), len(first.shape), len(second.shape))
    if summed is not None:
        results = _results(first, second, *summed, results)
    return multiply_adds(call, float(round(depth)) * results)


def _results(first: ArrayFacts, second: ArrayFacts, of_first: Sequence[int], of_second: Sequence[int], results: int) -> int:
    left = as_matrix(first, ([axis for axis in range(len(first.shape)) if axis not in of_first], of_first))
    right = as_matrix(second, (of_second, [axis for axis in range(len(second.shape)) if axis not in of_second]))
    return results if left is None or right is None else results_computed(left, right, results, copies=True)


def _summed_axes(axes: object, first: int, second: int) -> tuple[list[int], list[int]] | None:
    """The axes of both operands that are summed over, `None` where they cannot be told."""
    if isinstance(axes, int) and 0 <= axes <= min(first, second):
        return list(range(first - axes, first)), list(range(axes))
    if not isinstance(axes, tuple) or len(axes) != 2:
        return None
    one, other = ([axis] if isinstance(axis, int) else list(axis) if isinstance(axis, tuple) else [] for axis in axes)
    if not one or len(one) != len(other) or not all(isinstance(axis, int) for axis in (*one, *other)):
        return None
    if not all(-first <= axis < first for axis in one) or not all(-second <= axis < second for axis in other):
        return None
    return [axis % first for axis in one], [axis % second for axis in other]


# -- einsum --


@formula("einsum")
def _einsum(call: Call) -> Work:
    """Each product: the combinations of its letters × 2 where something is summed, × 1 where nothing is."""
    args = call.options.get("args") or ()
    subscripts = args[0] if args and isinstance(args[0], str) else None
    read = _terms(subscripts.replace(" ", ""), call.inputs) if subscripts else None
    if read is None:
        return moved(call, "matmul", None, None, reason="subscripts that cannot be read from here")
    terms, written = read
    sizes = _lengths(terms, call.inputs)
    nest = float(math.prod(sizes.values()))
    summed = not set(sizes) <= set(written)
    if len(terms) == 1:
        return moved(call, "reduction" if summed else "movement", nest if summed else 0.0, "reduce" if summed else None)
    several = len(terms) > 2
    if not summed:
        reason = "three or more operands counted as one loop nest" if several else ""
        return moved(call, "elementwise", nest * (len(terms) - 1), "add", reason=reason)
    optimize = call.options.get("optimize", False)
    if optimize is False:
        reason = "three or more operands in one loop nest: optimize=True takes them two at a time" if several else ""
        return multiply_adds(call, nest * (len(terms) - 1), reason=reason, threaded=False)
    if not several:
        return multiply_adds(call, _product_of(terms, written, call.inputs, sizes))
    steps = None if optimize is None else _path(terms, written, sizes, optimize)
    if steps is None:
        return moved(call, "matmul", None, None, reason="an order of its operands that cannot be told from here")
    return multiply_adds(call, steps, reason="two operands at a time, in the order of numpy.einsum_path")


def _terms(subscripts: str, inputs: Sequence[ArrayFacts]) -> tuple[list[str], str] | None:
    """Letters of every operand and of the result; what an ellipsis covers gets letters that are not in use, aligned at the right."""
    given, arrow, result = subscripts.partition("->")
    spare = [letter for letter in _LETTERS if letter not in subscripts]
    terms = []
    if len(given.split(",")) != len(inputs):
        return None
    covered = 0
    for term, array in zip(given.split(","), inputs, strict=True):
        head, dots, tail = term.partition("...")
        hidden = len(array.shape) - len(head) - len(tail)
        if hidden < 0 or (hidden and not dots) or hidden > len(spare) or not set(head + tail) <= set(_LETTERS):
            return None
        covered = max(covered, hidden)
        terms.append(head + "".join(spare[:hidden][::-1]) + tail)
    dotted = "".join(spare[:covered][::-1])
    if arrow:
        return terms, result.replace("...", dotted)
    letters = given.replace(",", "").replace(".", "")
    return terms, dotted + "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))


def _lengths(terms: Sequence[str], inputs: Sequence[ArrayFacts]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, array in zip(terms, inputs, strict=True):
        for letter, size in zip(term, array.shape, strict=True):
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    return sizes


def _product_of(terms: Sequence[str], written: str, arrays: Sequence[ArrayFacts], sizes: dict[str, int]) -> float:
    """Multiply-adds of two operands, which numpy makes a product of matrices, or of stacks of them."""
    count = _pair(terms, set(written), sizes)
    if any(len(set(term)) < len(term) or not set(term) <= set(written) | set(other) for term, other in zip(terms, reversed(terms), strict=True)):
        return count
    stacked = [[letter] for letter in terms[0] if letter in terms[1] and letter in written]
    summed = [letter for letter in terms[0] if letter in terms[1] and letter not in written]
    free = [[letter for letter in term if [letter] not in stacked and letter not in summed] for term in terms]
    wanted = ([*stacked, free[0], summed], [*stacked, summed, free[1]])
    left, right = (
        as_matrix(array, [[term.index(letter) for letter in group] for group in groups])
        for term, array, groups in zip(terms, arrays, wanted, strict=True)
    )
    depth = math.prod(sizes[letter] for letter in summed)
    if left is None or right is None or not depth:
        return count
    return float(depth) * results_computed(left, right, round(count / depth), copies=False)


def _pair(terms: Sequence[str], kept: set[str], sizes: dict[str, int]) -> float:
    """Multiply-adds of one product; a letter of one operand alone that nobody needs is summed before."""
    shared = set.intersection(*(set(term) for term in terms))
    return float(math.prod(sizes[letter] for letter in set("".join(terms)) if letter in shared or letter in kept)) * (len(terms) - 1)


def _path(terms: Sequence[str], written: str, sizes: dict[str, int], optimize: Any) -> float | None:
    """Multiply-adds of the products that numpy makes of several operands, in its order."""
    # The search for the best order takes the factorial of their number.
    if len(terms) > _MOST_OPERANDS:
        return None
    shapes = [tuple(sizes[letter] for letter in term) for term in terms]
    if isinstance(optimize, tuple):
        optimize = list(optimize)
    try:
        path = np.einsum_path(f"{','.join(terms)}->{written}", *(np.broadcast_to(0.0, shape) for shape in shapes), optimize=optimize)[0]
    except (TypeError, ValueError):
        return None
    left, total = list(terms), 0.0
    for step in path[1:]:
        taken = [left.pop(index) for index in sorted(step, reverse=True)]
        kept = {*written, *"".join(left)}
        total += _pair(taken, kept, sizes)
        left.append("".join(sorted(kept & set("".join(taken)))))
    return total


# -- chains --


@formula("linalg.multi_dot")
def _chain(call: Call) -> Work:
    """The products in the order of fewest multiply-adds (Cormen et al., Introduction to Algorithms, section 15.2), as numpy takes them."""
    arrays = list(call.inputs)
    if not 2 <= len(arrays) <= _LONGEST_CHAIN or any(not 1 <= len(array.shape) <= 2 for array in arrays):
        return moved(call, "matmul", None, None, reason="no chain of matrices")
    rows = [array.shape[0] if len(array.shape) == 2 else 1 if index == 0 else array.shape[0] for index, array in enumerate(arrays)]
    sizes = [*rows, arrays[-1].shape[-1] if len(arrays[-1].shape) == 2 else 1]
    return multiply_adds(call, _ordered(arrays, sizes))


def _ordered(arrays: Sequence[ArrayFacts], sizes: Sequence[int]) -> float:
    """Multiply-adds of the cheapest order, a matrix beside its own transpose as one triangle."""
    count = len(arrays)
    cost = [[0.0] * count for _ in range(count)]
    done = [[0.0] * count for _ in range(count)]
    for width in range(1, count):
        for start in range(count - width):
            end = start + width
            options = [
                (cost[start][cut] + cost[cut + 1][end] + float(sizes[start]) * sizes[cut + 1] * sizes[end + 1], cut) for cut in range(start, end)
            ]
            cost[start][end], cut = min(options)
            results = sizes[start] * sizes[end + 1]
            if width == 1:
                results = results_computed(arrays[start], arrays[end], results, copies=True)
            done[start][end] = done[start][cut] + done[cut + 1][end] + float(sizes[cut + 1]) * results
    return done[0][count - 1]


@formula("linalg.matrix_power")
def _power(call: Call) -> Work:
    """By squaring: a product for every bit of the exponent but the first, and one more for each of them that is set."""
    exponent = call.option("n", 1)
    if not call.inputs or len(call.inputs[0].shape) < 2 or not isinstance(exponent, int):
        return moved(call, "matmul", None, None, reason="a power that is not known")
    matrix = call.inputs[0]
    bits = abs(exponent)
    products = float(max(0, bits.bit_length() - 1 + bits.bit_count() - 1))
    # The inverse is n³ multiply-adds, as `linalg.inv`.
    return multiply_adds(call, (products + (exponent < 0)) * matrix.size * matrix.shape[-1])


@formula("cov corrcoef")
def _covariance(call: Call) -> Work:
    """The centred observations times their own transpose: one triangle."""
    if len(call.inputs) != 1 or len(call.inputs[0].shape) > 2:
        return moved(call, "matmul", None, None, reason="observations that are not one matrix")
    shape = call.inputs[0].shape if len(call.inputs[0].shape) == 2 else (1, call.inputs[0].size)
    variables, observations = shape if call.option("rowvar", 2, True) else shape[::-1]
    return multiply_adds(call, float(observations) * variables * (variables + 1) / 2, reason="the product; centring it is not counted")
