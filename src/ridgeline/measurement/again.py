"""How a program comes to a sampled line more than once in a call: by a loop around it or around a call that led there, by recursion, or not at all.

Decided from the frames in progress and the syntax trees of their files. What the loop does, and whether it could be native code, is left to others.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from itertools import pairwise
from types import CodeType, FrameType
from typing import Literal

from .one_call import OneCall

__all__ = ["Again", "AgainBy"]

AgainBy = Literal["loop", "recursion", "no", ""]
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: Looking further up a stack costs more than a sample should; a stack so deep is a recursion.
_DEEPEST = 100
#: Code, instruction and line of a frame; without code where it is a library's.
_Place = tuple[CodeType | None, int, int | None]


class Again:
    """Reads loops and recursion off frames; remembers what it has read of the sources."""

    def __init__(self, is_user: Callable[[CodeType], bool], one_call: OneCall) -> None:
        self._is_user, self._one_call = is_user, one_call
        self._files: dict[str, frozenset[int] | None] = {}
        self._known: dict[tuple[_Place, ...], AgainBy] = {}

    def by(self, frame: FrameType) -> AgainBy:
        """What brings the program to this line again; empty where a source is missing or a library calls back, which may do so in a loop.

        Args:
            frame: innermost frame of the user.
        """
        chain: list[_Place] = []
        walker: FrameType | None = frame
        while walker is not None and len(chain) < _DEEPEST:
            own = self._is_user(walker.f_code)
            chain.append((walker.f_code if own else None, walker.f_lasti if own else 0, walker.f_lineno if own else None))
            walker = walker.f_back
        while chain and chain[-1][0] is None:
            chain.pop()
        key = tuple(chain)
        if key not in self._known:
            self._known[key] = self._read(chain)
        return self._known[key]

    def _read(self, chain: list[_Place]) -> AgainBy:
        own = [(code, line) for code, _, line in chain if code is not None]
        loops = [self._loops(code.co_filename) for code, _ in own]
        if any(lines is not None and line in lines for lines, (_, line) in zip(loops, own, strict=True)):
            return "loop"
        if len({code for code, _ in own}) < len(own):
            return "recursion"
        known = None not in loops and all(line is not None for _, line in own)
        return "no" if known and all(self._by_name(*pair) for pair in pairwise(chain)) else ""

    def _by_name(self, called: _Place, caller: _Place) -> bool:
        """Whether one frame was called by the name of its function from the other: what is called back has neither, or another frame between."""
        if called[0] is None or caller[0] is None:
            return False
        return self._one_call.written(caller[0], caller[1]).rpartition(".")[2] == called[0].co_name

    def _loops(self, file: str) -> frozenset[int] | None:
        if file not in self._files:
            self._files[file] = _lines_of_loops("".join(linecache.getlines(file)))
        return self._files[file]


def _lines_of_loops(source: str) -> frozenset[int] | None:
    """Lines of a file that stand in a loop of their function; `None` without a source that can be read."""
    try:
        tree = ast.parse(source) if source else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        return None
    lines: set[int] = set()
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, looped = left.pop()
        looped = looped or isinstance(node, _LOOPS)
        # An instruction has the line where its expression begins.
        if looped and hasattr(node, "lineno"):
            lines.add(node.lineno)
        # A function that is made in a loop is not run by it.
        left += [(child, looped and not isinstance(node, _FUNCTIONS)) for child in ast.iter_child_nodes(node)]
    return frozenset(lines)
