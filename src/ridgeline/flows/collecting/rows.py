"""From blocks to latencies of operators: what a call and idle operators take is taken off, rows beside a busy neighbour are left out.

A block of n operators takes

    block = writers + idle operators × d + n × operator

with the writers of their inputs, and the call, as the block without the operators; where nothing writes them, the call, and d, are those of blocks of
operators that do nothing. A row counts where multiply-adds beside it reached a usual rate: that of the probe, or the upper quartile of all rows where
it is higher. On a machine that is busy all the time hardly any row does. One whose writers take so much longer than its operators that little is left
of the difference does not count either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ridgeline.core import Excluded, LatencyTable, MeasuredOn, Workload
from ridgeline.measurement.onnx_blocks import WAITED, BlockTime

from .journal import Head, Measured

__all__ = ["Around", "around", "disturbed", "operator_s", "table"]

#: Of the usual rate of multiply-adds; below it something else took a part of the processors.
_QUIET_SHARE = 0.85
#: Seconds below which the clock and the call leave nothing of an operator.
_LEAST_S = 2e-8
#: Standard error of a median of n normal samples, of their quartiles' distance by √n: 1.2533 / 1.349.
_MEDIAN_ERROR = 0.93
_MOST_BLURRED = 0.1


class Around(NamedTuple):
    """Seconds of a call without operators, and of one operator that does nothing."""

    call_s: float
    idle_s: float


def around(rows: Sequence[Measured], peak_flop_per_s: float = 0.0) -> Around:
    """Both from the blocks of operators that do nothing: the slope between blocks by their medians, 0 where there are too few."""
    points = [
        (row.block.copies + row.block.idle, row.block.median_s)
        for row, noisy in zip(rows, disturbed(rows, peak_flop_per_s), strict=True)
        if row.block is not None and row.block.work.kind == "call" and not noisy
    ]
    if len({nodes for nodes, _ in points}) < 2:
        return Around(0.0, 0.0)
    slopes = [(b_s - a_s) / (b - a) for place, (a, a_s) in enumerate(points) for b, b_s in points[place + 1 :] if a != b]
    idle_s = max(0.0, float(np.median(slopes)))
    return Around(max(0.0, float(np.median([seconds - idle_s * nodes for nodes, seconds in points]))), idle_s)


def operator_s(row: Measured, beside: Around) -> float:
    """Seconds of one operator of a block that was measured."""
    block = row.block
    assert block is not None
    if block.work.kind == "call":
        return block.run_s or block.median_s
    return max(_LEAST_S, (block.median_s - (block.writers_s or beside.call_s) - block.idle * beside.idle_s) / block.copies)


def blurred(row: Measured, beside: Around) -> bool:
    """Whether the error of a difference of two medians is too large a part of it."""
    block = row.block
    if block is None or not block.writers_s:
        return False
    spread = math.hypot(block.upper_s - block.lower_s, block.writers_spread_s) / math.sqrt(block.samples)
    return _MEDIAN_ERROR * spread > _MOST_BLURRED * block.copies * operator_s(row, beside)


def disturbed(rows: Sequence[Measured], peak_flop_per_s: float = 0.0) -> list[bool]:
    """Whether something else ran beside each row, took the processors of its threads, or its CPUs were moved meanwhile."""
    rates = [row.block.quiet_flop_per_s for row in rows if row.block is not None]
    usual = max(peak_flop_per_s, float(np.quantile(rates, 0.75)) if rates else 0.0)
    return [row.block is not None and _disturbed(row.block, _QUIET_SHARE * usual) for row in rows]


def _disturbed(block: BlockTime, least_flop_per_s: float) -> bool:
    return block.moved or block.waited_share > WAITED or block.quiet_flop_per_s < least_flop_per_s


def table(head: Head, rows: Sequence[Measured], file: str) -> LatencyTable:
    """Rows that count; the others under `excluded`."""
    beside, noisy = around(rows, head.peak_flop_per_s), disturbed(rows, head.peak_flop_per_s)
    blur = [blurred(row, beside) for row in rows]
    kept = [(number, row) for number, row in enumerate(rows, 1) if row.block is not None and not noisy[number - 1] and not blur[number - 1]]
    works = [_placed(row) for _, row in kept]
    software = ", ".join(f"{name} {version}" for name, version in sorted(head.software.items()))
    made = LatencyTable.of_workloads(
        works, latency_s=[operator_s(row, beside) for _, row in kept], device=head.machine, file=file, row=[number for number, _ in kept],
        core_to_core_s=[row.block.core_to_core_s if row.block is not None else 0.0 for _, row in kept],
        source=f"measured on {head.machine} with {software}, threads: {head.threads or 'its own choice'}, {head.started}",
    )  # fmt: skip
    measured_on = {head.machine: MeasuredOn(threads=head.threads, fingerprint=head.fingerprint)}
    return msgspec.structs.replace(made, excluded=(*made.excluded, *_excluded(rows, noisy, blur, file)), measured_on=measured_on)


def _placed(row: Measured) -> Workload:
    block = row.block
    assert block is not None
    if block.work.kind != "call":
        return block.work
    return Workload(kind="call", sizes={"nodes": block.copies + block.idle})


def _excluded(rows: Sequence[Measured], noisy: Sequence[bool], blur: Sequence[bool], file: str) -> list[Excluded]:
    found = []
    for reason, of in (
        ("another process took a part of the processors, or the host moved them", [number for number, yes in enumerate(noisy, 1) if yes]),
        ("what writes the inputs takes so long that the operator is lost in it", [n for n, yes in enumerate(blur, 1) if yes and not noisy[n - 1]]),
        ("the operator did not run", [number for number, row in enumerate(rows, 1) if row.block is None]),
    ):
        if of:
            found.append(Excluded(reason=reason, events=len(of), first=f"{file} row {of[0]}"))
    return found
