"""Shapes of inputs, read back from what a target says of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["shapes_of_inputs"]

#: `input: float32[1,3,224,224] (synthetic)`
_INPUT = re.compile(r"(?P<name>.+?): \w+\[(?P<shape>[0-9]+(?:, ?[0-9]+)*)\]")


def shapes_of_inputs(inputs: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Input → shape; scalars are left out.

    >>> shapes_of_inputs(["x: float32[96, 64] (synthetic)", "size: int64[] (synthetic)"])
    {'x': (96, 64)}
    """
    found = [match for text in inputs if (match := _INPUT.match(text))]
    return {match["name"]: tuple(int(size) for size in match["shape"].split(",")) for match in found}
