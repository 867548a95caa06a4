"""`docs/api.md`: every public name with its signature and docstring, as the sources say them today.

Decides only the form: what is public is the `__all__` of each package, what is said stands in the docstrings. The names come from `check`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from itertools import groupby

__all__ = ["render_api"]

_WIDTH = 120
_HEAD = """# Python interface

Written by `make docs` from the docstrings; do not edit. Numbers are in SI units: seconds, bytes, FLOP, B/s, FLOP/s, Hz, W, J.
"""
#: What differs from run to run or between versions of Python.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LONG_DOTTED = re.compile(r"\b(?:typing|collections\.abc|numpy(?:\.\w+)*|pathlib|ridgeline(?:\.\w+)*)\.(?=[A-Z])")


def render_api(names: Iterable[tuple[str, object]]) -> str:
    """The page.

    Args:
        names: (dotted name, object), package by package.
    """
    parts = [_HEAD]
    for package, members in groupby(names, key=lambda item: item[0].rpartition(".")[0]):
        parts.append(f"## {package}\n")
        parts += [_entry(dotted.rpartition(".")[2], thing) for dotted, thing in members]
    return "\n".join(parts)


def _entry(name: str, thing: object) -> str:
    text = inspect.cleandoc(_own_docstring(thing)) if inspect.isclass(thing) or inspect.isroutine(thing) else ""
    return "\n".join(["```text", *_signature(name, thing), *(f"    {line}".rstrip() for line in text.splitlines()), "```\n"])


def _own_docstring(thing: object) -> str:
    own = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
    return str(own or "")


def _signature(name: str, thing: object) -> list[str]:
    """One line, or one a parameter where that is too long."""
    kind = "class " if inspect.isclass(thing) else ""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        # A constant is shown, an alias of a type or a value that changes with the version is only named.
        return [f"{name} = {thing!r}" if isinstance(thing, int | float) else name]
    try:
        signature = _without_state(inspect.signature(thing))  # type: ignore[arg-type]
    except (TypeError, ValueError, NameError):  # the last: a type that is imported for type checkers only
        return [f"{kind}{name}"]
    text = _plain(str(signature))
    if len(kind) + len(name) + len(text) <= _WIDTH:
        return [f"{kind}{name}{text}"]
    returns = "" if signature.return_annotation is inspect.Signature.empty else _plain(str(signature.replace(parameters=()))).removeprefix("()")
    return [f"{kind}{name}(", *(f"    {_plain(piece)}," for piece in _pieces(signature)), f"){returns}"]


def _pieces(signature: inspect.Signature) -> list[str]:
    """The parameters as they stand between the brackets, with the `*` and `/` that Python puts between them."""
    whole, pieces, kinds = [], list(signature.parameters.values()), inspect.Parameter
    for index, parameter in enumerate(pieces):
        before = pieces[index - 1].kind if index else None
        if parameter.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
            whole.append("*")
        if before is kinds.POSITIONAL_ONLY and parameter.kind is not kinds.POSITIONAL_ONLY:
            whole.append("/")
        whole.append(str(parameter))
    return whole


def _without_state(signature: inspect.Signature) -> inspect.Signature:
    """Defaults that are no plain values are not shown: an object's text may hold paths, addresses or the environment of whoever writes the page."""
    parameters = [parameter if _is_plain(parameter.default) else parameter.replace(default=_NOT_SHOWN) for parameter in signature.parameters.values()]
    return signature.replace(parameters=parameters)


def _is_plain(value: object) -> bool:
    if value is inspect.Parameter.empty or value is None or isinstance(value, bool | int | float | str):
        return True
    return isinstance(value, tuple | list | frozenset) and all(_is_plain(part) for part in value)


class _NotShown:
    def __repr__(self) -> str:
        return "…"


def _plain(text: str) -> str:
    return _LONG_DOTTED.sub("", _ADDRESS.sub("", text))


_NOT_SHOWN = _NotShown()
