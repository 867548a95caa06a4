"""Files that a source takes in, where no compiler can be asked: includes of C-like sources, modules that Python imports, files in a command."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["included", "modules_beside", "sources_among"]

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


def modules_beside(source: Path, roots: Iterable[Path] = ()) -> list[Path]:
    """The Python file, and every module that it imports as far as its text says so: those beside it, in its package, and below these folders.

    Args:
        roots: that modules are imported from as well; installed packages are told by their versions.
    """
    places = [source.parent, *roots]
    return _reached(source, lambda path: _imports(path, places))


def sources_among(words: Iterable[str], folder: Path = Path()) -> list[Path]:
    """Files among the words of a command, and what is imported from those that are Python."""
    parts = (part for word in words for part in (word, word.rpartition("=")[2]) if part)
    there = [path for part in parts if _is_file(path := folder / part)]
    return [file for path in there for file in (modules_beside(path) if path.suffix == ".py" else [path])]


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


def _imports(path: Path, places: list[Path]) -> list[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return []
    found: dict[Path, None] = {}
    for node in ast.walk(tree):
        for level, name in _imported(node):
            # `from .. import x` starts one folder up.
            starts = places if not level else [path.parent.joinpath(*[".."] * (level - 1))]
            found.update(dict.fromkeys(file for start in starts for file in _modules(start, name)))
    return list(found)


def _imported(node: ast.AST) -> list[tuple[int, str]]:
    """(Dots, name) of what an import may mean: `from a import b` imports a, and b where that is a module."""
    if isinstance(node, ast.Import):
        return [(0, alias.name) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [alias.name for alias in node.names]
        return [(node.level, ".".join(filter(None, (node.module, name)))) for name in ("", *names)]
    return []


def _modules(start: Path, name: str) -> list[Path]:
    """Files of a dotted name below a folder: each package on the way is imported too."""
    parts = name.split(".") if name else []
    found = [start.joinpath(*parts[:count], "__init__.py") for count in range(1, len(parts) + 1)]
    if parts:
        found.append(start.joinpath(*parts).with_suffix(".py"))
    else:
        found.append(start / "__init__.py")
    return [Path(os.path.normpath(file)) for file in found if file.is_file()]


def _is_file(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return path.is_file()
    return False
