"""`replace_code`: functions that exist already go on with new code, so that a program need not be loaded again to be instrumented less."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType

__all__ = ["replace_code"]

_Key = tuple[object, ...]


def replace_code(modules: Mapping[str, ast.Module]) -> int:
    """Give every living function of these files the code it has in the new tree.

    A function is matched by file, qualified name, first line and variables; where two share all of these (two lambdas in one line), both stay as they
    are. Generators that are suspended end with their old code.

    Args:
        modules: file name → tree of the same source.

    Returns:
        Functions that were changed.
    """
    new: dict[_Key, list[CodeType]] = {}
    for name, tree in modules.items():
        for code in _codes(compile(ast.fix_missing_locations(tree), name, "exec", dont_inherit=True)):
            new.setdefault(_key(code), []).append(code)
    changed = 0
    for function in gc.get_objects():
        # `type`, not `isinstance`: proxies lie about their class, and may do anything when asked.
        if type(function) is FunctionType and function.__code__.co_filename in modules:
            found = new.get(_key(function.__code__), [])
            if len(found) == 1:
                function.__code__ = found[0]
                changed += 1
    return changed


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _key(code: CodeType) -> _Key:
    count = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    return (code.co_filename, code.co_qualname, code.co_firstlineno, count, code.co_varnames, code.co_freevars, code.co_cellvars)
