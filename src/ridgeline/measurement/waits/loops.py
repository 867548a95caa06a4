"""Which loops of a source file only ask whether something has happened: busy, and no progress; and which lines wait until something has.

Decided on the syntax tree. A `while` loop polls when nothing in its condition and body can make progress by itself: it compares, reads names,
attributes and items, calls methods that are known to look and not to wait, passes, counts rounds, gives its CPU away for no time, and leaves. A
single call of anything else, and the loop is taken to compute.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeGuard

__all__ = ["PollLoop", "poll_loops", "repeated_lines"]

#: Methods that ask whether something has happened elsewhere.
_POLLS = frozenset({
    "cancelled", "done", "empty", "exists", "full", "iprobe", "Iprobe", "is_alive", "is_set", "locked", "poll", "qsize", "query", "ready", "running",
    "test", "Test",
})  # fmt: skip
#: Functions that look at what is there and return at once.
_LOOKS = _POLLS | {
    "acquire", "all", "any", "bool", "getattr", "int", "len", "max", "min", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
    "sched_yield", "sleep", "time",
}  # fmt: skip
#: What takes something if it is there and raises if not: polling only inside a `try` that goes on afterwards.
_TAKES = frozenset({"get", "get_nowait", "recv", "recv_nowait"})


@dataclass(frozen=True)
class PollLoop:
    """A loop that polls: its first and last line, and the condition it asks."""

    first: int
    last: int
    asks: str


def poll_loops(source: str) -> list[PollLoop]:
    """The loops of a file that poll, in order of their lines; none of a file that is not Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = [_poll_loop(node) for node in ast.walk(tree) if isinstance(node, ast.While)]
    return sorted((loop for loop in found if loop is not None), key=lambda loop: loop.first)


def repeated_lines(source: str) -> list[tuple[int, int]] | None:
    """(first, last) line of each piece of a file that runs again or not by what the time before found; `None` for what is not Python.

    A `while` loop, a `for` loop that a `break` or `return` may end early, and what handles an error: a wait there is for something to come about, or
    before another try, and cannot begin before the one before it has ended.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return [(node.lineno, node.end_lineno or node.lineno) for node in ast.walk(tree) if _repeats(node)]


def _repeats(node: ast.AST) -> TypeGuard[ast.While | ast.For | ast.ExceptHandler]:
    if isinstance(node, ast.For):
        return any(isinstance(part, ast.Break | ast.Return) for statement in node.body for part in ast.walk(statement))
    return isinstance(node, ast.While | ast.ExceptHandler)


def _poll_loop(loop: ast.While) -> PollLoop | None:
    nodes = list(ast.walk(loop))
    if not (_looks(loop.test) and all(map(_passive, [*loop.body, *loop.orelse]))):
        return None
    counted = {name.id for node in nodes if isinstance(node, ast.AugAssign | ast.Assign) for name in _targets(node)}
    questions = [part for node in nodes if isinstance(node, ast.While | ast.If) for part in _operands(node.test)]
    questions += [node.value for node in nodes if isinstance(node, ast.Assign) and _calls(node.value) & _POLLS and _decides(node, loop)]
    asked: ast.AST | None = next((question for question in questions if _asks_another(question, counted)), None)
    if asked is None:
        asked = next((node.body[0] for node in nodes if isinstance(node, ast.Try) and _tries(node)), None)
    return PollLoop(loop.lineno, loop.end_lineno or loop.lineno, ast.unparse(asked)) if asked is not None else None


def _targets(node: ast.AugAssign | ast.Assign) -> list[ast.Name]:
    targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
    return [target for target in targets if isinstance(target, ast.Name)]


def _operands(test: ast.expr) -> list[ast.expr]:
    return [part for operand in test.values for part in _operands(operand)] if isinstance(test, ast.BoolOp) else [test]


def _decides(node: ast.Assign, loop: ast.While) -> bool:
    """Whether the loop goes on for as long as what is assigned here says so (`pending = [f for f in pending if not f.done()]`)."""
    return bool({target.id for target in _targets(node)} & {part.id for part in ast.walk(loop.test) if isinstance(part, ast.Name)})


def _calls(node: ast.AST) -> set[str]:
    return {_name(part) for part in ast.walk(node) if isinstance(part, ast.Call)}


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def _tries(node: ast.Try) -> bool:
    """Whether it tries to take what may not be there yet and goes on when it is not."""
    leaves = any(isinstance(part, ast.Break | ast.Return | ast.Raise) for handler in node.handlers for part in ast.walk(handler))
    return bool(node.handlers) and not leaves and any(_calls(statement) & _TAKES for statement in node.body)


def _passive(node: ast.stmt) -> bool:
    """Whether a statement makes no progress by itself."""
    if isinstance(node, ast.Pass | ast.Continue | ast.Break):
        return True
    if isinstance(node, ast.Return):
        return node.value is None or _looks(node.value)
    if isinstance(node, ast.Expr):
        return _looks(node.value)
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets) and _looks(node.value)
    if isinstance(node, ast.If):
        return _looks(node.test) and all(map(_passive, [*node.body, *node.orelse]))
    return isinstance(node, ast.Try) and _passive_try(node)


def _passive_try(node: ast.Try) -> bool:
    rest = [*(statement for handler in node.handlers for statement in handler.body), *node.orelse, *node.finalbody]
    takes = _tries(node) and all(isinstance(statement, ast.Expr | ast.Assign | ast.Return | ast.Break) for statement in node.body)
    inside = takes and all(_looks(value, _TAKES) for statement in node.body if (value := getattr(statement, "value", None)) is not None)
    return (inside or all(map(_passive, node.body))) and all(map(_passive, rest))


def _looks(node: ast.expr, beside: frozenset[str] = frozenset()) -> bool:
    """Whether an expression only looks: every call in it is known to return at once and to change nothing that counts as work."""
    for part in ast.walk(node):
        if isinstance(part, ast.Await | ast.Yield | ast.YieldFrom | ast.Lambda | ast.NamedExpr):
            return False
        if isinstance(part, ast.BinOp) and not isinstance(part.op, ast.Add | ast.Sub | ast.BitAnd | ast.BitOr):
            return False
        if isinstance(part, ast.Call) and not (_call_looks(part) or _takes_at_once(part, beside)):
            return False
    return True


def _call_looks(call: ast.Call) -> bool:
    name, first = _name(call), call.args[0] if call.args else None
    if name == "sleep":
        return _is_zero(first)  # any longer sleep is a wait and no spin
    if name == "poll":
        return first is None or _is_zero(first)  # that of a process looks, `poll(1.0)` of a connection waits
    if name == "acquire":
        return _is_zero(first or _keyword(call, "blocking"))
    return name in _LOOKS


def _takes_at_once(call: ast.Call, names: frozenset[str]) -> bool:
    name, first = _name(call), call.args[0] if call.args else None
    return name in names and (name != "get" or _is_zero(first or _keyword(call, "block")))


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and not node.value and not isinstance(node.value, str)


def _asks_another(question: ast.expr, counted: set[str]) -> bool:
    """Whether the answer can change without the loop's doing: it polls, or it reads what the loop does not set."""
    if _calls(question) & (_POLLS | {"acquire"}):
        return True
    names = {part.id for part in ast.walk(question) if isinstance(part, ast.Name)}
    reads = any(isinstance(part, ast.Attribute | ast.Subscript | ast.Name) for part in ast.walk(question))
    return reads and not names & counted
