"""Stacks as a table of paths, for tests: what is left when the tree is unfolded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from ridgeline.core import Frame, Stacks


def paths(stacks: Stacks, named: Callable[[Frame], str] = lambda frame: frame.function) -> dict[tuple[str, ...], float]:
    """Own weight of each path that has some."""
    found: list[tuple[str, ...]] = []
    weights: dict[tuple[str, ...], float] = defaultdict(float)
    for parent, frame, own in zip(stacks.parent.values, stacks.frame.values, stacks.own.values, strict=True):
        found.append(((found[parent]) if parent >= 0 else ()) + (named(stacks.frames[frame]),))
        if own:
            weights[found[-1]] += float(own)
    return dict(weights)
