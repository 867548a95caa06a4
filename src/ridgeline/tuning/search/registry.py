"""Finding searches through the plugin door."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

from ridgeline.core import PluginError, UsageError, plugins

from ..space import Configurations
from .base import Strategy

__all__ = ["DEFAULT", "strategies", "strategy", "strategy_kind"]

#: The search unless another is named.
DEFAULT = "guided"


def strategies() -> tuple[str, ...]:
    """Names of all searches that are installed."""
    return tuple(plugins.names("strategies"))


def strategy_kind(name: str) -> type[Strategy]:
    """The class of the search of that name.

    Raises:
        UsageError: there is none of that name.
        PluginError: it does not load, or it is no search.
    """
    if name not in (known := strategies()):
        near = get_close_matches(name, known, 1)
        remedy = f"did you mean {near[0]!r}?" if near else "use one of them, or install the package that brings it"
        raise UsageError(f"a search of {', '.join(known)}", found=f"{name!r:.60}", remedy=remedy)
    kind: Any = plugins.load("strategies", name)
    if not (isinstance(kind, type) and issubclass(kind, Strategy) and kind.name == name):
        found = f"{getattr(kind, '__name__', kind)!s:.80} named {getattr(kind, 'name', None)!r}"
        raise PluginError(f"a search named {name!r}", found=found, remedy="update or remove the package that brings it")
    return kind


def strategy(name: str, space: Configurations, seed: int = 0, **options: Any) -> Strategy:
    """The search of that name over a space.

    Raises:
        PluginError: as `strategy_kind`.
        UsageError: as `strategy_kind`, or an option that it has not.
    """
    kind = strategy_kind(name)
    taken = inspect.signature(kind.__init__).parameters
    allowed = [each for each in taken if each not in ("self", "space", "seed", "guess")]
    strange = [each for each in options if each not in taken]
    if strange and not any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        remedy = f"use {', '.join(allowed)}" if allowed else "leave it out: it has none"
        raise UsageError(f"options of the search {name}", found=repr(strange[0]), remedy=remedy)
    return kind(space, seed, **options)
