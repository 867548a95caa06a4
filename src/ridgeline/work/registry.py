"""A registry of formulas by operator name, the same for every framework: what a formula takes and gives is the framework's business."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["Registry"]

F = TypeVar("F")


class Registry(dict[str, F]):
    """Name → formula."""

    def register(self, *names: str) -> Callable[[F], F]:
        """Register a formula under names, several to a text; a name registered twice is a mistake in the package that does it."""

        def keep(function: F) -> F:
            for name in " ".join(names).split():
                if name in self:
                    raise AssertionError(f"two formulas for {name}")
                self[name] = function
            return function

        return keep
