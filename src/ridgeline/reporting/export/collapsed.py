"""Collapsed stacks: one line a path, frames from the outermost on with `;` between, and its own weight.

This module decides how names are made to fit: no `;`, no line ends, kinds as the annotations of stackcollapse, Python frames as py-spy spells them.
Weights are decimal numbers without an exponent, in the unit of the stacks, which the format has no place for.
"""

from __future__ import annotations

import os
import re
from decimal import Decimal

from ridgeline.core import Frame, Stacks

__all__ = ["collapsed"]

_KINDS = {"kernel": "_[k]", "runtime": "_[j]", "inlined": "_[i]"}
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")
#: A last word of a frame that would be taken for a weight of a differential file.
_LAST_NUMBER = re.compile(r"\s+(?=[\d.]+(?:[eE][+-]?\d+)?$)")
_NO_PARENTHESES = re.compile(r"[^();\s]+")


def collapsed(stacks: Stacks) -> bytes:
    """A line for each path with a weight of its own, in order of the paths; paths that are spelled alike are one line."""
    names = [_spelled(frame) for frame in stacks.frames]
    paths: list[str] = []
    weights: dict[str, float] = {}
    for parent, frame, own in zip(stacks.parent.values.tolist(), stacks.frame.values.tolist(), stacks.own.values.tolist(), strict=True):
        path = f"{paths[parent]};{names[frame]}" if parent >= 0 else _first(names[frame])
        paths.append(path)
        if own:
            weights[path] = weights.get(path, 0.0) + own
    return "".join(f"{path} {_number(weight)}\n" for path, weight in sorted(weights.items())).encode("utf-8", "replace")


def _spelled(frame: Frame) -> str:
    name = frame.function
    if name == "[unknown]" and frame.library:
        name = f"[{os.path.basename(frame.library).strip('[]') or 'unknown'}]"
    if frame.kind == "python" and frame.file and frame.line and _NO_PARENTHESES.fullmatch(frame.file):
        name = f"{name} ({frame.file}:{frame.line})"
    name = _BREAKS.sub(" ", name.replace(";", ":")).strip() or "[unknown]"
    return _LAST_NUMBER.sub("_", name) + _KINDS.get(frame.kind, "")


def _first(name: str) -> str:
    """The outermost frame, such that its line is not taken for a comment."""
    return f"\\{name}" if name.startswith(("#", "//")) else name


def _number(weight: float) -> str:
    return str(int(weight)) if weight.is_integer() else format(Decimal(repr(weight)), "f")
