"""From the accumulators to a `WaitTable`: what was one wait, per call of the target. Pure arithmetic on sums."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from ridgeline.core import Quantity, Wait, WaitTable
from ridgeline.core.waits import BusyLine, WaitKind

from .loops import repeated_lines
from .sampler import INTERVAL_S, Sampler, SpinSum, source_of
from .tally import Place, Recorder, Tally, WaitSum, site_of

__all__ = ["table_of"]

_SHOWN = 40
#: A wait of less than this share of the wall, all threads together, says nothing.
_LEAST_SHARE = 1e-3
_OUTSIDE = ("process", "sleep", "socket", "file")
#: Relative interval of a sum that was timed piece by piece.
_TIMED = 0.02

#: Kind, what was waited for as text or the lock's maker, and the waiting line.
_Row = tuple[str, object, Place]
_Part = tuple[Tally, Any, WaitSum]


def table_of(
    recorder: Recorder, sampler: Sampler, looked_at: Sequence[Tally], *, walls: Sequence[float], wall_s: Quantity, instrument: str
) -> WaitTable:
    """The waits of one call.

    Args:
        recorder: stopped, with the calls that were timed.
        sampler: stopped.
        looked_at: waits of the calls that the sampler looked at.
        walls: seconds of each recorded call.
        wall_s: wall of a typical one; sums are scaled to it.
        instrument: how it was taken.
    """
    looked = sampler.looked_s
    scale = _Scale(calls=len(walls), sums=wall_s.value / sum(walls), samples=wall_s.value / looked if looked > 0 else 0.0, looked_s=looked)
    sampled = _grouped(looked_at)
    rows = [
        *(_timed_wait(row, parts, sampled.get(row, ()), recorder.caller, scale) for row, parts in _grouped(recorder.tallies).items()),
        *_spin_waits(sampler.spins, recorder.caller, scale),
    ]
    kept = sorted((wait for wait in rows if wait.calls and wait.total_s.value >= _LEAST_SHARE * wall_s.value), key=lambda wait: -wait.total_s.value)
    kept = _with_loops(kept[:_SHOWN])
    lines = sorted(sampler.lines.items(), key=lambda line: -line[1])[:_SHOWN]
    return WaitTable(
        waits=tuple(kept),
        wall_s=wall_s,
        instrument=instrument,
        interpreted_threads=sampler.wanting_s / looked if looked > 0 else None,
        python_lines=tuple(BusyLine(site=site_of(place), seconds=seconds * scale.samples) for place, seconds in lines),
        iterations=len(walls),
    )


def _with_loops(waits: Sequence[Wait]) -> list[Wait]:
    """Waits for what is outside the process, with whether their lines repeat by what they find."""
    pieces: dict[str, list[tuple[int, int]] | None] = {}
    told = []
    for wait in waits:
        file = wait.site.file if wait.site is not None and wait.kind in _OUTSIDE else None
        if file and file not in pieces:
            pieces[file] = repeated_lines(text) if (text := source_of(file)) else None
        inside = pieces[file] if file else None
        if inside is not None and wait.site is not None:
            line = wait.site.line or 0
            wait = msgspec.structs.replace(wait, until=any(first <= line <= last for first, last in inside))
        told.append(wait)
    return told


@dataclass(frozen=True)
class _Scale:
    """Calls that were recorded, and what sums of them and sampled seconds are multiplied with to be those of one typical call."""

    calls: int
    sums: float
    samples: float
    looked_s: float


def _grouped(tallies: Iterable[Tally]) -> dict[_Row, list[_Part]]:
    """Waits of all threads by kind, what was waited for, and line; locks made at one line are one."""
    groups: dict[_Row, list[_Part]] = {}
    for tally in tallies:
        for (kind, on, place), found in tally.sums.items():
            if place is not None and (found.calls or found.sampled_s):
                groups.setdefault((kind, on if isinstance(on, str) else on.made, place), []).append((tally, on, found))
    return groups


def _timed_wait(row: _Row, parts: Sequence[_Part], looks: Sequence[_Part], caller: int, scale: _Scale) -> Wait:
    kind, _, place = row
    sums = [found for _, _, found in parts]
    total = sum(found.total_s for found in sums)
    waits = sum(found.calls for found in sums)
    seen = [found for _, _, found in looks]
    sampled = sum(found.sampled_s for found in seen)
    capacity = max(found.capacity for found in sums)
    moved = sum(found.moved_bytes for found in sums)
    on = parts[0][1]
    locks = list({id(lock): lock for _, lock, _ in parts if not isinstance(lock, str)}.values())
    if locks and any(lock.elsewhere for lock in locks):
        kind = "condition"  # taken by one thread and given back by another: it is a signal and protects nothing
    return Wait(
        kind=cast("WaitKind", kind),
        calls=waits / scale.calls,
        total_s=_seconds(total * scale.sums),
        caller_s=_seconds(sum(found.total_s for tally, _, found in parts if tally.ident == caller) * scale.sums),
        on=on if isinstance(on, str) else f"{on.name} made at {os.path.basename(on.made[0].co_filename)}:{on.made[1]}",
        site=site_of(place),
        holder=_holder(sums),
        threads=len({tally.ident for tally, _, _ in parts}),
        acquisitions=sum(lock.acquisitions for lock in locks) / scale.calls if locks else None,
        held_s=_seconds(_held(locks, scale.calls) * scale.sums) if locks else None,
        longest_s=max(found.longest_sum_s for found in sums) * scale.sums,
        native=min(1.0, sum(found.native_s for found in seen) / sampled) if sampled > 0 else None,
        asleep=min(1.0, sum(found.asleep_s for found in seen) / sampled) if sampled > 0 else None,
        interpreted=min(1.0, sum(found.interpreted_s for found in seen) / sampled) if sampled > 0 else None,
        in_flight=sum(found.in_flight for found in sums) / waits if capacity else None,
        capacity=capacity or None,
        child_cpu_s=sum(found.child_cpu_s for found in sums) * scale.sums if kind == "process" else None,
        moved_bytes=moved / scale.calls if moved else None,
    )


def _held(locks: Sequence[Any], calls: int) -> float:
    """Seconds that a lock was held in all calls: where several made at one line are used in one call, the one held longest."""
    if len(locks) > calls / 2 and calls > 1:  # a lock of its own for every call
        return float(sum(lock.held_s for lock in locks))
    return float(max(lock.held_s for lock in locks))


def _holder(sums: Sequence[WaitSum]) -> Any:
    seen: Counter[Place] = Counter()
    for found in sums:
        seen.update(found.holders)
    return site_of(seen.most_common(1)[0][0]) if seen else None


def _spin_waits(spins: dict[tuple[int, Place, str], SpinSum], caller: int, scale: _Scale) -> Iterable[Wait]:
    groups: dict[tuple[Place, str], list[tuple[int, SpinSum]]] = {}
    for (ident, place, asks), found in spins.items():
        groups.setdefault((place, asks), []).append((ident, found))
    looks = max(1.0, scale.looked_s / INTERVAL_S)
    for (place, asks), parts in groups.items():
        total = sum(found.total_s for _, found in parts)
        yield Wait(
            kind="spin",
            calls=1.0,
            total_s=_sampled(total * scale.samples, looks),
            caller_s=_sampled(sum(found.total_s for ident, found in parts if ident == caller) * scale.samples, looks),
            on=asks,
            site=site_of(place),
            threads=len({ident for ident, _ in parts}),
            native=min(1.0, sum(found.native_s for _, found in parts) / total),
            asleep=min(1.0, sum(found.asleep_s for _, found in parts) / total),
            interpreted=min(1.0, sum(found.interpreted_s for _, found in parts) / total),
        )


def _seconds(value: float) -> Quantity:
    return Quantity(
        value=value, low=value * (1 - _TIMED), high=value * (1 + _TIMED), confidence=0.95, unit="s", source="measured", origin="stopwatch on the wait"
    )


def _sampled(value: float, looks: float) -> Quantity:
    """Counting error of a share seen in so many looks: two standard deviations at the most, 2 × 0.5 ÷ √n."""
    error = min(1.0, 1.0 / math.sqrt(looks)) * value
    return Quantity(value=value, low=value - error, high=value + error, confidence=0.95, unit="s", source="measured", origin="sampled lines")
