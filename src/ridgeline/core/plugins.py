"""The one door for extensions: entry points in groups `ridgeline.KIND`, ours and a stranger's alike.

Kinds: `readers`, `backends`, `devices`, `strategies`, `changes`, `rules`, `targets`, `displays`, `synchronisers`,
`result_readers`. A plugin that does not load is a `PluginError` naming the distribution; one broken plugin never takes the others with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["KINDS", "load", "names", "plugins"]

KINDS = ("readers", "backends", "devices", "strategies", "changes", "rules", "targets", "displays", "synchronisers", "result_readers")


def _points(kind: str) -> dict[str, list[EntryPoint]]:
    if kind not in KINDS:
        raise PluginError(f"a kind of plugin from {KINDS}", found=repr(kind), remedy="use one of them")
    from importlib.metadata import entry_points  # late: a process that is told where its plugin is does not look for it

    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=f"ridgeline.{kind}"):
        points.setdefault(point.name, []).append(point)
    return points


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
    point = points[name][0]
    if len({other.value for other in points[name]}) > 1:
        owners = ", ".join(sorted(_owner(other) for other in points[name]))
        raise PluginError(f"one plugin {name} of kind {kind}", found=f"several, from {owners}", remedy="remove all but one")
    try:
        return point.load()
    except Exception as error:  # whatever a stranger's module raises at import
        what = f"{type(error).__name__}: {error}"
        raise PluginError(f"plugin {name} of {_owner(point)} to load", found=what, remedy=f"update or remove {_owner(point)}") from error


def plugins(kind: str) -> Iterator[tuple[str, Any]]:
    """Load every plugin of one kind in order of name; a broken one raises `PluginError`. Who must go on without it uses `names` and `load`."""
    for name in names(kind):
        yield name, load(kind, name)


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unknown distribution"
