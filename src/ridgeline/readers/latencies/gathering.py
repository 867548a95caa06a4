"""`Gathered`: rows of recordings while they are read, and how many were left out for what reason.

This module decides how rows become a `LatencyTable`; which of them are measurements is decided by each reader.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from ridgeline.core import Excluded
from ridgeline.core.latencies import LatencyTable

from .folder import Folder

__all__ = ["Gathered", "number", "starts"]

_TEXTS = ("kind", "variant", "precision", "device", "file")


class Gathered:
    """Rows as they come.

    Args:
        optional: columns of a `LatencyTable` that rows may give, such as `power_w`.
        sizes: dimensions that rows may give.
    """

    def __init__(self, optional: tuple[str, ...] = (), sizes: tuple[str, ...] = ()) -> None:
        self._optional, self._sizes = optional, sizes
        self._rows: dict[str, list[Any]] = {name: [] for name in (*_TEXTS, "row", "latency_s", *optional)}
        self._dimensions: dict[str, list[int]] = {name: [] for name in sizes}
        self._seen: set[object] = set()
        self._left: dict[str, tuple[int, str]] = {}

    def __len__(self) -> int:
        return len(self._rows["row"])

    def new(self, key: object) -> bool:
        """Whether this is the first row with this key."""
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def add(self, values: Mapping[str, Any], sizes: Mapping[str, int] | None = None) -> None:
        """One row: texts, `row`, `latency_s` and optional columns; what it does not give is empty, 0 or not known."""
        for name, column in self._rows.items():
            column.append(values.get(name, "" if name in _TEXTS else math.nan))
        for name, dimension in self._dimensions.items():
            dimension.append(sizes.get(name, 0) if sizes else 0)

    def leave(self, reason: str, first: str, count: int = 1) -> None:
        """Count rows that are left out; `first` says where the first of them is."""
        before, where = self._left.get(reason, (0, first))
        self._left[reason] = (before + count, where)

    def table(self, source: str) -> LatencyTable:
        """All rows that were added."""
        found = LatencyTable.of(**self._rows, sizes=self._dimensions, source=source)
        excluded = tuple(Excluded(reason=reason, events=count, first=first) for reason, (count, first) in self._left.items())
        return msgspec.structs.replace(found, excluded=(*found.excluded, *excluded))


def number(text: str) -> float:
    """A finite number; NaN for what is none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def starts(folder: Folder, *starts_with: str) -> bool:
    """Whether a file of the folder starts with one of these texts."""
    return any(folder.first_line(file).startswith(starts_with) for file in folder.files)
