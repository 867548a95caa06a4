"""Files that a source takes in, where no compiler can be asked: quoted includes of C-like sources, and modules beside a Python file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["included", "modules_beside"]

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<](?P<name>[^">\n]+)[">]', re.MULTILINE)


def included(source: Path, folders: Iterable[Path] = ()) -> list[Path]:
    """The source and every file that it includes, whether or not a macro leaves one out: so too much may be taken in, never too little.

    Args:
        folders: where else is looked, as `-I` says; what is found nowhere belongs to the compiler.
    """
    places = list(folders)

    def taken_in(path: Path) -> list[Path]:
        names = [match["name"] for match in _INCLUDE.finditer(path.read_text("utf-8", "replace"))]
        return [found for name in names if (found := _first(name, [path.parent, *places])) is not None]

    return _reached(source, taken_in)


def modules_beside(source: Path) -> list[Path]:
    """The Python file, and every module beside it that it imports, as far as its text says so."""
    return _reached(source, _imports)


def _reached(source: Path, taken_in: Callable[[Path], list[Path]]) -> list[Path]:
    found, left = [], [source]
    while left:
        path = left.pop()
        if path in found:
            continue
        found.append(path)
        try:
            left += taken_in(path)
        except OSError:
            continue
    return found


def _first(name: str, folders: list[Path]) -> Path | None:
    return next((path for folder in folders if (path := folder / name).is_file()), None)


def _imports(path: Path) -> list[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module or "", *(f"{node.module}.{alias.name}" if node.module else alias.name for alias in node.names)]
    parts = [path.parent.joinpath(*name.split(".")) for name in names if name]
    return [file for part in parts for file in (part.with_suffix(".py"), part / "__init__.py") if file.is_file()]
