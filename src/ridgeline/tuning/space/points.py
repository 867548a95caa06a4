"""One expression at one point: launch sizes, shapes and amounts of work of one configuration. What may stand in it is said in `expressions`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ridgeline.core.space import Value

from .expressions import ABSENT, FINE, Expressions, Values, constant_array, parsed

__all__ = ["names_in", "substituted", "worked_out"]


def names_in(text: str) -> tuple[str, ...]:
    """The names that an expression looks at, in the order in which they stand first; those of functions are none.

    Raises:
        UsageError: no expression.

    >>> names_in("min(tile, 8) * n // tile")
    ('tile', 'n')
    """
    tree = parsed(text)
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions]
    return tuple(dict.fromkeys(node.id for node in sorted(names, key=lambda node: (node.lineno, node.col_offset))))


def substituted(text: str, values: Mapping[str, Value]) -> str:
    """The expression with values instead of these names, as it is where it looks at none of them.

    Raises:
        UsageError: no expression.

    >>> substituted("tile ** 2 <= n", {"n": 1024})
    'tile ** 2 <= 1024'
    """
    return ast.unparse(_Substitution(values).visit(parsed(text))) if set(names_in(text)) & set(values) else text


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """A function is called what it is called."""
        node.args = [self.visit(each) for each in node.args]
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The value of a name; a negative number as Python writes it, so that it stays one beside a power."""
        if node.id not in self._values:
            return node
        value = self._values[node.id]
        if isinstance(value, bool | str) or value >= 0:
            return ast.Constant(value)
        return ast.UnaryOp(op=ast.USub(), operand=ast.Constant(-value))


def worked_out(text: str, values: Mapping[str, Value], absent: Collection[str] = ()) -> Any:
    """The value of an expression; null where it has none, such as in a division by zero, or looks at what is absent.

    Args:
        values: name → value; absent: names of parameters that are not active.

    Raises:
        UsageError: no expression, or a name that is in neither.

    >>> worked_out("n // tile + 1", {"n": 512, "tile": 16}), worked_out("n / tile", {"n": 1, "tile": 0})
    (33, None)
    """
    expressions, root = _read(text, (*values, *absent))
    known: dict[int, Values] = {}
    for number, node in enumerate(expressions.nodes):
        if node.kind == "name":
            name = expressions.names[node.content]
            there = name in values
            known[number] = Values(constant_array(values[name] if there else 0, 1), None if there else np.full(1, ABSENT, np.uint8))
    found = known[root] if root in known else expressions.work_out(root, known, 1)
    return found.values.tolist()[0] if found.state is None or found.state[0] == FINE else None


@lru_cache(maxsize=1024)
def _read(text: str, names: tuple[str, ...]) -> tuple[Expressions, int]:
    """An expression is worked out for each configuration, and read once."""
    expressions = Expressions(names)
    return expressions, expressions.add(text)
