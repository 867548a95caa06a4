"""What a file says over and over, kept once: arrays that grow, texts with a number for each, and values as text or as a number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .events import ABSENT

__all__ = ["TOO_LONG", "Grown", "Names", "Raws", "as_text", "finite"]

#: The number of a name that is longer than the limit.
TOO_LONG = -2


class Grown:
    """An array that grows by whole arrays."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._parts: list[NDArray[Any]] = []
        self.size = 0

    def add(self, values: Any) -> None:
        """Append values, shape (k,)."""
        part = np.asarray(values).astype(self._dtype, copy=True)
        self._parts.append(part)
        self.size += len(part)

    def array(self) -> NDArray[Any]:
        """All of it; what was added before is given up."""
        joined = np.concatenate(self._parts) if self._parts else np.empty(0, self._dtype)
        self._parts = [joined]
        return joined


class Names(dict[Any, int]):
    """Text → its number; what is longer than the limit is refused."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}
        self._most = most

    def __missing__(self, value: Any) -> int:
        text = as_text(value)
        if len(text) > self._most:
            return TOO_LONG
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.all)
            self.all.append(text)
        self[value] = number
        return number


class Raws(dict[bytes, int]):
    """JSON text → the number of the same text; `ABSENT` for none and for what is too long."""

    def __init__(self, names: Names) -> None:
        super().__init__({b"": ABSENT})
        self._names = names

    def __missing__(self, raw: bytes) -> int:
        found = self._names[raw.decode("utf-8", "replace")]
        number = self[raw] = found if found >= 0 else ABSENT
        return number


def as_text(value: Any) -> str:
    """A name or an identifier as the file gives it, as text; `5` and `5.0` and `"5"` are one."""
    if isinstance(value, str):
        return value
    if value is None or value == ABSENT:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def finite(value: Any) -> float | None:
    """A finite number, of a number or a text; `None` for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None
