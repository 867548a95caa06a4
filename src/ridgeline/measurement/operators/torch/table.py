"""`tabulate`: recorded operators and profiled calls as one `OpTable`.

Pure but for one question to torch (whether an operator is only a composition). It decides how times become Quantities, what to do when the profile
and the record disagree, and what the reader is told about it. Work comes from `ridgeline.work.torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from statistics import median

from msgspec.structs import replace

from ridgeline.core import OperatorRow, OpTable, Placement, Quantity, UsageError
from ridgeline.stats import interval_ranks
from ridgeline.work.torch import RecordedOp, Work, work_of

from .alignment import Accounts, account
from .events import Event, Forest, is_compiled, is_operator
from .repeats import repeats
from .rows import edges, group_rows, name_of, placement_of
from .trace import Iteration

__all__ = ["ROW_LIMIT", "median_seconds", "tabulate", "union_ns"]

ROW_LIMIT = 5000
# Under this share of recorded operators found again in the profile, times go by name: wrong pairs would be worse than none.
_AGREEMENT = 0.8


def tabulate(ops: Sequence[RecordedOp], iterations: Sequence[Iteration], *, threads: int = 1, note: str = "") -> OpTable:
    """Rows in order of first execution, each with exclusive seconds per call, work and buffers.

    A row's time is the median over the calls, with the distribution-free interval of order statistics. Time that belongs to no recorded operator
    makes rows of its own, without work. `operators_s` is the union of the operators at the top over all threads.

    Args:
        ops: of one call, as `ridgeline.work.torch.record` gave them; may be empty.
        iterations: profiled calls of the same workload.
        threads: torch's intra-op threads.
        note: to add to the instrument's text.

    Raises:
        UsageError: no iterations.
    """
    if not iterations:
        raise UsageError("at least one profiled call", found="none", remedy="profile with iterations ≥ 1")
    kinds = [op.kind for op in ops]
    accounts = [account(Forest(_calling(iteration)), kinds, _idle) for iteration in iterations]
    share = _share_found(ops, accounts)
    remarks = [note] if note else []
    if share < _AGREEMENT and ops:
        remarks.append(f"only {share:.0%} of the recorded operators were found in the profile, so times are by name and work is unknown")
        ops, accounts = (), [account(Forest(_calling(iteration)), (), _idle) for iteration in iterations]
    elif share < 1:
        remarks.append(f"{share:.1%} of the recorded operators were found in the profile")
    if any(is_compiled(event.name) for one in accounts for _, event, _ in one.left_ns):
        remarks.append("compiled graphs hide their kernels; operators beside them are paired by name with the record of the uncompiled program")
    if any(event.lane != iteration.lane for iteration in iterations for event in iteration.events if is_operator(event.name)):
        remarks.append("operators on other threads included (union over threads)")
    rows = _rows(ops, accounts, threads, [_elsewhere(iteration) for iteration in iterations])
    unions = [union_ns(_tops(iteration)) for iteration in iterations]
    return OpTable(
        rows=tuple(rows),
        instrument="; ".join((f"torch.profiler, CPU records, {len(iterations)} calls, joined to the dispatcher's record", *remarks)),
        wall_s=median_seconds([iteration.wall_ns for iteration in iterations], "record around each profiled call"),
        operators_s=median_seconds(unions, "union of top-level operators"),
        iterations=len(iterations),
        check_wall_s=median(iteration.check_s for iteration in iterations),
    )


def median_seconds(nanoseconds: Sequence[float], origin: str) -> Quantity:
    """Median and its distribution-free interval from order statistics, in seconds.

    With fewer than six values no interval reaches 95 %: then it is the smallest and the largest, which hold the median with 1 − 2¹⁻ⁿ.
    """
    ordered = sorted(nanoseconds)
    n = len(ordered)
    # A single value says nothing about its spread; Quantity has no zero for that.
    low, high, coverage = interval_ranks(n, 0.5) or (1, n, max(0.01, 1 - 2.0 ** (1 - n)))
    ends = ordered[low - 1] * 1e-9, ordered[high - 1] * 1e-9
    value = min(max(median(ordered) * 1e-9, ends[0]), ends[1])
    return Quantity(value=value, low=ends[0], high=ends[1], confidence=coverage, unit="s", source="measured", origin=origin)


def union_ns(events: Sequence[Event]) -> int:
    """Length of the union of the intervals."""
    total, reached = 0, -1
    for event in sorted(events, key=lambda event: event.start_ns):
        total += max(0, event.end_ns - max(event.start_ns, reached))
        reached = max(reached, event.end_ns)
    return total


def _calling(iteration: Iteration) -> list[Event]:
    return [event for event in iteration.events if event.lane == iteration.lane]


def _elsewhere(iteration: Iteration) -> list[Event]:
    lanes = {event.lane for event in iteration.events} - {iteration.lane}
    return [root for lane in sorted(lanes) for root in Forest([event for event in iteration.events if event.lane == lane]).roots()]


def _tops(iteration: Iteration) -> list[Event]:
    return [*Forest(_calling(iteration)).roots(), *_elsewhere(iteration)]


def _share_found(ops: Sequence[RecordedOp], accounts: Sequence[Accounts]) -> float:
    """Share of recorded operators, views left out, that every call's profile held; what a compiled graph swallowed is not missed."""
    working = [index for index, op in enumerate(ops) if not op.is_view]
    if not working:
        return 1.0
    if any(is_compiled(event.name) for one in accounts for _, event, _ in one.left_ns):
        return 1.0
    return min(sum(index in one.recorded_ns for index in working) for one in accounts) / len(working)


def _rows(ops: Sequence[RecordedOp], accounts: Sequence[Accounts], threads: int, elsewhere: Sequence[list[Event]]) -> list[OperatorRow]:
    groups = group_rows(ops, ROW_LIMIT - 500)
    row_of = [0] * len(ops)
    for row, group in enumerate(groups):
        for member in group.members:
            row_of[member] = row
    after = edges(ops, row_of, len(groups))
    again = repeats(ops)
    works: dict[int, Work] = {}
    placed: list[tuple[int, OperatorRow]] = []
    kept: dict[int, int] = {}
    for row, group in enumerate(groups):
        calls = sum(member in one.recorded_ns for one in accounts for member in group.members) / len(accounts)
        if calls == 0:  # a compiled graph does it in another way
            continue
        kept[row] = len(placed)
        works = {member: work_of(ops[member]) for member in group.members}
        spent = [sum(one.recorded_ns.get(member, 0) for member in group.members) for one in accounts]
        first = group.members[0]
        made = _row(ops[first], works, spent, calls, threads, name_of(group.kind, group.site), group.shapes)
        placed.append((first, replace(made, distinct=_distinct([again[member] for member in group.members], calls))))
    named = [(first, _with_edges(row, after[old], kept)) for (first, row), old in zip(placed, kept, strict=True)]
    return _merge(named, _left_rows(ops, accounts, elsewhere))


def _row(op: RecordedOp, works: dict[int, Work], spent: list[int], calls: float, threads: int, name: str, shapes: str) -> OperatorRow:
    work = next(iter(works.values()))
    flops = [each.flop for each in works.values()]
    known = [flop for flop in flops if flop is not None]
    return OperatorRow(
        name=name,
        kind=op.kind,
        calls=calls,
        total_s=median_seconds(spent, "torch.profiler"),
        flop=sum(known) * calls / len(works) if len(known) == len(flops) else None,
        engine=work.engine,
        reads=work.reads,
        writes=work.writes,
        group=work.group,
        placement=placement_of(op, work, threads),
        site=op.site if shapes else None,
        shapes=shapes,
        reason=work.reason,
    )


def _distinct(again: Sequence[bool | None], calls: float) -> float | None:
    """Executions that differ; `None` where one cannot be told, or where the profiled calls had another number of them than the recorded one."""
    if len(again) != calls or any(one is None for one in again):
        return None
    return float(len(again) - sum(map(bool, again)))


def _with_edges(row: OperatorRow, after: tuple[int, ...], kept: dict[int, int]) -> OperatorRow:
    return replace(row, after=tuple(kept[index] for index in after if index in kept))


def _left_rows(ops: Sequence[RecordedOp], accounts: Sequence[Accounts], elsewhere: Sequence[list[Event]]) -> list[tuple[int, OperatorRow]]:
    """Rows by name for time that no recorded operator explains."""
    spent: dict[str, list[int]] = {}
    count: dict[str, int] = {}
    place: dict[str, int] = {}
    sample: dict[str, Event] = {}
    for number, (one, other) in enumerate(zip(accounts, elsewhere, strict=True)):
        for reached, event, duration in (*one.left_ns, *((len(ops), event, event.duration_ns) for event in other)):
            kind = "CompiledFxGraph" if is_compiled(event.name) else event.name
            spent.setdefault(kind, [0] * len(accounts))[number] += duration
            count[kind] = count.get(kind, 0) + 1
            place.setdefault(kind, reached)
            sample.setdefault(kind, event)
    return [(place[kind], _left_row(kind, sample[kind], spent[kind], count[kind] / len(accounts), bool(ops))) for kind in spent]


def _left_row(kind: str, event: Event, spent: list[int], calls: float, recorded: bool) -> OperatorRow:
    idle = recorded and _idle(event)
    reason = "a composition that moved no data" if idle else "the record of the dispatcher does not hold it"
    if is_compiled(event.name):
        reason = "kernels inside a compiled graph have no records of their own"
    return OperatorRow(
        name=kind,
        kind=kind,
        calls=calls,
        total_s=median_seconds(spent, "torch.profiler"),
        flop=0.0 if idle else None,
        reads=() if idle else None,
        writes=() if idle else None,
        group="view" if idle else "other",
        placement=Placement(device="cpu" if event.lane >= 0 else f"cuda:{-1 - event.lane}"),
        reason=reason,
    )


def _merge(placed: list[tuple[int, OperatorRow]], left: list[tuple[int, OperatorRow]]) -> list[OperatorRow]:
    """Both lists in order of first execution; edges follow their rows to the new positions."""
    every = ((left, 0), (placed, 1))
    tagged = sorted(((first, kind, index, row) for rows, kind in every for index, (first, row) in enumerate(rows)), key=lambda entry: entry[:3])
    moved = {index: position for position, (_, kind, index, _) in enumerate(tagged) if kind == 1}
    return [replace(row, after=tuple(sorted(moved[index] for index in row.after))) for _, _, _, row in tagged]


def _idle(event: Event) -> bool:
    return _composition(event.name, event.overload)


@cache
def _composition(name: str, overload: str) -> bool:
    """Whether torch implements the operator only by calling others; False where torch is not there to ask."""
    try:
        import torch
    except ImportError:
        return False
    known: Callable[[str, str], bool] = torch._C._dispatch_has_kernel_for_dispatch_key
    try:
        return bool(known(f"{name}.{overload}" if overload else name, "CompositeImplicitAutograd"))
    except RuntimeError:
        return False
