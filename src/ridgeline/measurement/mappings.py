"""Which library a program counter lies in, and whether that is the interpreter.

The interpreter is the Python executable or libpython; everything else that is mapped and executable is native code of a library. Source of the
format: proc(5), /proc/pid/maps.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mapping", "interpreter_flags", "interpreter_share", "libraries", "read_mappings"]


@dataclass(frozen=True)
class Mapping:
    """An executable range [start, end) and the file it came from (`[vdso]` and the like as they are)."""

    start: int
    end: int
    path: str

    @property
    def interpreter(self) -> bool:
        """Whether this is the Python interpreter itself."""
        name = os.path.basename(self.path)
        return self.path == os.path.realpath(sys.executable) or name.startswith("libpython")


def read_mappings(text: str | None = None) -> list[Mapping]:
    """Executable mappings of this process, sorted by address; `text` for tests."""
    if text is None:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            text = file.read()
    found = []
    for line in text.splitlines():
        fields = line.split(None, 5)
        if len(fields) < 5 or "x" not in fields[1]:
            continue
        start, _, end = fields[0].partition("-")
        found.append(Mapping(int(start, 16), int(end, 16), fields[5] if len(fields) > 5 else "[anonymous]"))
    return sorted(found, key=lambda mapping: mapping.start)


def _find(counters: NDArray[np.uint64], mappings: list[Mapping]) -> NDArray[np.int64]:
    """Index of the mapping of each program counter, −1 for none."""
    starts = np.array([m.start for m in mappings], np.uint64)
    ends = np.array([m.end for m in mappings], np.uint64)
    index = np.searchsorted(starts, counters, side="right").astype(np.int64) - 1
    inside = (index >= 0) & (counters < ends[np.maximum(index, 0)])
    return np.where(inside, index, -1)


def interpreter_share(counters: NDArray[np.uint64], mappings: list[Mapping]) -> tuple[int, int]:
    """(samples in the interpreter, samples in all) of program counters taken while the thread was on a CPU."""
    return int(interpreter_flags(counters, mappings).sum()), len(counters)


def interpreter_flags(counters: NDArray[np.uint64], mappings: list[Mapping]) -> NDArray[np.bool_]:
    """Of each program counter, shape (n,), whether it lies in the interpreter."""
    if not mappings or len(counters) == 0:
        return np.zeros(len(counters), np.bool_)
    flags = np.array([m.interpreter for m in mappings] + [False])
    return flags[_find(counters, mappings)]


def libraries(counters: NDArray[np.uint64], mappings: list[Mapping]) -> dict[str, int]:
    """Samples by file name of the library, most first."""
    if not mappings or len(counters) == 0:
        return {}
    names = [os.path.basename(m.path) for m in mappings] + ["?"]
    counts: dict[str, int] = {}
    for index in _find(counters, mappings):
        counts[names[index]] = counts.get(names[index], 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
