"""Finding runners through the plugin door; a broken one is named and takes no other with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ridgeline.core import BackendUnavailable, PluginError, plugins

from .base import Runner

__all__ = ["Broken", "find", "limits", "ready", "registry"]


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A runner that does not load, and why."""

    name: str
    reason: str


def find(name: str) -> Runner:
    """The runner of that name, whether or not it can work here.

    Raises:
        PluginError: there is none, it does not load, or it is no runner.
    """
    made: Any = _loaded(name)()
    if not isinstance(made, Runner) or made.name != name:
        found = f"{type(made).__name__} named {getattr(made, 'name', None)!r}"
        raise PluginError(f"a runner named {name!r}", found=found, remedy="update or remove the package that brings it")
    return made


@lru_cache
def _loaded(name: str) -> Any:
    """A worker asks for the same one again and again, and looking through the environment takes longer than a short kernel."""
    return plugins.load("runners", name)


def ready(name: str) -> Runner:
    """The runner of that name, which can work here.

    Raises:
        PluginError: as `find`.
        BackendUnavailable: what it needs is missing.
    """
    runner = find(name)
    if missing := runner.missing():
        raise BackendUnavailable(f"what the runner {name!r} needs", found=missing, remedy="install it, or choose another runner")
    return runner


def limits(runner: str, options: Mapping[str, Any]) -> dict[str, int]:
    """`Runner.limits` of the runner of that name, for a worker: asking may load a driver.

    Raises:
        PluginError, BackendUnavailable: as `ready`.
    """
    return ready(runner).limits(options)


def registry() -> tuple[tuple[Runner, ...], tuple[Broken, ...]]:
    """(runners in order of name, runners that do not load)."""
    runners: list[Runner] = []
    broken: list[Broken] = []
    for name in plugins.names("runners"):
        try:
            runners.append(find(name))
        except PluginError as error:
            broken.append(Broken(name=name, reason=str(error)))
        except Exception as error:  # whatever a stranger's constructor raises
            broken.append(Broken(name=name, reason=f"{type(error).__name__}: {error}"))
    return tuple(runners), tuple(broken)
