"""Finding searches through the plugin door."""

from __future__ import annotations

from typing import Any

from ridgeline.core import PluginError, plugins

from ..space import Configurations
from .base import Strategy

__all__ = ["DEFAULT", "strategies", "strategy"]

#: The search unless another is named.
DEFAULT = "guided"


def strategies() -> tuple[str, ...]:
    """Names of all searches that are installed."""
    return tuple(plugins.names("strategies"))


def strategy(name: str, space: Configurations, seed: int = 0, **options: Any) -> Strategy:
    """The search of that name over a space.

    Raises:
        PluginError: there is none, it does not load, or it is no search.
    """
    kind: Any = plugins.load("strategies", name)
    if not (isinstance(kind, type) and issubclass(kind, Strategy) and kind.name == name):
        found = f"{getattr(kind, '__name__', kind)!s:.80} named {getattr(kind, 'name', None)!r}"
        raise PluginError(f"a search named {name!r}", found=found, remedy="update or remove the package that brings it")
    return kind(space, seed, **options)
