"""Einsum: the operands are taken from left to right, as onnxruntime does, a product of two at a time.

A letter that only one operand of a step has and that neither a later operand nor the result needs is summed before the product, an addition an
element. What is left of a step is a batched matrix product, 2 FLOPs for every combination of its letters, where a shared letter is summed, else a
pointwise product, one operation an element. A better order may exist; the count is that of this one. What an ellipsis covers counts as letters of
its own, aligned at the right.
Source: ONNX Operators.md, Einsum; onnxruntime's einsum_utils for the order of its steps.
"""

from __future__ import annotations

import math
import re

from ..formula import Work, formula
from ..node import Node, Unknown

__all__ = ["letters"]


def letters(equation: str, ranks: list[int]) -> tuple[list[list[str]], list[str]]:
    """The letters of every operand and of the result; an ellipsis of n dimensions becomes `.n-1` … `.0`.

    Raises:
        Unknown: terms that do not fit the operands.
    """
    terms, arrow, result = equation.replace(" ", "").partition("->")
    operands = terms.split(",")
    if len(operands) != len(ranks):
        raise Unknown(f"an einsum of {len(operands)} terms with {len(ranks)} operands")
    spelt = [_spelt(term, rank) for term, rank in zip(operands, ranks, strict=True)]
    widest = max((sum(letter[0] == "." for letter in term) for term in spelt), default=0)
    dots = [f".{index}" for index in reversed(range(widest))]
    if arrow:
        return spelt, [letter for part in re.findall(r"\.\.\.|\w", result) for letter in (dots if part == "..." else [part])]
    once = sorted(letter for letter in set(terms) - set(",.") if terms.count(letter) == 1)
    return spelt, dots + once


def _spelt(term: str, rank: int) -> list[str]:
    parts = re.findall(r"\.\.\.|\w", term)
    hidden = rank - sum(part != "..." for part in parts)
    if hidden < 0 or parts.count("...") > 1 or (hidden and "..." not in parts) or "".join(parts) != term:
        raise Unknown(f"the term {term[:40]!r} of an einsum with an operand of {rank} dimensions")
    return [letter for part in parts for letter in ([f".{index}" for index in reversed(range(hidden))] if part == "..." else [part])]


@formula("Einsum")
def _einsum(node: Node) -> Work:
    shapes = [node.input(index).dims for index in range(len(node.inputs))]
    terms, result = letters(node.text("equation"), [len(shape) for shape in shapes])
    sizes = _sizes(terms, shapes)
    if not set(result) <= set(sizes):
        raise Unknown("an einsum whose result has a letter that no operand has")
    if len(terms) == 1:
        return _single(set(terms[0]), set(result), sizes)
    return _several([set(term) for term in terms], set(result), sizes)


def _sizes(terms: list[list[str]], shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """Length of each letter; a dimension of 1 is broadcast."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, dim in zip(term, shape, strict=True):
            known = sizes.get(letter, 1)
            if 1 not in (known, dim) and known != dim:
                raise Unknown(f"an einsum whose letter {letter} is both {known} and {dim} long")
            sizes[letter] = dim if known == 1 else known
    return sizes


def _points(used: set[str], sizes: dict[str, int]) -> float:
    return float(math.prod(sizes[letter] for letter in used))


def _single(term: set[str], result: set[str], sizes: dict[str, int]) -> Work:
    """A sum, or nothing but movement (a transpose, a diagonal)."""
    if term - result:
        return Work(group="reduction", flop=_points(term, sizes), engine="reduce")
    return Work(group="movement")


def _several(terms: list[set[str]], result: set[str], sizes: dict[str, int]) -> Work:
    left, products, pointwise, sums = terms[0], 0.0, 0.0, 0.0
    for index, right in enumerate(terms[1:], start=1):
        later = result.union(*terms[index + 1 :])
        for mine, other in ((left, right), (right, left)):
            sums += _points(mine, sizes) if mine - other - later else 0.0
        left, right = left & (right | later), right & (left | later)
        contracted = (left & right) - later
        products += 2 * _points(left | right, sizes) if contracted else 0.0
        pointwise += 0.0 if contracted else _points(left | right, sizes)
        left = (left | right) - contracted
    rest = [f"{count:.0f} {what}" for count, what in ((pointwise, "pointwise products"), (sums, "additions before a product")) if count and products]
    reason = "; ".join([*(["from left to right"] if len(terms) > 2 else []), *(f"{text} not counted" for text in rest)])
    if products:
        return Work(group="matmul", flop=products, engine="fma", reason=reason)
    return Work(group="elementwise", flop=pointwise, engine="add", reason=reason)
