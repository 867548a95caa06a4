"""Constraints over parameters: read as Python expressions are, never run as Python, and worked out for many points at once.

Expressions of all constraints share one table of nodes, in which equal ones are one: what a space has to remember of a half-made configuration is the
values of nodes. This module decides what may stand in an expression and what it means:

    names of parameters, numbers, texts, True, False, tuples of these
    + - * / // % ** unary + - ~, & | ^ << >>, == != < <= > >= in not in (also chained), and or not, x if c else y
    min max abs int float round ceil floor log2 sqrt gcd

Numbers are Python's: whole ones do not overflow, `/` divides exactly, `%` has the sign of the divisor, `and` and `or` do not look at their right side
where the left one decides. A point at which an expression has no value (a division by zero, a text compared with a number) does not satisfy it.
Where a parameter is not active, constraints that look at it do not apply.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError

__all__ = ["ABSENT", "FINE", "NONE", "Expressions", "Node", "Values"]

Array = NDArray[Any]
#: State of a value at a point: it is one, there is none (an error), or it is of a parameter that is not active there.
FINE, NONE, ABSENT = 0, 1, 2
_MOST_TEXT, _MOST_NODES, _MOST_DEPTH = 20_000, 5_000, 60
#: Whole numbers up to here are worked out in 64 bits, larger ones as Python's.
_LARGE = 2.0**62
#: Bits of a whole number beyond which a power or a shift has no value.
_MOST_BITS = 4096


class Node(NamedTuple):
    """One operation: its name, the numbers of its operands, and for a name the parameter, for a constant its value."""

    kind: str
    operands: tuple[int, ...] = ()
    content: Any = None


class Values(NamedTuple):
    """Values of a node at n points, (n,), and their state, (n,) of uint8; null where all are fine."""

    values: Array
    state: NDArray[np.uint8] | None = None


class Expressions:
    """The nodes of all constraints; every node stands behind its operands.

    Args:
        names: of the parameters.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.nodes: list[Node] = []
        self.needs: list[int] = []  # bits of the parameters that a node looks at
        self._known: dict[tuple[Any, ...], int] = {}

    def add(self, text: str) -> int:
        """Read a constraint; the number of its node.

        Raises:
            UsageError: no expression, one that is too long or too deep, a name that is none of the parameters, or what may not stand in one.
        """
        return self._read(parsed(text), text, 0)

    def _read(self, part: ast.expr, text: str, depth: int) -> int:
        if depth > _MOST_DEPTH or len(self.nodes) > _MOST_NODES:
            raise _wrong(text, "too many operations inside each other", "split it")

        if isinstance(part, ast.Constant) and isinstance(part.value, bool | int | float | str):
            return self.node("constant", content=part.value)
        if isinstance(part, ast.Tuple | ast.List | ast.Set):
            return self.node("constant", content=tuple(self._constant(each, text) for each in part.elts))
        if isinstance(part, ast.Name):
            return self._name(part.id, text)
        return self._operation(part, text, lambda inner: self._read(inner, text, depth + 1))

    def _operation(self, part: ast.expr, text: str, read: Callable[[ast.expr], int]) -> int:
        if isinstance(part, ast.BoolOp):
            kind = "and" if isinstance(part.op, ast.And) else "or"
            return self._joined(kind, [read(each) for each in part.values])
        if isinstance(part, ast.Compare):
            sides = [read(each) for each in (part.left, *part.comparators)]
            return self._joined("and", [self.node(_named(each, text), sides[place : place + 2]) for place, each in enumerate(part.ops)])
        if isinstance(part, ast.BinOp | ast.UnaryOp):
            inner = (part.left, part.right) if isinstance(part, ast.BinOp) else (part.operand,)
            return self.node(_named(part.op, text), [read(each) for each in inner])
        if isinstance(part, ast.IfExp):
            return self.node("if", [read(part.test), read(part.body), read(part.orelse)])
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and not part.keywords:
            return self._call(part.func.id, [read(each) for each in part.args], text)
        raise _wrong(text, f"{ast.unparse(part)[:80]!r}", "use parameters, numbers, texts, arithmetic, comparisons, and, or, not")

    def _constant(self, part: ast.expr, text: str) -> Any:
        try:
            found = ast.literal_eval(part)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
            raise _wrong(text, f"{ast.unparse(part)[:80]!r} in a list", "list numbers and texts") from error
        if not isinstance(found, bool | int | float | str):
            raise _wrong(text, f"{found!r:.80} in a list", "list numbers and texts")
        return found

    def _name(self, name: str, text: str) -> int:
        if name not in self.names:
            near = get_close_matches(name, self.names, 1)
            raise _wrong(text, f"the name {name!r}", f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(self.names)[:200]}")
        return self.node("name", content=self.names.index(name))

    def _call(self, name: str, operands: list[int], text: str) -> int:
        least, most = _CALLS.get(name, (0, -1))
        if not least <= len(operands) <= most:
            known = ", ".join(sorted(_CALLS))
            raise _wrong(text, f"{name}() of {len(operands)}", f"use one of {known} with its operands")
        if name in ("min", "max", "gcd") and len(operands) > 1:
            found = operands[0]
            for each in operands[1:]:
                found = self.node(name, [found, each])
            return found
        return self.node(name, operands)

    def _joined(self, kind: str, parts: list[int]) -> int:
        found = parts[0]
        for each in parts[1:]:
            found = self.node(kind, [found, each])
        return found

    def node(self, kind: str, operands: Sequence[int] = (), content: Any = None) -> int:
        """The number of a node, which is made if there is none like it."""
        key = (kind, tuple(operands), type(content).__name__, repr(content))
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(Node(kind, tuple(operands), content))
            needs = 1 << content if kind == "name" else 0
            for each in operands:
                needs |= self.needs[each]
            self.needs.append(needs)
        return self._known[key]

    def conjuncts(self, root: int) -> list[int]:
        """What must hold each on its own, so that a constraint is looked at as soon as any part of it can be."""
        node = self.nodes[root]
        if node.kind != "and":
            return [root]
        return [each for operand in node.operands for each in self.conjuncts(operand)]

    def work_out(self, number: int, known: Mapping[int, Values], count: int) -> Values:
        """A node at n points from its operands there.

        Args:
            known: operands by number; constants need not be among them.
            count: n.
        """
        node = self.nodes[number]
        if node.kind == "constant":
            return Values(constant_array(node.content, count))
        operands = [known[each] if each in known else self.work_out(each, known, count) for each in node.operands]
        if node.kind in ("and", "or"):
            return _short(node.kind == "or", *operands)
        if node.kind == "if":
            return _chosen(*operands)
        if node.kind == "active":
            (only,) = operands
            return Values(np.ones(count, bool) if only.state is None else only.state != ABSENT)
        if node.kind == "holds":
            return Values(truth(operands[0]))
        if node.kind == "alike":
            return Values(operands[0].values == operands[1].values)
        return _applied(node.kind, operands)


def parsed(text: str) -> ast.expr:
    """The syntax of an expression.

    Raises:
        UsageError: it has none, or is too long.
    """
    if len(text) > _MOST_TEXT:
        raise _wrong(text, f"{len(text)} characters", "split it")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _wrong(text, str(getattr(error, "msg", "") or error), "write it as in Python, such as x * y <= 1024") from error


def _wrong(text: str, found: str, remedy: str) -> UsageError:
    return UsageError("a constraint over the parameters of the space", found=f"{found} in {text[:120]!r}", remedy=remedy)


def constant_array(content: Any, count: int) -> Array:
    """A value n times."""
    if isinstance(content, int) and not isinstance(content, bool) and abs(content) >= _LARGE:
        content_array: Array = np.empty(count, object)
        content_array[:] = content
        return content_array
    if isinstance(content, bool | int | float):
        return np.full(count, content)
    found: Array = np.empty(count, object)
    found[:] = [content] * count
    return found


_CALLS: Mapping[str, tuple[int, int]] = {
    "min": (2, 50), "max": (2, 50), "gcd": (2, 50), "abs": (1, 1), "int": (1, 1), "float": (1, 1), "round": (1, 1), "ceil": (1, 1), "floor": (1, 1),
    "log2": (1, 1), "sqrt": (1, 1),
}  # fmt: skip
_OPERATORS: Mapping[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.UAdd: "plus", ast.USub: "minus", ast.Invert: "~", ast.Not: "not", ast.Eq: "==",
    ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def _named(part: ast.AST, text: str) -> str:
    name = _OPERATORS.get(type(part))
    if name is None:
        raise _wrong(text, type(part).__name__, "use arithmetic and comparisons")
    return name


# ── working out ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def truth(of: Values) -> NDArray[np.bool_]:
    """Whether each value counts as true; False where there is none."""
    held = of.values.astype(bool) if of.values.dtype != object else np.fromiter((bool(each) for each in of.values), bool, len(of.values))
    return held if of.state is None else held & (of.state == FINE)


def _joint(operands: Sequence[Values]) -> NDArray[np.uint8] | None:
    states = [each.state for each in operands if each.state is not None]
    if not states:
        return None
    found = states[0]
    for each in states[1:]:
        found = np.maximum(found, each)
    return found


def _short(either: bool, left: Values, right: Values) -> Values:
    """`or` if either, else `and`: the left side decides where it can."""
    decides = truth(left) if either else ~truth(left)
    if left.state is not None:
        decides |= left.state != FINE
    values = np.where(decides, left.values, right.values)
    if left.state is None and right.state is None:
        return Values(values)
    none = np.zeros(len(values), np.uint8)
    return Values(values, np.where(decides, none if left.state is None else left.state, none if right.state is None else right.state))


def _chosen(test: Values, yes: Values, no: Values) -> Values:
    held = truth(test)
    none = np.zeros(len(held), np.uint8)
    state = np.where(held, none if yes.state is None else yes.state, none if no.state is None else no.state)
    if test.state is not None:
        state = np.where(test.state == FINE, state, test.state)
    return Values(np.where(held, yes.values, no.values), state if state.any() else None)


def _applied(kind: str, operands: Sequence[Values]) -> Values:
    """An operation of all operands, point by point."""
    arrays, state = [each.values for each in operands], _joint(operands)
    fast = _FAST.get(kind)
    if fast is not None and all(each.dtype != object for each in arrays):
        with np.errstate(all="ignore"):
            found = fast(*arrays)
        if found is not None:
            return _with_state(found, state)
    return _one_by_one(kind, arrays, state)


def _with_state(found: Values, state: NDArray[np.uint8] | None) -> Values:
    if state is None or found.state is None:
        return Values(found.values, found.state if state is None else state)
    return Values(found.values, np.where(state > FINE, state, found.state))


def _one_by_one(kind: str, arrays: Sequence[Array], state: NDArray[np.uint8] | None) -> Values:
    """As Python does it: texts, tuples, and whole numbers of any size."""
    apply, count = _SLOW[kind], len(arrays[0])
    found: list[Any] = [0] * count
    made = np.zeros(count, np.uint8) if state is None else state.copy()
    for place, row in enumerate(zip(*(each.tolist() for each in arrays), strict=True)):
        if made[place] == FINE:
            try:
                found[place] = apply(*row)
            except (TypeError, ValueError, ArithmeticError):
                made[place] = NONE
    return Values(_packed(found), made if made.any() else None)


def _packed(found: list[Any]) -> Array:
    """As an array of numbers if all are numbers that one holds."""
    kinds = {type(each) for each in found}
    if kinds <= {bool}:
        return np.array(found, bool)
    if kinds <= {int, bool} and all(abs(each) < _LARGE for each in found):
        return np.array(found, np.int64)
    if kinds <= {int, bool, float} and float in kinds and all(isinstance(each, float) or abs(each) < 2**53 for each in found):
        return np.array(found, np.float64)
    out: Array = np.empty(len(found), object)
    out[:] = found
    return out


def _large(array: Array) -> float:
    """The largest magnitude, as float; 0 of none."""
    return 0.0 if not len(array) else float(max(abs(float(array.max())), abs(float(array.min()))))


def _whole(*arrays: Array) -> bool:
    return all(each.dtype.kind in "bi" for each in arrays)


def _sum(apply: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Values | None]:
    def fast(a: Array, b: Array) -> Values | None:
        if _whole(a, b):
            return Values(apply(a.astype(np.int64), b.astype(np.int64))) if _large(a) + _large(b) < _LARGE else None
        return _floats(apply(a.astype(np.float64), b.astype(np.float64)), a, b)

    return fast


def _product(a: Array, b: Array) -> Values | None:
    if _whole(a, b):
        return Values(a.astype(np.int64) * b.astype(np.int64)) if _large(a) * _large(b) < _LARGE else None
    return _floats(a.astype(np.float64) * b.astype(np.float64), a, b)


def _floats(found: Array, *given: Array) -> Values | None:
    """Where whole numbers that no float holds took part, Python decides."""
    return None if any(_whole(each) and _large(each) > 2.0**53 for each in given) else Values(found)


def _divided(apply: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Values | None]:
    def fast(a: Array, b: Array) -> Values | None:
        zero = b == 0
        safe = np.where(zero, 1, b)
        if _whole(a, b) and apply is not np.true_divide:
            found = apply(a.astype(np.int64), safe.astype(np.int64))
        elif any(_whole(each) and _large(each) > 2.0**53 for each in (a, b)):
            return None
        else:
            found = apply(a.astype(np.float64), safe.astype(np.float64))
        return Values(found, zero.astype(np.uint8) * np.uint8(NONE) if zero.any() else None)

    return fast


def _compared(apply: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Values | None]:
    def fast(a: Array, b: Array) -> Values | None:
        if not _whole(a, b) and any(_whole(each) and _large(each) > 2.0**53 for each in (a, b)):
            return None
        return Values(apply(a, b))

    return fast


def _bits(apply: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Values | None]:
    def fast(a: Array, b: Array) -> Values | None:
        return Values(apply(a.astype(np.int64), b.astype(np.int64))) if _whole(a, b) else None

    return fast


def _extreme(apply: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Values | None]:
    def fast(a: Array, b: Array) -> Values | None:
        return Values(apply(a, b)) if a.dtype == b.dtype else None

    return fast


_FAST: Mapping[str, Callable[..., Values | None]] = {
    "+": _sum(np.add), "-": _sum(np.subtract), "*": _product, "/": _divided(np.true_divide), "//": _divided(np.floor_divide), "%": _divided(np.mod),
    "==": _compared(np.equal), "!=": _compared(np.not_equal), "<": _compared(np.less), "<=": _compared(np.less_equal),
    ">": _compared(np.greater), ">=": _compared(np.greater_equal), "&": _bits(np.bitwise_and), "|": _bits(np.bitwise_or), "^": _bits(np.bitwise_xor),
    "min": _extreme(np.minimum), "max": _extreme(np.maximum),
    "not": lambda a: Values(~a.astype(bool)), "minus": lambda a: Values(-a.astype(np.int64) if _whole(a) else -a), "plus": lambda a: Values(+a),
}  # fmt: skip


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0 and max(1, abs(a).bit_length()) * b > _MOST_BITS:
        raise OverflowError
    found = a**b
    if isinstance(found, complex):
        raise ValueError
    return found


def _shifted(a: Any, b: Any) -> Any:
    if b > _MOST_BITS:
        raise OverflowError
    return a << b


def _repeated(a: Any, b: Any) -> Any:
    if isinstance(a, str | tuple) or isinstance(b, str | tuple):
        raise TypeError  # no texts of a gigabyte
    return a * b


def _added(a: Any, b: Any) -> Any:
    if isinstance(a, str | tuple) or isinstance(b, str | tuple):
        raise TypeError
    return a + b


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, str):
        raise TypeError
    return a % b


_SLOW: Mapping[str, Callable[..., Any]] = {
    "+": _added, "-": operator.sub, "*": _repeated, "/": operator.truediv, "//": operator.floordiv, "%": _remainder, "**": _power, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": _shifted, ">>": operator.rshift, "plus": operator.pos, "minus": operator.neg, "~": operator.invert,
    "not": operator.not_, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b, "min": min, "max": max, "abs": abs, "int": int, "float": float, "round": round,
    "ceil": math.ceil, "floor": math.floor, "log2": math.log2, "sqrt": math.sqrt, "gcd": math.gcd,
}  # fmt: skip
