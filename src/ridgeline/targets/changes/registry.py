"""Finding changes through the plugin door; a broken one is named and takes no other with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ridgeline.core import PluginError, plugins

from .base import Change

__all__ = ["Broken", "find", "registry"]


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A change that does not load, and why."""

    name: str
    reason: str


def find(name: str) -> Change:
    """The change of that name.

    Raises:
        PluginError: there is none, it does not load, or it is no change.
    """
    made: Any = plugins.load("changes", name)()
    if not isinstance(made, Change) or made.name != name:
        found = f"{type(made).__name__} named {getattr(made, 'name', None)!r}"
        raise PluginError(f"a change named {name!r}", found=found, remedy="update or remove the package that brings it")
    return made


def registry() -> tuple[tuple[Change, ...], tuple[Broken, ...]]:
    """(changes in order of name, changes that do not load)."""
    changes: list[Change] = []
    broken: list[Broken] = []
    for name in plugins.names("changes"):
        try:
            changes.append(find(name))
        except PluginError as error:
            broken.append(Broken(name=name, reason=str(error)))
        except Exception as error:  # whatever a stranger's constructor raises
            broken.append(Broken(name=name, reason=f"{type(error).__name__}: {error}"))
    return tuple(changes), tuple(broken)
