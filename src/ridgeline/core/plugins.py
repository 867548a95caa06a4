"""The one door for extensions: entry points in groups `ridgeline.KIND`, ours and a stranger's alike.

Kinds: `readers`, `backends`, `devices`, `strategies`, `changes`, `rules`. A plugin that does not load is a `PluginError` naming the
distribution; one broken plugin never takes the others with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .errors import PluginError

__all__ = ["KINDS", "load", "names", "plugins"]

KINDS = ("readers", "backends", "devices", "strategies", "changes", "rules", "targets")


def _points(kind: str) -> dict[str, EntryPoint]:
    if kind not in KINDS:
        raise PluginError(f"a kind of plugin from {KINDS}", found=repr(kind), remedy="use one of them")
    return {point.name: point for point in entry_points(group=f"ridgeline.{kind}")}


def names(kind: str) -> tuple[str, ...]:
    """Names of the plugins of one kind, sorted; nothing is imported."""
    return tuple(sorted(_points(kind)))


def load(kind: str, name: str) -> Any:
    """Import and return one plugin.

    Raises:
        PluginError: there is none of that name, or importing it fails.
    """
    points = _points(kind)
    if name not in points:
        raise PluginError(f"a plugin ridgeline.{kind} from {sorted(points)}", found=repr(name), remedy="install the package that brings it")
    point = points[name]
    try:
        return point.load()
    except Exception as error:  # whatever a stranger's module raises at import
        owner = point.dist.name if point.dist else "unknown distribution"
        raise PluginError(
            f"plugin {name} of {owner} to load", found=f"{type(error).__name__}: {error}", remedy=f"update or remove {owner}"
        ) from error


def plugins(kind: str) -> Iterator[tuple[str, Any]]:
    """Load every plugin of one kind in order of name; the first broken one raises `PluginError`."""
    for name in names(kind):
        yield name, load(kind, name)
