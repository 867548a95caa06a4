"""The values of a parameter as the T1 format has them: a text with a list as Python writes it, read and never run.

    [1, 2, 4]   ['a', "b"]   [true, false]   [1] + list(range(32, 1025, 32))   [2**i for i in range(0, 6)]

Numbers, texts, true and false; arithmetic of them; lists, tuples, `range` and sums of these; one `for` over one of these without conditions.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ridgeline.core import ReadError
from ridgeline.core.space import Value

__all__ = ["values_of"]

_MOST_TEXT, _MOST_VALUES, _MOST_BITS = 200_000, 100_000, 64
_REMEDY = "write a list of values, such as [1, 2, 4], list(range(1, 9)) or [2**i for i in range(6)]"
_WORDS = {"true": True, "false": False}
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip


def values_of(text: str, where: str) -> tuple[Value, ...]:
    """The values that a text lists, in its order.

    Args:
        where: what they are of, for messages.

    Raises:
        ReadError: no list, an empty one, or what may not stand in one.

    >>> values_of("[1] + [2 * i for i in range(1, 4)]", "tile")
    (1, 2, 4, 6)
    """
    try:
        if len(text) > _MOST_TEXT:
            raise ValueError(f"{len(text)} characters")
        found = _list(ast.parse(text.strip(), mode="eval").body, {})
        if not all(math.isfinite(each) for each in found if isinstance(each, float)):
            raise ValueError("a number that is not finite")
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        said = str(getattr(error, "msg", "") or error) or type(error).__name__
        raise ReadError(f"a list of values of {where}", found=f"{said} in {text[:120]!r}", remedy=_REMEDY) from error
    if not found:
        raise ReadError(f"a list of values of {where}", found=f"none in {text[:120]!r}", remedy=_REMEDY)
    return tuple(found)


def _list(node: ast.expr, names: Mapping[str, Value]) -> list[Value]:
    if isinstance(node, ast.List | ast.Tuple):
        return _few([_one(each, names) for each in node.elts])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _few([*_list(node.left, names), *_list(node.right, names)])
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return _each(node, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id in ("list", "tuple") and len(node.args) == 1:
            return _list(node.args[0], names)
        if node.func.id == "range" and 1 <= len(node.args) <= 3:
            return _range([_one(each, names) for each in node.args])
    raise ValueError(f"{ast.unparse(node)[:60]!r}, which is no list")


def _range(ends: Sequence[Value]) -> list[Value]:
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in ends):
        raise ValueError("a range of other than whole numbers")
    found: range = range(*ends)  # type: ignore[arg-type]
    if found and (len(found) if abs(found[-1]) + abs(found[0]) < 2**62 else _MOST_VALUES + 1) > _MOST_VALUES:
        raise ValueError("too many values")
    return list(found)


def _each(node: ast.ListComp | ast.GeneratorExp, names: Mapping[str, Value]) -> list[Value]:
    if len(node.generators) != 1 or node.generators[0].ifs or not isinstance(node.generators[0].target, ast.Name):
        raise ValueError("more than one plain for")
    name, over = node.generators[0].target.id, _list(node.generators[0].iter, names)
    return [_one(node.elt, {**names, name: each}) for each in over]


def _few(found: list[Value]) -> list[Value]:
    if len(found) > _MOST_VALUES:
        raise ValueError("too many values")
    return found


def _one(node: ast.expr, names: Mapping[str, Value]) -> Value:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
        return node.value
    if isinstance(node, ast.Name) and (node.id in names or node.id in _WORDS):
        return names.get(node.id, _WORDS.get(node.id, False))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _number(_one(node.operand, names))
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _number(_one(node.left, names)), _number(_one(node.right, names))
        if isinstance(node.op, ast.Pow) and abs(right) * max(1, int(abs(left)).bit_length()) > _MOST_BITS:
            raise ValueError("a power that is too large")
        found = _OPERATORS[type(node.op)](left, right)
        if isinstance(found, int | float):
            return found
    raise ValueError(f"{ast.unparse(node)[:60]!r}, which is no value")


def _number(found: Value) -> int | float:
    if isinstance(found, bool | str):
        raise ValueError(f"arithmetic with {found!r:.40}")
    return found
