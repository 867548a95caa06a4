"""`replace_code`: functions that exist already go on with new code, so that a program need not be loaded again to be instrumented less."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType

from .transform import hook_name

__all__ = ["replace_code"]

_Key = tuple[object, ...]
_HOOK_PREFIX = hook_name("").rstrip("_")


def replace_code(modules: Mapping[str, ast.Module]) -> int:
    """Give every living function with hooks the code it has in the new tree of its file.

    A function is matched by file, qualified name, first line, variables and, if it has no name of its own, the place of its body. Where two still
    share all of these, both stay as they are. Generators that are suspended end with their old code. Functions of the same files that were loaded
    without hooks are somebody else's.

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
        if type(function) is FunctionType and function.__code__.co_filename in modules and _has_hooks(function.__code__):
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


def _has_hooks(code: CodeType) -> bool:
    return any(name.startswith(_HOOK_PREFIX) for each in _codes(code) for name in each.co_names)


def _key(code: CodeType) -> _Key:
    count = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    # Hooks stand where what they replace stood, so that a body begins at the same column with and without them.
    places = [(line, column) for line, _, column, end in code.co_positions() if line is not None and column is not None and end]
    start = min(places, default=None) if code.co_name.startswith("<") else None
    return (code.co_filename, code.co_qualname, code.co_firstlineno, start, count, code.co_varnames, code.co_freevars, code.co_cellvars)
