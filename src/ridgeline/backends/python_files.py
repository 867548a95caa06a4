"""Python files whose names are values of a configuration, run as modules of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["beside", "run_file"]


def run_file(path: Path, values: Mapping[str, Any]) -> ModuleType:
    """A Python file, run as a module of its own with values as its names; what it gives these itself is passed over.

    Raises:
        Exception: whatever the file raises.
    """
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    module.__dict__.update(values)
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__, _Names(module.__dict__, frozenset(values)))
    module.__dict__.update(values)
    return module


class _Names(MutableMapping[str, Any]):
    """The names of a module while its body runs, of which some stay as they are."""

    def __init__(self, names: dict[str, Any], kept: frozenset[str]) -> None:
        self._names, self._kept = names, kept

    def __getitem__(self, name: str) -> Any:
        return self._names[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._kept:
            self._names[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]


@contextmanager
def beside(path: Path) -> Iterator[None]:
    """Modules beside a file can be imported for the time of a `with`."""
    place = str(path.parent)
    sys.path.insert(0, place)
    try:
        yield
    finally:
        if place in sys.path:
            sys.path.remove(place)
