"""Small workloads of several kinds, each with 1 % and 2 % more of the same work: what `plus_2` does more is true by construction.

Each takes about a millisecond and returns nothing, so that no result tells the versions apart. Those of numpy stand in `numpy_workloads.py`: the
others do not wait for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

__all__ = ["KINDS", "target", "targets_of"]

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


def _parsing(units: int) -> None:
    for _ in range(units):
        json.loads(_TEXT)


def _sorting(units: int) -> None:
    for _ in range(units):
        sorted(_WORDS)


#: Kind → the file beside this one that holds it.
KINDS = {
    "interpreter": "workloads.py",
    "objects": "workloads.py",
    "matrices": "numpy_workloads.py",
    "stream": "numpy_workloads.py",
    "parsing": "workloads.py",
    "sorting": "workloads.py",
}


def target(kind: str, label: str) -> str:
    """A version of a kind, as the command line takes it: `base`, its `twin`, or `plus_1` and `plus_2`."""
    return f"{Path(__file__).with_name(KINDS[kind])}:{kind}_{label}"


def targets_of(kinds: dict[str, Callable[[int], None]]) -> dict[str, Callable[[], None]]:
    """Every version of some kinds by its name. A unit is never divided: 101 of them are 1 % more than 100."""
    sizes = (("base", 100), ("twin", 100), ("plus_1", 101), ("plus_2", 102))
    return {f"{name}_{label}": _of(kind, units) for name, kind in kinds.items() for label, units in sizes}


def _of(kind: Callable[[int], None], units: int) -> Callable[[], None]:
    def workload() -> None:
        kind(units)

    return workload


globals().update(targets_of({"interpreter": _interpreter, "objects": _objects, "parsing": _parsing, "sorting": _sorting}))
