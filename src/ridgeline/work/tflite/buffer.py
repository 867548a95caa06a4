"""Bounded reading of a flatbuffer: every length is held against the file before anything is counted through.

The classes that `flatc` generates trust the file. Reading with them never leaves the buffer (Python checks every access), but a length may claim four
billion elements, and vectors may share their bytes so that a small file unfolds to a huge model. This module decides what is too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ridgeline.core import ReadError

__all__ = ["Budget", "Damaged", "integers", "tables", "text"]

#: Elements of all vectors together; the largest models have some hundred thousand operators and operands.
_MOST = 20_000_000
_LONGEST_TEXT = 4096


class Damaged(ValueError):
    """A file that contradicts itself, in our words; what its reader stumbles over is in words that help nobody."""


class Budget:
    """What may still be read of one file.

    Args:
        size: bytes of the file.
        where: its name, for the error.
    """

    def __init__(self, size: int, where: str) -> None:
        self._left = min(_MOST, 64 * size + 1024)
        self._size, self._where = size, where

    def take(self, count: int, each_bytes: int) -> int:
        """Spend `count` elements of so many bytes each.

        Raises:
            ReadError: more than the file holds, or than any model has.
        """
        if count < 0 or count * each_bytes > self._size:
            raise ReadError(
                f"vectors inside the {self._size} bytes of {self._where}", found=f"one of {count} elements", remedy="copy or export the model again"
            )
        self._left -= count
        if self._left < 0:
            raise ReadError(
                "a model whose parts fit its size", found=f"{self._where} unfolds to more than any model has", remedy="copy or export it again"
            )
        return count


def tables(owner: Any, field: str, budget: Budget) -> Iterator[Any]:
    """The tables of a vector field, such as `Operators` of a subgraph; a null table is an error of the file."""
    get: Callable[[int], Any] = getattr(owner, field)
    for index in range(budget.take(int(getattr(owner, f"{field}Length")()), 4)):
        found = get(index)
        if found is None:
            raise Damaged(f"{field}[{index}] is absent")
        yield found


def integers(owner: Any, field: str, budget: Budget, each_bytes: int = 4) -> tuple[int, ...]:
    """The whole numbers of a vector field; empty where it is absent."""
    count = budget.take(int(getattr(owner, f"{field}Length")()), each_bytes)
    return tuple(int(part) for part in np.asarray(getattr(owner, f"{field}AsNumpy")())) if count else ()


def text(raw: bytes | None) -> str:
    """A string field, cut where it is absurdly long."""
    return raw[:_LONGEST_TEXT].decode("utf-8", "replace") if raw else ""
