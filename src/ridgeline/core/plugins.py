"""The one door for extensions: entry points in groups `ridgeline.KIND`, ours and a stranger's alike.

Kinds: `readers`, `runners`, `devices`, `strategies`, `changes`, `rules`, `targets`, `displays`, `synchronisers`,
`result_readers`, `latencies`. A plugin that does not load is a `PluginError` naming the distribution; one broken plugin never takes the others
with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import msgspec

from .errors import PluginError

__all__ = ["KINDS", "found", "load", "names", "plugins", "sound", "take"]

KINDS = ("readers", "runners", "devices", "strategies", "changes", "rules", "targets", "displays", "synchronisers", "result_readers", "latencies")


class _Point(msgspec.Struct, frozen=True):
    """One entry point: `package.module:attribute`, and the distribution that brings it."""

    value: str
    owner: str


#: What another process has looked up: kind → name → points. Looking through the metadata of an environment takes as long as starting Python.
_told: dict[str, dict[str, list[_Point]]] = {}
#: What this process has looked up, by kind, and the state of the path that it belongs to.
_seen: dict[str, tuple[object, dict[str, list[_Point]]]] = {}


def found(kinds: Iterable[str]) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """The entry points of some kinds in plain form, for `take` in a process that is started; nothing is imported."""
    return {kind: {name: [(point.value, point.owner) for point in points] for name, points in _points(kind).items()} for kind in kinds}


def take(points: Mapping[str, Mapping[str, Sequence[Sequence[str]]]]) -> None:
    """Go by what another process of the same environment has found, instead of looking again."""
    for kind, named in points.items():
        _told[kind] = {name: [_Point(*point) for point in several] for name, several in named.items()}


def _points(kind: str) -> dict[str, list[_Point]]:
    if kind not in KINDS:
        raise PluginError(f"a kind of plugin from {KINDS}", found=repr(kind), remedy="use one of them")
    if kind in _told:
        return _told[kind]
    state = _state_of_path()
    if kind not in _seen or _seen[kind][0] != state:
        _seen[kind] = state, _looked_up(kind)
    return _seen[kind][1]


def _looked_up(kind: str) -> dict[str, list[_Point]]:
    from importlib.metadata import entry_points  # late: a process that was told does not need it

    points: dict[str, list[_Point]] = {}
    for point in entry_points(group=f"ridgeline.{kind}"):
        points.setdefault(point.name, []).append(_Point(point.value, point.dist.name if point.dist else "an unknown distribution"))
    return points


def _state_of_path() -> object:
    """What changes when a distribution comes or goes: the folders that are looked through and their times, as `importlib.metadata` has it."""
    return tuple((place, _changed_ns(place)) for place in sys.path), tuple(map(id, sys.meta_path))


def _changed_ns(place: str) -> int:
    try:
        return os.stat(place or ".").st_mtime_ns
    except (OSError, ValueError):
        return -1


def names(kind: str) -> tuple[str, ...]:
    """Names of the plugins of one kind, sorted; nothing is imported."""
    return tuple(sorted(_points(kind)))


def load(kind: str, name: str) -> Any:
    """Import and return one plugin.

    Raises:
        PluginError: there is none of that name, or importing it fails.
    """
    return _loaded(kind, name, _points(kind))


def sound(kind: str) -> tuple[dict[str, Any], tuple[PluginError, ...]]:
    """Every plugin of one kind that loads, by name, and why the others do not; the environment is looked through once."""
    points = _points(kind)
    loaded: dict[str, Any] = {}
    broken: list[PluginError] = []
    for name in sorted(points):
        try:
            loaded[name] = _loaded(kind, name, points)
        except PluginError as error:
            broken.append(error)
    return loaded, tuple(broken)


def _loaded(kind: str, name: str, points: Mapping[str, Sequence[_Point]]) -> Any:
    if name not in points:
        raise PluginError(f"a plugin ridgeline.{kind} from {sorted(points)}", found=repr(name), remedy="install the package that brings it")
    point = points[name][0]
    if len({other.value for other in points[name]}) > 1:
        owners = ", ".join(sorted(other.owner for other in points[name]))
        raise PluginError(f"one plugin {name} of kind {kind}", found=f"several, from {owners}", remedy="remove all but one")
    try:
        return _imported(point.value)
    except Exception as error:  # whatever a stranger's module raises at import
        what = f"{type(error).__name__}: {error}"
        raise PluginError(f"plugin {name} of {point.owner} to load", found=what, remedy=f"update or remove {point.owner}") from error


def plugins(kind: str) -> Iterator[tuple[str, Any]]:
    """Load every plugin of one kind in order of name; a broken one raises `PluginError`. Who must go on without it uses `sound`."""
    for name in names(kind):
        yield name, load(kind, name)


def _imported(value: str) -> Any:
    """What `package.module:attribute.attribute [extras]` names (packaging.python.org, entry points specification)."""
    module, _, attributes = value.partition("[")[0].partition(":")
    loaded: Any = import_module(module.strip())
    for attribute in filter(None, attributes.strip().split(".")):
        loaded = getattr(loaded, attribute)
    return loaded
