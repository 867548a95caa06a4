"""Functions of the user that stand beside a target, written `file.py:function` or `package.module:function`: what waits, what makes inputs.

One in the file of the target is taken from the target's own module: it shares its queues and caches.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ridgeline.core import UsageError

from .source import import_module, load_module

__all__ = ["attribute_of", "load_function"]


def load_function(text: str, loaded: ModuleType | None = None) -> Callable[..., Any]:
    """The function that a text from `spec.function_text` names.

    Args:
        loaded: module of the target, which serves where it is of the same file or name.

    Raises:
        UsageError: no such module or function.
        Exception: whatever the module raises while it is loaded.
    """
    place, _, name = text.rpartition(":")
    module = loaded if loaded is not None and place in (getattr(loaded, "__file__", None), loaded.__name__) else None
    if module is None:
        module = load_module(place) if place.lower().endswith(".py") else import_module(place)
    found = attribute_of(module, name, place)
    if not callable(found):
        raise UsageError(f"{text} to be a function", found=f"a {type(found).__name__}", remedy="name a function")
    return found  # type: ignore[no-any-return]  # callable, and that is all that is known


def attribute_of(module: ModuleType, name: str, place: str) -> Any:
    """What a dotted name stands for in a module.

    Raises:
        UsageError: nothing; names that are near are told.
    """
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UsageError(f"a function {name} in {place}", found=_near(found, part), remedy="check the name") from None
    return found


def _near(holder: Any, name: str) -> str:
    import difflib

    names = [other for other in dir(holder) if not other.startswith("_") and callable(getattr(holder, other, None))]
    near = difflib.get_close_matches(name, names, 3, 0.6)
    return f"no {name}; there is {', '.join(near)}" if near else f"no {name}; there is {', '.join(names[:8]) or 'no function at all'}"
