"""Small workloads of several kinds, each with 1 % and 2 % more of the same work: what `plus_2` does more is true by construction.

Each takes about a millisecond and returns nothing, so that no result tells the versions apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

__all__ = ["KINDS"]

_MATRIX = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
_STREAM = np.ones(1_100_000, np.float32)
_TEXT = json.dumps({"rows": [{"id": index, "name": f"row {index}", "values": [index, index + 1]} for index in range(8)]})
_WORDS = [f"word{index * 7919 % 4001}" for index in range(40)]


def _interpreter(units: int) -> None:
    total = 0
    for index in range(units * 100):
        total += index * index % 7


def _objects(units: int) -> None:
    for unit in range(units):
        rows = [{"id": unit, "place": place} for place in range(40)]
        sum(row["place"] for row in rows)


def _matrices(units: int) -> None:
    for _ in range(units):
        _MATRIX @ _MATRIX


def _stream(units: int) -> None:
    # 40 KB a unit, so that a part of the array more is a part of the bytes more.
    for start in range(0, 10_000 * units, 10_000):
        _STREAM[start : start + 10_000].sum()


def _parsing(units: int) -> None:
    for _ in range(units):
        json.loads(_TEXT)


def _sorting(units: int) -> None:
    for _ in range(units):
        sorted(_WORDS)


KINDS: dict[str, Callable[[int], None]] = {
    "interpreter": _interpreter,
    "objects": _objects,
    "matrices": _matrices,
    "stream": _stream,
    "parsing": _parsing,
    "sorting": _sorting,
}


# ---- the targets: file.py:KIND_base and so on ----------------------------------------------------------------------------------------


def _of(kind: Callable[[int], None], units: int) -> Callable[[], None]:
    def workload() -> None:
        kind(units)

    return workload


# A unit is never divided: 101 of them are 1 % more than 100.
for _name, _kind in KINDS.items():
    for _label, _units in (("base", 100), ("twin", 100), ("plus_1", 101), ("plus_2", 102)):
        globals()[f"{_name}_{_label}"] = _of(_kind, _units)
