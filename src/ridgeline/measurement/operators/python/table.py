"""`tabulate`: instrumented calls as one `OpTable`. Pure.

Executions are one row when source line, kind and shapes agree. It decides how times become Quantities, how many threads did the work, which row waits
for which; work comes from `ridgeline.work.numpy` by way of `classify`.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from ridgeline.core import BufferUse, OperatorRow, OpTable, Placement, Site, UsageError
from ridgeline.measurement.medians import median_of
from ridgeline.timeline.intervals import union_length
from ridgeline.work.numpy import ArrayFacts, Work, precision_of

from .capture import Seen
from .classify import Cpu, classify
from .iteration import NO_KIND, Iteration, RowKey, ordered, row_key
from .sites import Place
from .tape import Event
from .touches import Use, touches

__all__ = ["ROW_LIMIT", "describe_shapes", "name_of", "tabulate"]

ROW_LIMIT = 5000
_SHORT = {
    "float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "u64",
    "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "b1", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
#: OpenBLAS keeps a product on the calling thread up to these sizes (interface/gemm.c and gemv.c, GEMM_MULTITHREAD_THRESHOLD = 4), in FLOP.
_ONE_THREAD_FLOP = {"gemm": 2 * 4 * 65536, "gemv": 2 * 4 * 2304}


@dataclass
class _Group:
    """Executions of one row."""

    site: int
    seen: Seen
    shapes: str
    count: int = 0
    spent_ns: dict[int, int] = field(default_factory=dict)
    cpu: list[int] = field(default_factory=lambda: [0, 0, 0])

    def add(self, iteration: int, event: Event) -> None:
        self.count += 1
        self.spent_ns[iteration] = self.spent_ns.get(iteration, 0) + event.exclusive_ns
        if event.thread_ns >= 0:
            read = (event.end_ns - event.start_ns, event.thread_ns, event.process_ns)
            self.cpu = [old + new for old, new in zip(self.cpu, read, strict=True)]


def tabulate(
    iterations: Sequence[Iteration],
    places: Sequence[Place],
    *,
    pool: int = 1,
    python_calls: float | None = None,
    note: str = "",
    repeated: Mapping[Hashable, tuple[int, int]] | None = None,
) -> OpTable:
    """Rows in order of first execution, each with exclusive seconds per call, work and buffers.

    `operators_s` is the union of the operations on the calling thread, those of group `python` included, as the rows list them: what is left of the
    wall is the program's own Python.

    Args:
        iterations: instrumented calls of which every event knows what it saw.
        places: of the sites.
        pool: threads that the libraries may use.
        python_calls: see `OpTable`.
        note: to add to the instrument's text.
        repeated: see `repeats`.

    Raises:
        UsageError: no iterations.
    """
    if not iterations:
        raise UsageError("at least one instrumented call", found="none", remedy="profile with iterations ≥ 1")
    groups = _grouped(iterations)
    works = {key: classify(group.seen, Cpu(*group.cpu)) for key, group in groups.items()}
    index = {key: number for number, key in enumerate(groups)}
    persistent = _persistent(iterations[-1], works, index)
    after = _edges(iterations[-1], works, index)
    used = touches(iterations[-1], {key for key, work in works.items() if work.group == "view"})
    rows = []
    for key, group in groups.items():
        work = _placed(works[key], persistent, used.get(key, {}))
        row = _row(group, work, places, len(iterations), pool, after[index[key]])
        rows.append(_counted(row, (repeated or {}).get(key)))
    return OpTable(
        rows=tuple(rows),
        instrument="; ".join(part for part in (f"call recorder on the source, {len(iterations)} calls", note) if part),
        wall_s=median_of([iteration.wall_ns * 1e-9 for iteration in iterations], "clock around each recorded call"),
        operators_s=median_of([_union_s(iteration) for iteration in iterations], "union of operations on the calling thread"),
        iterations=len(iterations),
        check_wall_s=float(np.median([iteration.check_ns * 1e-9 for iteration in iterations])),
        python_calls=python_calls,
    )


def describe_shapes(seen: Seen) -> str:
    """Text such as `f64[8,64], f64[64,10] → f64[8,10]`; at most four inputs are written."""
    inputs = [_one(array) for array in seen.inputs[:4]] + (["…"] if len(seen.inputs) > 4 else [])
    outputs = [_one(array) for array in seen.outputs[:1]]
    return " → ".join(part for part in (", ".join(inputs), ", ".join(outputs)) if part)


def name_of(site: int, kind: str, places: Sequence[Place]) -> str:
    """`kind@file:line`, or the kind alone where no place is known."""
    place = places[site] if 0 <= site < len(places) else None
    return f"{kind}@{os.path.basename(place.file)}:{place.line}" if place else kind


def _one(array: ArrayFacts) -> str:
    return f"{_SHORT.get(array.dtype, array.dtype)}[{','.join(map(str, array.shape))}]"


def _grouped(iterations: Sequence[Iteration]) -> dict[RowKey, _Group]:
    groups: dict[RowKey, _Group] = {}
    for number, iteration in enumerate(iterations):
        for event in ordered(iteration):
            key = row_key(event)
            if key not in groups:
                seen = event.seen or NO_KIND
                if len(groups) >= ROW_LIMIT:  # what is left over goes by kind, without a place
                    key, seen = (-1, seen.kind), msgspec.structs.replace(seen, inputs=(), outputs=(), arrays=False)
                groups.setdefault(key, _Group(key[0] if isinstance(key[0], int) else -1, seen, describe_shapes(seen)))
            groups[key].add(number, event)
        for track in iteration.tracks:
            _add_beyond(groups, number, track.beyond)
    return groups


def _add_beyond(groups: dict[RowKey, _Group], iteration: int, beyond: dict[int, tuple[int, int]]) -> None:
    """Sums by site go to the first row of their site: a loop that repeats a site so often does the same each time."""
    for site, (count, spent) in beyond.items():
        group = next((group for group in groups.values() if group.site == site), None)
        if group is None:
            group = groups.setdefault((site,), _Group(site, NO_KIND, ""))
        group.count += count
        group.spent_ns[iteration] = group.spent_ns.get(iteration, 0) + spent


def _row(group: _Group, work: Work, places: Sequence[Place], iterations: int, pool: int, after: set[int]) -> OperatorRow:
    place = places[group.site] if 0 <= group.site < len(places) else None
    calls = group.count / iterations
    return OperatorRow(
        name=name_of(group.site, group.seen.kind, places),
        kind=group.seen.kind,
        calls=calls,
        total_s=median_of([group.spent_ns.get(number, 0) * 1e-9 for number in range(iterations)], "call recorder"),
        flop=None if work.flop is None else work.flop * calls,
        engine=work.engine,
        reads=work.reads,
        writes=work.writes,
        group=work.group,
        placement=Placement(
            precision="any" if work.group in ("view", "allocation") else precision_of(group.seen.inputs, group.seen.outputs),
            threads=_threads(work, Cpu(*group.cpu), pool),
        ),
        site=Site(file=place.file, line=place.line, function=place.function) if place else None,
        after=tuple(sorted(after)),
        shapes=group.shapes,
        reason=work.reason,
        objects=group.seen.objects,
    )


def _threads(work: Work, cpu: Cpu, pool: int) -> int | None:
    """Threads that did the work: one for numpy's own loops; for the rest CPU time ÷ wall, rounded.

    Workers of a pool that spin after their work count as busy, so this is an upper estimate, and products too small to be shared are known to be one.
    """
    if work.group == "other" and work.flop is None:
        return None
    if not work.threaded:
        return 1
    vector = any(work.flop is not None and use.size_bytes * 4 > work.flop for use in work.reads or ())
    if work.flop is not None and work.flop <= _ONE_THREAD_FLOP["gemv" if vector else "gemm"]:
        return 1
    busy = cpu.busy_threads
    return None if busy is None else max(1, min(pool, round(busy)))


def _placed(work: Work, persistent: set[int], used: Mapping[int, Use]) -> Work:
    """The work with what is known of its blocks beyond one execution: whether they persist, what of them is touched, how far away it was."""

    def placed(uses: tuple[BufferUse, ...] | None) -> tuple[BufferUse, ...] | None:
        if uses is None:
            return None
        return tuple(
            msgspec.structs.replace(use, persistent=use.persistent or use.buffer in persistent, span_bytes=span, reuse_bytes=distance)
            for use in uses
            for span, distance in (used.get(use.buffer, (None, None)),)
        )

    return msgspec.structs.replace(work, reads=placed(work.reads), writes=placed(work.writes))


def _counted(row: OperatorRow, count: tuple[int, int] | None) -> OperatorRow:
    """The row with its executions that differ, where they were told and the calls did not change their number since."""
    if count is None or count[0] != row.calls:
        return row
    return msgspec.structs.replace(row, distinct=float(count[1]))


def _persistent(iteration: Iteration, works: dict[RowKey, Work], index: dict[RowKey, int]) -> set[int]:
    """Blocks that were there before the call and that it never writes."""
    seen: set[int] = set()
    changed: set[int] = set()
    for event in ordered(iteration):
        if event.seen is None or row_key(event) not in index:
            continue
        seen.update(array.buffer for array in event.seen.inputs)
        changed.update(array.buffer for array in event.seen.outputs if array.fresh or works[row_key(event)].group != "view")
    return seen - changed


def _edges(iteration: Iteration, works: dict[RowKey, Work], index: dict[RowKey, int]) -> list[set[int]]:
    """For each row, the other rows whose result it reads: the last writer of each block at the time of reading."""
    after: list[set[int]] = [set() for _ in index]
    writer: dict[int, int] = {}
    for event in ordered(iteration):
        row = index.get(row_key(event))
        if event.seen is None or row is None or works[row_key(event)].group == "view":
            continue
        after[row].update(writer[array.buffer] for array in event.seen.inputs if array.buffer in writer)
        writer.update((array.buffer, row) for array in event.seen.outputs)
    return [found - {row} for row, found in enumerate(after)]


def _union_s(iteration: Iteration) -> float:
    events = [event for track in iteration.tracks if track.main for event in track.events]
    beyond = sum(spent for track in iteration.tracks if track.main for _, spent in track.beyond.values())
    return (union_length([event.start_ns for event in events], [event.end_ns for event in events]) + beyond) * 1e-9
