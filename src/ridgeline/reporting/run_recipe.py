"""The reproduction recipe of a run, as a section of its page and as a shell script; the same steps, the same warnings."""

from __future__ import annotations

import msgspec

from ridgeline.core.recipe import Recipe

from .page import Item, Items, Page, Section
from .text import clean

__all__ = ["recipe_script", "with_recipe"]


def with_recipe(page: Page, recipe: Recipe) -> Page:
    """The page with the commands that measure the run again as its last section."""
    steps = tuple(Item(title=step.command or step.purpose, detail=step.purpose if step.command else "") for step in recipe.steps)
    blocks = [Items(items=steps, numbered=True)]
    if recipe.warnings:
        blocks.append(Items(items=tuple(Item(title=f"{one.code}: {one.message}", detail=one.effect) for one in recipe.warnings)))
    return msgspec.structs.replace(page, sections=(*page.sections, Section(title="Measure it again", blocks=tuple(blocks))))


def recipe_script(recipe: Recipe) -> str:
    """A script for a POSIX shell; what has to be known or done by hand stands in comments."""
    lines = ["#!/bin/sh", f"# Measures run {clean(recipe.run)} again.", "set -e"]
    lines += [f"# It was measured by: {clean(recipe.method)}"] if recipe.method else []
    lines += [f"# {clean(one.code)}: {clean(one.message)}: {clean(one.effect)}" for one in recipe.warnings]
    for step in recipe.steps:
        # A command goes as it is, but on one line: a line break in a quoted word would be read as one.
        lines += [f"# {clean(step.purpose)}", *([step.command] if step.command else [])]
    return "\n".join(lines) + "\n"
