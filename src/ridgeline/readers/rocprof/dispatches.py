"""Dispatches of kernels, whatever file they come from, to a timeline or, where their counters were taken, to a table of kernels.

Kernels whose counters are taken run alone, one after the other: their durations hold, but when they ran says nothing about the program, so that they
make no timeline.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ridgeline.core import KernelCounts, KernelTable, Track

from ..assembling import Assembly, kind_of
from ..databases import MISSING
from ..kinds import device_kind
from .counters import figures, unit_of

__all__ = ["Dispatch", "add_dispatches", "kernel_table", "whole"]

#: Beyond any time, register or byte of a dispatch.
_MOST = 2**62


class Dispatch(NamedTuple):
    """One kernel that was put into a queue; −1 or empty for what the file does not say, times in ns (`MISSING` likewise)."""

    name: str
    start: int
    end: int
    device: str
    queue: str
    process: str = ""
    number: int = -1
    correlation: int = -1
    #: Threads of the whole grid and of a block.
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int = -1
    shared_bytes: int = -1
    counters: dict[str, float] | None = None
    line: int = 0


def add_dispatches(assembly: Assembly, dispatches: Sequence[Dispatch], lanes_are: str = "queue") -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """To a timeline; returns what the events are called in it. `lanes_are` says what `Dispatch.queue` is: `queue` or `stream`."""
    names = assembly.names([each.name for each in dispatches])
    kinds = np.fromiter((kind_of(device_kind(each.name)) for each in dispatches), np.int64, len(dispatches))
    lanes = {key: assembly.lane(_lane(*key, lanes_are)) for key in {(each.device, each.queue, each.process): None for each in dispatches}}
    lane = np.fromiter((lanes[each.device, each.queue, each.process] for each in dispatches), np.int64, len(dispatches))
    start, end = whole((each.start for each in dispatches), MISSING), whole((each.end for each in dispatches), MISSING)
    numbers = {
        "threads_per_block": np.array([_product(each.block) for each in dispatches], np.int64),
        "blocks": np.array([_blocks(each) for each in dispatches], np.int64),
        "registers_per_thread": whole((each.registers for each in dispatches), -1),
        "shared_bytes_per_block": whole((each.shared_bytes for each in dispatches), -1),
    }
    used = {key: values for key, values in numbers.items() if (values >= 0).any()}
    return assembly.add(start, end, name=names, lane=lane, kind=kinds, numbers=used, place="dispatch")


def whole(values: Iterable[int], absent: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Whole numbers as a column, `absent` where one is beyond any that a machine counts to."""
    return np.array([value if -(2**63) <= value < 2**63 else absent for value in values], np.int64)


def kernel_table(dispatches: Sequence[Dispatch], instrument: str) -> KernelTable | None:
    """To a table, where counters were taken."""
    counted = [each for each in dispatches if each.counters]
    if not counted:
        return None
    rows = []
    for each in counted:
        counters = {name: value for name, value in (each.counters or {}).items() if math.isfinite(value)}
        known = MISSING not in (each.start, each.end) and 0 <= each.end - each.start < _MOST
        duration = (each.end - each.start) / 1e9 if known else None
        further = {"registers_per_thread": each.registers, "shared_bytes_per_block": each.shared_bytes}
        rows.append(
            KernelCounts(
                name=each.name,
                index=each.number if each.number >= 0 else None,
                duration_s=duration,
                device=each.device,
                stream=each.queue,
                grid=each.grid,
                block=each.block,
                raw={name: value / 100 if unit_of(name) == "1" else value for name, value in counters.items()},
                figures={**figures(counters, duration), **{name: float(value) for name, value in further.items() if 0 <= value < _MOST}},
            )
        )
    units = {name: unit_of(name) for each in counted for name in each.counters or {}}
    return KernelTable(kernels=tuple(rows), units=units, replayed=True, instrument=instrument)


def _lane(device: str, queue: str, process: str, what: str) -> Track:
    return Track(name=f"{device} {what} {queue}".strip(), device=device, role="queue", process=process, thread=queue)


def _product(shape: tuple[int, ...]) -> int:
    product = 1
    for each in shape:
        product *= each
    return product if shape and 0 < product < _MOST else -1


def _blocks(each: Dispatch) -> int:
    threads, block = _product(each.grid), _product(each.block)
    return -(-threads // block) if threads > 0 and block > 0 else -1
