"""Faces of packages whose names are imported when they are first asked for: a process that needs one of them does not pay for all.

A fresh process is the unit of every benchmark, so what each of them imports is paid hundreds of times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package (PEP 562).

    Args:
        package: its dotted name.
        homes: module below it → the names that come from there, separated by spaces.
    """
    where = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.{where[name]}"), name)
        # Asked for once, then at hand.
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *where})

    return get, names
