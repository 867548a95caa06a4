"""`Recipe`: the commands that measure a stored run again, and why that could give another number."""

from __future__ import annotations

import msgspec

from .facts import Caution

__all__ = ["Recipe", "RecipeStep"]


class RecipeStep(msgspec.Struct, frozen=True, kw_only=True):
    """One command line for a POSIX shell, and what it is for; a command that is empty is something to do by hand."""

    command: str
    purpose: str


class Recipe(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.recipe/1"):
    """How to measure a run again.

    Args:
        run: its id.
        steps: in order.
        method: of the run, to hold the new one's against.
        warnings: why it cannot be reproduced, or not exactly.
    """

    run: str
    steps: tuple[RecipeStep, ...]
    method: str = ""
    warnings: tuple[Caution, ...] = ()
