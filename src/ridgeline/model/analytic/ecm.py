"""The Execution-Cache-Memory model of a streaming loop on CPU cores: cycles for one cache line of work, and when the cores saturate the memory.

Decides cycles from in-core times and transfers. In-core times come from a static analyser or from instruction counts; bytes from `streams` and
`tiling`. Sources: G. Hager et al., "Exploring performance and power properties of modern multi-core chips via simple machine models", CCPE 28(2),
2016; H. Stengel et al., "Quantifying performance bottlenecks of stencil computations using the Execution-Cache-Memory model", ICS 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._arrays import COUNT, NON_NEGATIVE, POSITIVE, Reals, by_name, ceil_div, fit, larger, numbers, outside, smaller

__all__ = ["Saturation", "ecm_cycles", "saturation", "seconds", "transfer_cycles"]


@dataclass(frozen=True, eq=False)
class Saturation:
    """Cores together at one memory interface.

    Args:
        cores: the least number that saturates it, ⌈T_ECM ÷ T_mem⌉, whole.
        speedup: of the cores asked for over one, min(n, T_ECM ÷ T_mem).
        cycles: for one cache line of work of all cores together.
    """

    cores: Reals
    speedup: Reals
    cycles: Reals


def ecm_cycles(*, overlapping: ArrayLike, non_overlapping: ArrayLike, transfers: Mapping[str, ArrayLike], serial: bool = True) -> dict[str, Reals]:
    """T = max(T_OL, T_nOL + Σ transfers down to the level) in cycles, for data that lives in each level.

    Args:
        overlapping: T_OL, in-core cycles of one cache line of work that overlap with transfers (arithmetic), ≥ 0.
        non_overlapping: T_nOL, in-core cycles that do not (loads and stores to the first level), ≥ 0.
        transfers: from the inside outwards, cycles to move the lines of that work from each level to the next inner one, ≥ 0, such as
            `{"L2": 2, "L3": 4, "DRAM": 9.1}`.
        serial: whether transfers follow each other (Intel); otherwise all overlap (AMD Zen) and the longest counts:
            max(T_OL, T_nOL, transfers).

    Returns:
        Cycles by level that holds the data; `L1` first.

    Raises:
        UsageError: a number out of its range, or `L1` among the transfers.

    >>> {level: float(t) for level, t in ecm_cycles(overlapping=1, non_overlapping=2, transfers={"L2": 2, "L3": 4, "DRAM": 9}).items()}
    {'L1': 2.0, 'L2': 4.0, 'L3': 8.0, 'DRAM': 17.0}
    """
    if "L1" in transfers:
        raise UsageError("transfers from L2 outwards", found="L1", remedy="count loads from L1 as non_overlapping")
    core, loads = numbers(overlapping=(overlapping, NON_NEGATIVE), non_overlapping=(non_overlapping, NON_NEGATIVE))
    lines = by_name("transfers", transfers, NON_NEGATIVE)
    fit(overlapping=core, non_overlapping=loads, **lines)
    data = loads
    found = {"L1": larger(core, data)}
    for level, cycles in lines.items():
        data = data + cycles if serial else larger(data, cycles)
        found[level] = larger(core, data)
    return found


def transfer_cycles(
    *, moved_bytes: ArrayLike, bytes_per_cycle: ArrayLike | None = None, bandwidth: ArrayLike | None = None, clock_hz: ArrayLike = 1.0
) -> Reals:
    """Q ÷ w in cycles over a bus of w bytes a cycle, or Q f ÷ B for a bandwidth in B/s.

    Args:
        moved_bytes: Q, bytes that the work moves over this bus (write-allocates and evictions included), ≥ 0.
        bytes_per_cycle: w, > 0; or
        bandwidth: B, B/s, > 0, with clock_hz: f, Hz, > 0.

    Raises:
        UsageError: a number out of its range, or not exactly one of the two rates.

    >>> float(transfer_cycles(moved_bytes=3 * 64, bytes_per_cycle=64)), float(transfer_cycles(moved_bytes=192, bandwidth=48e9, clock_hz=2e9))
    (3.0, 8.0)
    """
    if (bytes_per_cycle is None) == (bandwidth is None):
        raise UsageError("bytes_per_cycle or bandwidth", found="both or neither", remedy="give one of them")
    if bytes_per_cycle is not None:
        moved, width = numbers(moved_bytes=(moved_bytes, NON_NEGATIVE), bytes_per_cycle=(bytes_per_cycle, POSITIVE))
        return moved / width
    given = 0.0 if bandwidth is None else bandwidth
    moved, rate, clock = numbers(moved_bytes=(moved_bytes, NON_NEGATIVE), bandwidth=(given, POSITIVE), clock_hz=(clock_hz, POSITIVE))
    return moved * clock / rate


def saturation(*, cycles: ArrayLike, memory_cycles: ArrayLike, cores: ArrayLike = 1) -> Saturation:
    """n_sat = ⌈T_ECM ÷ T_mem⌉ and speedup min(n, T_ECM ÷ T_mem): cores scale until the memory interface is busy all the time.

    Args:
        cycles: T_ECM of one core with data in memory, > 0.
        memory_cycles: T_mem, the share of it at the memory interface, > 0, at most `cycles`.
        cores: n, whole, ≥ 1.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: more memory cycles than cycles.

    Limits: the bandwidth penalty near saturation (queueing) is not modelled; measured curves bend earlier.

    >>> found = saturation(cycles=17.0, memory_cycles=9.0, cores=[1, 2, 4])
    >>> float(found.cores), [round(float(gain), 3) for gain in found.speedup]
    (2.0, [1.0, 1.889, 1.889])
    """
    whole, memory, n = numbers(cycles=(cycles, POSITIVE), memory_cycles=(memory_cycles, POSITIVE), cores=(cores, COUNT))
    outside(memory > whole, "memory_cycles", memory, "memory_cycles at most cycles", "give the cycles of the whole line of work")
    gain = smaller(n, whole / memory)
    return Saturation(cores=ceil_div(whole, memory), speedup=gain, cycles=whole / gain)


def seconds(cycles: ArrayLike, *, lines: ArrayLike, clock_hz: ArrayLike) -> Reals:
    """t = T × lines ÷ f in s.

    Args:
        cycles: for one cache line of work, ≥ 0.
        lines: cache lines of work (elements × bytes ÷ line), ≥ 0.
        clock_hz: f, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> float(seconds(16.0, lines=1e6, clock_hz=4e9))
    0.004
    """
    each_line, count, clock = numbers(cycles=(cycles, NON_NEGATIVE), lines=(lines, NON_NEGATIVE), clock_hz=(clock_hz, POSITIVE))
    return each_line * count / clock
