"""The parts that one call of a target divides into, by view: the wall split, its stages, its operators, the kernels inside them.

Each view divides the whole call, so that what its parts leave is a part as well. This module reads them from the facts of one process; which part
of one version is which of the other, and what differs, is decided in `attribution`.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from ridgeline.core import Facts, LevelRecord, OperatorRow, OpTable, Quantity, StageTable
from ridgeline.stats import median_interval

__all__ = ["SPLIT_KINDS", "VIEWS", "Part", "PartKey", "parts_of", "view_perturbed"]

#: Views in the order in which they are told.
VIEWS = ("stages", "operators", "kernels", "wall")
_SPLIT = {
    "blocked": "asleep: disk, network, sleep or another process",
    "waiting": "runnable but not running",
    "system": "in the kernel",
    "interpreter": "in the Python interpreter or in the dispatch of a framework",
    "kernels": "in native code of the program and its libraries",
}
#: Part of the wall split → the sort of difference that it is.
SPLIT_KINDS = {"blocked": "blocked", "waiting": "waiting", "system": "system time", "interpreter": "interpreter", "kernels": "native code"}
_LAYOUT = re.compile(r"reorder|transpose|permute|contiguous|layout|moveaxis|swapaxes", re.IGNORECASE)
_CAST = re.compile(r"\bcast|astype|convert|quantize|_to_copy", re.IGNORECASE)
#: What copies: where the work is not that of a copy, the result lies in another order.
_COPIES = re.compile(r"clone|copy|asarray|ascontiguousarray|asfortranarray", re.IGNORECASE)
#: Where a name says the line of a source file; lines move from version to version.
_LINE = re.compile(r"@.*$")
_GROUP_KINDS = {"allocation": "allocation", "python": "interpreter", "blocking": "waiting", "copy": "copy"}


class PartKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a part is known by.

    Args:
        name: as its instrument gives it.
        kind: what its instrument calls its sort, such as `MatMul`.
        shapes: of its operands, for display.
        nth: which of the parts that are alike in all of that, from 0.
    """

    name: str
    kind: str = ""
    shapes: str = ""
    nth: int = 0

    @property
    def bare(self) -> str:
        """The name without a source line."""
        return _LINE.sub("", self.name)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of one call.

    Args:
        key: what it is known by.
        sort: `stage`, `operator`, `kernel`, `layout`, `copy`, `allocation`, `interpreter`, `waiting`, `blocked`, `system time`, `native code`.
        seconds: of one call, with the interval inside this process.
        calls: executions in one call; null where that means nothing.
        says: what it is, for a person.
    """

    key: PartKey
    sort: str
    seconds: Quantity
    calls: float | None = None
    says: str = ""


def parts_of(facts: Facts, view: str) -> tuple[Part, ...]:
    """The parts of one call by a view, empty where it was not taken; the time between operators is no part of theirs."""
    if view == "wall":
        return _split_parts(facts)
    if view == "stages":
        return _stage_parts(facts.stages) if facts.stages is not None else ()
    if view == "operators":
        return _operator_parts(facts.operators) if facts.operators is not None else ()
    return _kernel_parts(facts)


def view_perturbed(facts: Facts, view: str) -> bool:
    """Whether taking a view changed the time by more than 10 %, so that its seconds are those of other calls."""
    instruments = {
        "wall": facts.wall_split.how if facts.wall_split else None,
        "stages": facts.stages.instrument if facts.stages else None,
        "operators": facts.operators.instrument if facts.operators else None,
        "kernels": facts.primitives.instrument if facts.primitives else None,
    }
    return any(_is(record, instruments[view]) and record.perturbed is True for record in facts.levels)


def _is(record: LevelRecord, instrument: str | None) -> bool:
    return instrument is not None and record.instrument == instrument


def _split_parts(facts: Facts) -> tuple[Part, ...]:
    split, samples = facts.wall_split, facts.samples
    if split is None or samples is None or len(samples) == 0:
        return ()
    walls = samples.wall_s.values
    wall_s, middle = float(np.median(walls)), median_interval(walls)
    low_s, high_s = (middle.low, middle.high) if middle is not None else (float(walls.min()), float(walls.max()))
    faults = samples.mean("minor_faults")
    parts = []
    for name, says in _SPLIT.items():
        share: Quantity = getattr(split, name)
        if name == "system" and faults is not None:
            says = f"{says}; {faults:.3g} page faults a call"
        seconds = msgspec.structs.replace(
            share, value=share.value * wall_s, low=share.low * low_s, high=share.high * high_s, unit="s", origin=share.origin or split.how
        )
        parts.append(Part(key=PartKey(name=name), sort=SPLIT_KINDS[name], seconds=seconds, says=says))
    return tuple(parts)


def _stage_parts(table: StageTable) -> tuple[Part, ...]:
    seen: dict[PartKey, int] = {}
    return tuple(
        Part(key=_numbered(PartKey(name=_path(table, index)), seen), sort="stage", seconds=stage.own_s, calls=stage.calls)
        for index, stage in enumerate(table.stages)
    )


def _path(table: StageTable, index: int) -> str:
    """The name of a stage with those around it; a damaged record may nest in a circle."""
    names, at, left = [], index, len(table.stages)
    while at is not None and left:
        names.append(table.stages[at].name)
        parent = table.stages[at].parent
        at, left = (parent if parent is not None and 0 <= parent < len(table.stages) else None), left - 1  # type: ignore[assignment]
    return " / ".join(reversed(names))


def _operator_parts(table: OpTable) -> tuple[Part, ...]:
    seen: dict[PartKey, int] = {}
    return tuple(
        Part(
            key=_numbered(PartKey(name=row.name, kind=row.kind, shapes=row.shapes), seen),
            sort=_sort_of(row),
            seconds=row.total_s,
            calls=row.calls,
            says="put in by the framework" if row.inserted else "",
        )
        for row in table.rows
    )


def _kernel_parts(facts: Facts) -> tuple[Part, ...]:
    seen: dict[PartKey, int] = {}
    return tuple(
        Part(
            key=_numbered(PartKey(name=made.implementation or made.kind, kind=made.kind, shapes=made.shapes), seen),
            sort="layout" if made.kind == "reorder" else "kernel",
            seconds=made.total_s,
            calls=made.calls,
        )
        for made in (facts.primitives.primitives if facts.primitives is not None else ())
    )


def _sort_of(row: OperatorRow) -> str:
    if row.group in _GROUP_KINDS:
        return _GROUP_KINDS[row.group]
    if _CAST.search(row.kind):
        return "conversion"
    moved = row.group == "movement" and (row.inserted or _COPIES.search(row.kind))
    return "layout" if moved or _LAYOUT.search(row.kind) else "operator"


def _numbered(key: PartKey, seen: dict[PartKey, int]) -> PartKey:
    number = seen.get(key, 0)
    seen[key] = number + 1
    return msgspec.structs.replace(key, nth=number)
