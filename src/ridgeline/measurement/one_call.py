"""Whether a sampled frame stands in one call into a library that its program makes once, such as `json.loads(text)` or `np.array(rows)`.

Decided from the instruction in progress and the syntax tree: the innermost frame of the user is at a call, neither that call nor any of the calls
that led there stands in a loop of the user's, and each of these was called by name, not back from a library. What the call computes is left to
others.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from types import CodeType, FrameType

__all__ = ["OneCall"]

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LONGEST = 60
#: A deeper stack is that of a recursion, where nothing is called once.
_DEEPEST = 30

_Span = tuple[int | None, int | None, int | None, int | None]


class OneCall:
    """Reads the call in progress off frames; remembers what it has read of the sources."""

    def __init__(self, is_user: Callable[[CodeType], bool]) -> None:
        self._is_user = is_user
        self._files: dict[str, dict[_Span, tuple[str, bool]]] = {}
        self._known: dict[tuple[tuple[CodeType, int], ...], str] = {}

    def of(self, frame: FrameType) -> str:
        """Name of the call as it is written, such as `json.loads`; empty where it may be made many times, or is none.

        Args:
            frame: innermost frame of the user.
        """
        chain: list[tuple[CodeType, int]] = []
        walker: FrameType | None = frame
        while walker is not None and self._is_user(walker.f_code):
            chain.append((walker.f_code, walker.f_lasti))
            walker = walker.f_back
            if len(chain) > _DEEPEST:
                return ""
        # A library between two functions of the user may call the inner one in a loop.
        while walker is not None:
            if self._is_user(walker.f_code):
                return ""
            walker = walker.f_back
        key = tuple(chain)
        if key not in self._known:
            self._known[key] = self._read(chain)
        return self._known[key]

    def written(self, code: CodeType, instruction: int) -> str:
        """What a frame calls at the moment, as it is written; empty where it calls nothing.

        Args:
            instruction: `f_lasti` of the frame.
        """
        return self._call_at(code, instruction)[0]

    def _read(self, chain: list[tuple[CodeType, int]]) -> str:
        name = ""
        called = ""
        for code, instruction in chain:
            written, repeated = self._call_at(code, instruction)
            if not written or repeated or (called and written.rpartition(".")[2] != called):
                return ""
            name, called = name or written, code.co_name
        return name

    def _call_at(self, code: CodeType, instruction: int) -> tuple[str, bool]:
        """(What is called there, whether that is inside a loop); an empty name where no call is in progress."""
        positions = list(code.co_positions())
        at = instruction // 2
        if not 0 <= at < len(positions):
            return "", False
        if code.co_filename not in self._files:
            self._files[code.co_filename] = _calls("".join(linecache.getlines(code.co_filename)))
        return self._files[code.co_filename].get(positions[at], ("", False))


def _calls(source: str) -> dict[_Span, tuple[str, bool]]:
    """Span of each call of a file → what is called, as it is written, and whether that is inside a loop of its function."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[_Span, tuple[str, bool]] = {}
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, repeated = left.pop()
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            found[node.lineno, node.end_lineno, node.col_offset, node.end_col_offset] = (name if len(name) <= _LONGEST else "", repeated)
        left += [(child, _inside(node, child, repeated)) for child in ast.iter_child_nodes(node)]
    return found


def _inside(node: ast.AST, child: ast.AST, repeated: bool) -> bool:
    """Whether a part of a node is run again and again: a loop's body is, what a `for` goes through is made once, a function starts anew."""
    if isinstance(child, _FUNCTIONS):
        return False
    if isinstance(node, ast.For | ast.AsyncFor) and child is node.iter:
        return repeated
    if isinstance(node, ast.comprehension):
        return repeated
    return repeated or isinstance(node, _LOOPS)
