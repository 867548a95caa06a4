"""f_c and f_b of every operator, and the bound they stand for: the decision tree of the method, with intervals.

f_c = operations ÷ time ÷ ceiling of the engine, precision and threads. f_b = time the compulsory bytes would need at the achievable bandwidth of the
levels that hold them ÷ time. Both on the kernel's own time: dispatch and page faults are taken out first. What the bound *means* is decided by
the rules in `causes`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline.core import Device, Facts, OperatorRow, Quantity, quotient

from .ceilings import arithmetic_ceiling, bandwidth_ceiling, mix_of
from .residency import reuse_distances

__all__ = ["BOUND_HIGH", "BOUND_LOW", "HEALTHY", "Judged", "bound_of", "fills", "judge", "moves_nothing_much"]

#: Thresholds of the method: at or above 0.6 a ceiling binds, below 0.4 it does not; 0.7 is healthy.
BOUND_HIGH = 0.6
BOUND_LOW = 0.4
HEALTHY = 0.7
#: There is no arithmetic to wait for: the time is the memory system's, and f_b on compulsory bytes is only its lower bound.
_ONLY_MOVE = ("movement", "copy")
#: Where 4 B of every line of 64 B are used, a sixteenth of the traffic is compulsory. Under a third of that the time is not the memory system's.
_LEAST_MOVED = 0.02


@dataclass(frozen=True, kw_only=True)
class Judged:
    """An operator with its numbers.

    Attributes:
        row: the facts.
        index: position in the table.
        share: share of the wall, 0…1 (0 when the level was perturbed).
        kernel_s: seconds a target call spends in its kernels, without dispatch and page faults; `None` if nothing is left.
        dispatch_s, system_s: what was taken out.
        bytes: compulsory bytes of one target call; `None` if unknown.
        read_bytes, write_bytes: its two parts.
        working_set_bytes: traffic-weighted reuse distance.
        achieved_flop_per_s, achieved_byte_per_s, f_c, f_b: Quantities, `None` where something is missing.
        intensity: FLOP/B, `None` if unknown.
        bound: see `bound_of`.
        threads: threads it is judged by.
    """

    row: OperatorRow
    index: int
    share: float
    kernel_s: Quantity | None
    dispatch_s: float
    system_s: float
    bytes: int | None
    read_bytes: int
    write_bytes: int
    working_set_bytes: float
    achieved_flop_per_s: Quantity | None
    achieved_byte_per_s: Quantity | None
    f_c: Quantity | None
    f_b: Quantity | None
    intensity: float | None
    bound: str
    threads: int

    @property
    def ideal_s(self) -> float | None:
        """Seconds that its work would need at the ceiling that binds; `None` where neither fraction is known."""
        fractions = [fraction.value for fraction in (self.f_c, self.f_b) if fraction is not None]
        return self.kernel_s.value * max(fractions) if self.kernel_s is not None and fractions else None


def bound_of(f_c: Quantity | None, f_b: Quantity | None) -> str:
    """The bound by the thresholds: `compute`, `bandwidth`, `latency`, `mixed` or `inconclusive`.

    A fraction whose interval straddles a threshold does not settle the question by itself; the point value decides, and the reader sees the interval.

    >>> bound_of(None, None)
    'inconclusive'
    """
    c = f_c.value if f_c else None
    b = f_b.value if f_b else None
    if c is None and b is None:
        return "inconclusive"
    c, b = c if c is not None else 0.0, b if b is not None else 0.0
    if max(c, b) >= BOUND_HIGH:
        return "compute" if c >= b else "bandwidth"
    if c >= BOUND_LOW and b >= BOUND_LOW:
        return "mixed"
    if c >= BOUND_LOW:
        return "compute"
    return "bandwidth" if b >= BOUND_LOW else "latency"


def fills(part: Judged) -> bool:
    """Whether an operator writes a constant: nothing is copied, and it is a stream of its own."""
    return _constant(part.row)


def moves_nothing_much(part: Judged) -> bool:
    """Whether the bytes of an operator that only moves data are too few to be what takes its time."""
    return part.row.group in _ONLY_MOVE and part.f_b is not None and part.f_b.value < _LEAST_MOVED


def _constant(row: OperatorRow) -> bool:
    return row.group == "copy" and row.reads == () and bool(row.writes)


def _bound(row: OperatorRow, f_c: Quantity | None, f_b: Quantity | None) -> str:
    """The bound of an operator: one whose arithmetic nobody knows is not slow because the bytes of its arguments are few."""
    if row.group in _ONLY_MOVE and f_b is not None and not _constant(row):
        return "bandwidth" if f_b.value >= _LEAST_MOVED else "inconclusive"
    bound = bound_of(f_c, f_b)
    return "inconclusive" if bound == "latency" and row.flop is None else bound


def judge(facts: Facts, rows: Sequence[OperatorRow], wall_s: float, threads: int) -> list[Judged]:
    """Judge every operator.

    Args:
        facts: `device`, `dispatch`, `wall_split` and `samples` are used where present.
        rows: the operators, with the times to judge them by.
        wall_s: wall of one instrumented call, the denominator of the shares.
        threads: threads taken for an operator that does not say.

    Returns:
        One `Judged` a row, in the order of the table.
    """
    distances = reuse_distances(rows)
    system = _system_by_row(facts, rows)
    per_dispatch = facts.dispatch.per_operator_s.value if facts.dispatch else 0.0
    return [_judge_row(facts.device, row, index, wall_s, threads, distances[index], system[index], per_dispatch) for index, row in enumerate(rows)]


def _system_by_row(facts: Facts, rows: Sequence[OperatorRow]) -> list[float]:
    """Seconds of system time that each row owes to touching fresh memory: the measured system time, dealt out by fresh bytes."""
    fresh = [sum(use.size_bytes for use in row.writes or () if use.fresh) * row.calls for row in rows]
    whole = sum(fresh)
    split, samples = facts.wall_split, facts.samples
    if not whole or split is None or samples is None or len(samples) == 0:
        return [0.0] * len(rows)
    # Waiting and blocked time are not in operator time in the same proportion, so only the system share is dealt out.
    system_s = split.system.value * samples.mean("wall_s")  # type: ignore[operator]
    return [system_s * part / whole for part in fresh]


def _judge_row(
    device: Device | None,
    row: OperatorRow,
    index: int,
    wall_s: float,
    default_threads: int,
    distances: dict[int, int],
    system_s: float,
    per_dispatch: float,
) -> Judged:
    threads = row.placement.threads or default_threads
    reads, writes = _bytes(row.reads), _bytes(row.writes)
    known = row.reads is not None and row.writes is not None
    moved = int((reads + writes) * row.calls) if known else None
    dispatch_s = min(row.total_s.value, per_dispatch * row.calls)
    system_s = min(system_s, row.total_s.value - dispatch_s)
    kernel_s = _less(row.total_s, dispatch_s + system_s)
    working_set = _weighted(row, distances)
    flop_rate = _rate(row.flop, kernel_s, "FLOP/s" if row.engine in ("fma", "add") else "op/s")
    byte_rate = _rate(moved, kernel_s, "B/s")
    f_c, f_b = None, None
    if device is not None:
        if flop_rate is not None and row.engine is not None:
            ceiling = arithmetic_ceiling(device, row.engine, row.placement.precision, threads, _library(row))
            f_c = (
                quotient(flop_rate, ceiling, "1", origin=f"achieved ÷ {row.engine} {row.placement.precision} ceiling, {threads} threads")
                if ceiling
                else None
            )
        if byte_rate is not None:
            roof = bandwidth_ceiling(device, mix_of(reads, writes), threads, max(working_set, 1.0))
            roof = roof.scaled(_without_allocate(row)) if roof else None
            f_b = quotient(byte_rate, roof, "1", origin=f"compulsory bytes ÷ {mix_of(reads, writes)} bandwidth, {threads} threads") if roof else None
    return Judged(
        row=row,
        index=index,
        share=min(1.0, row.total_s.value / wall_s) if wall_s > 0 else 0.0,
        kernel_s=kernel_s,
        dispatch_s=dispatch_s,
        system_s=system_s,
        bytes=moved,
        read_bytes=int(reads * row.calls),
        write_bytes=int(writes * row.calls),
        working_set_bytes=working_set,
        achieved_flop_per_s=flop_rate,
        achieved_byte_per_s=byte_rate,
        f_c=f_c,
        f_b=f_b,
        intensity=row.flop / moved if row.flop is not None and moved else None,
        bound=_bound(row, f_c, f_b),
        threads=threads,
    )


def _without_allocate(row: OperatorRow) -> float:
    """How much faster than the probe's mix this row may name its bytes, because it writes where it reads.

    The probe's streams write to an array they do not read, so that each line written is first fetched: r + 2w bytes move for r + w named. A row
    that writes w₀ bytes in place fetches only the others.
    """
    reads, writes = _bytes(row.reads), _bytes(row.writes)
    read = {use.buffer for use in row.reads or ()}
    in_place = sum(use.size_bytes for use in row.writes or () if use.buffer in read)
    moved = reads + 2 * writes - in_place
    return (reads + 2 * writes) / moved if moved > 0 else 1.0


def _bytes(uses: Sequence[object] | None) -> int:
    return sum(use.size_bytes for use in uses or ())  # type: ignore[attr-defined]


def _weighted(row: OperatorRow, distances: dict[int, int]) -> float:
    """Reuse distance of the row's data, as the geometric mean weighted by bytes (bandwidth is read off a logarithmic axis)."""
    uses = [use for use in (*(row.reads or ()), *(row.writes or ())) if use.size_bytes > 0]
    weight = sum(use.size_bytes for use in uses)
    if not weight:
        return 0.0
    return math.exp(sum(use.size_bytes * math.log(max(1, distances.get(use.buffer, use.size_bytes))) for use in uses) / weight)


def _less(time: Quantity, taken: float) -> Quantity | None:
    """Time minus what is not the kernel's; `None` where under a tenth remains, since the difference of two noisy numbers says nothing."""
    if time.value <= 0 or time.value - taken < 0.1 * time.value:
        return None
    left = time.value - taken
    return Quantity(
        value=left,
        low=max(min(time.low - taken, left), 0.05 * left),
        high=max(time.high - taken, left),
        confidence=time.confidence,
        unit="s",
        source=time.source,
        origin=time.origin,
    )


def _rate(amount: float | None, time: Quantity | None, unit: str) -> Quantity | None:
    if amount is None or time is None or amount <= 0 or time.low <= 0:
        return None
    return quotient(Quantity.exact(float(amount), unit.removesuffix("/s") if unit != "op/s" else "count", origin="work from shapes"), time, unit)


def _library(row: OperatorRow) -> str:
    if row.kind.startswith("aten::"):
        return "torch"
    return "numpy" if row.kind.startswith(("numpy.", "scipy.")) else ""
