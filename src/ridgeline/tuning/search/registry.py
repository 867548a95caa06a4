"""Finding searches through the plugin door."""

from __future__ import annotations

import inspect
import math
from difflib import get_close_matches
from typing import Any

from ridgeline.core import PluginError, UsageError, plugins

from ..space import Configurations
from .base import Strategy

__all__ = ["DEFAULT", "strategies", "strategy", "strategy_kind"]

#: (type of what an option has if not given, types of what may be given, in words); others take what they like.
_KINDS: tuple[tuple[type, tuple[type, ...], str], ...] = (
    (bool, (bool,), "true or false"), (int, (int,), "a whole number"), (float, (int, float), "a finite number"), (str, (str,), "a text"),
)  # fmt: skip
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
        UsageError: as `strategy_kind`, an option that it has not, or a value of another kind than that which the option has if not given.
    """
    kind = strategy_kind(name)
    taken = inspect.signature(kind.__init__).parameters
    allowed = [each for each in taken if each not in ("self", "space", "seed", "guess")]
    strange = [each for each in options if each not in taken]
    if strange and not any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        remedy = f"use {', '.join(allowed)}" if allowed else "leave it out: it has none"
        raise UsageError(f"options of the search {name}", found=repr(strange[0]), remedy=remedy)
    for each, value in options.items():
        if each in allowed:
            _kind_of_option(each, value, taken[each].default, name)
    return kind(space, seed, **options)


def _kind_of_option(option: str, value: Any, default: Any, search: str) -> None:
    kinds = next((each for each in _KINDS if type(default) is each[0]), None)
    if kinds is not None and (type(value) not in kinds[1] or (isinstance(value, float) and not math.isfinite(value))):
        raise UsageError(f"{kinds[2]} as {option} of the search {search}", found=repr(value)[:80], remedy=f"give one, such as {default!r}")
