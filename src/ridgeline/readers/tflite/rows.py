"""One row of a table of `benchmark_model`, text or CSV: its columns as numbers, whatever stands in its names.

This module decides where the columns of a line are. Names hold blanks, commas and digits (`convolution_2d 0 -> relu 1`, `Convolution (NHWC, F32)
IGEMM`), so a row is taken apart at its two percentages: numbers are read leftwards from the first one and rightwards from the second.
Source of the columns: `StatsCalculator` of TensorFlow and LiteRT; newer versions have no column `[start]`.
"""

from __future__ import annotations

import math
import re

import msgspec

__all__ = ["Header", "KindRow", "NodeRow", "header_of", "kind_row", "node_row"]

_INDEX = re.compile(r":(\d{1,9})$")


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Which columns follow: `nodes` (one row a node) or `kinds` (one row a type), CSV or text, with the start of each node or without."""

    of: str
    csv: bool = False
    start: bool = False


class NodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `Run Order`; times in ms as written, null where they are no numbers.

    Args:
        called: the column `times called`, which the tool divides without remainder: 0 may mean less than once a run, or nothing at all.
        share: the column `%`, as a share.
        memory_kib: the column `mem KB`.
        line: its place in the file.
    """

    kind: str
    name: str
    first_ms: float | None
    mean_ms: float | None
    share: float | None
    memory_kib: float
    called: int
    start_ms: float | None = None
    line: int = 0

    @property
    def node(self) -> int | None:
        """Index of the node in its graph (or within its delegate)."""
        found = _INDEX.search(self.name)
        return int(found[1]) if found else None

    @property
    def runtime(self) -> bool:
        """Whether it is an event of the runtime itself, which is called `tag/number`, and not a node."""
        head, _, tail = self.name.rpartition("/")
        return bool(tail) and head == self.kind and not self.name.startswith("[")

    @property
    def delegated(self) -> bool:
        """Whether a delegate reports it as one of its own operators."""
        return self.name.startswith("Delegate/")


class KindRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `Summary by node type`."""

    kind: str
    nodes: int
    mean_ms: float | None
    line: int = 0


def header_of(line: str) -> Header | None:
    """The header that this line is, or `None`."""
    low = line.lower()
    if "[node type]" in low and "[avg ms]" in low:
        return Header(of="nodes" if "[first]" in low else "kinds", start="[start]" in low)
    if "node type," in low and "avg_ms" in low:
        return Header(
            of="nodes" if ", first," in low.replace(",first", ", first") else "kinds", csv=True, start=re.search(r", ?start,", low) is not None
        )
    return None


def node_row(line: str, header: Header, number: int = 0) -> NodeRow | None:
    """A row of `Run Order`, or `None` where the line is none."""
    parts = line.split("%", 2)
    if len(parts) < 3:
        return None
    left = _left(parts[0], 4 if header.start else 3, header.csv)
    right = _right(parts[2], header.csv)
    if left is None or right is None:
        return None
    kind, numbers = left
    share = numbers[-1]
    return NodeRow(
        kind=kind,
        name=right[2],
        start_ms=_finite(numbers[0]) if header.start else None,
        first_ms=_finite(numbers[-3]),
        mean_ms=_finite(numbers[-2]),
        share=share / 100 if math.isfinite(share) else None,
        memory_kib=right[0],
        called=right[1],
        line=number,
    )


def kind_row(line: str, header: Header, number: int = 0) -> KindRow | None:
    """A row of `Summary by node type`, or `None` where the line is none."""
    left = _left(line.split("%", 1)[0], 3, header.csv) if "%" in line else None
    if left is None:
        return None
    kind, (nodes, mean, _) = left
    return KindRow(kind=kind, nodes=int(nodes), mean_ms=_finite(mean), line=number) if 0 <= nodes < 2**31 else None


def _left(text: str, count: int, csv: bool) -> tuple[str, list[float]] | None:
    """The name and the `count` numbers before the first percent sign."""
    parts = text.rsplit("," if csv else None, count)
    if len(parts) != count + 1:
        return None
    numbers = [_number(part) for part in parts[1:]]
    known = [number for number in numbers if number is not None]
    name = parts[0].strip().strip('"')
    return (name, known) if len(known) == count and name else None


def _right(text: str, csv: bool) -> tuple[float, int, str] | None:
    """Memory, times called and the name, after the second percent sign."""
    parts = text.lstrip(", ").split("," if csv else None, 2)
    if len(parts) < 2:
        return None
    memory, called = _number(parts[0]), _number(parts[1])
    if memory is None or called is None or not 0 <= called < 2**53:
        return None
    return (memory if math.isfinite(memory) else 0.0), int(called), parts[2].strip().strip('"') if len(parts) > 2 else ""


def _number(text: str) -> float | None:
    """The number, NaN included, or `None` where it is none; only what printf writes."""
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
