"""Counters of AMD's GPUs in the words that all profilers share.

This module decides which counters make which figure; a figure whose counters are not all there is absent. Formulas: ROCm documentation, "MI200 and
MI300 performance counters and metrics" and the derived metrics of rocprof (`L2CacheHit`, `OccupancyPercent`, `FetchSize` in KiB, …).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SHARES", "figures", "unit_of"]

#: Derived metrics that the tool gives in per cent of a whole, by the figure that they are.
SHARES = {
    "occupancy": ("OccupancyPercent",),
    "l2_hit_rate": ("L2CacheHit",),
    "active_lanes": ("VALUUtilization",),
    "compute_share": ("VALUBusy",),
    "memory_unit_share": ("MemUnitBusy",),
}
_KIB = 1024.0
#: (numerator, whole) of rates made of counts; names without and with the suffix of a sum over all instances.
_L2 = (("TCC_HIT_sum", "TCC_HIT"), ("TCC_MISS_sum", "TCC_MISS"))
_L1_ASKED = ("TCP_TOTAL_CACHE_ACCESSES_sum", "TCP_TOTAL_CACHE_ACCESSES")
_L1_MISSED = (
    ("TCP_TCC_READ_REQ_sum", "TCP_TCC_READ_REQ"),
    ("TCP_TCC_WRITE_REQ_sum", "TCP_TCC_WRITE_REQ"),
    ("TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP_TCC_ATOMIC_WITH_RET_REQ"),
    ("TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum", "TCP_TCC_ATOMIC_WITHOUT_RET_REQ"),
)


def unit_of(counter: str) -> str:
    """Base unit of a counter's values."""
    return "1" if any(counter in names for names in SHARES.values()) else "count"


def figures(counters: Mapping[str, float], duration_s: float | None) -> dict[str, float]:
    """Figures of one dispatch.

    Args:
        counters: name → value as the tool writes it (shares in per cent).
        duration_s: of the dispatch, for rates; `None` where it is not known.
    """
    found = {name: counters[each] / 100 for name, names in SHARES.items() for each in names if each in counters}
    found = {name: value for name, value in found.items() if value >= 0}
    hit, miss = (_value(counters, *names) for names in _L2)
    if "l2_hit_rate" not in found and hit is not None and miss is not None and hit + miss > 0:
        found["l2_hit_rate"] = hit / (hit + miss)
    asked, missed = _value(counters, *_L1_ASKED), [_value(counters, *names) for names in _L1_MISSED]
    known = [value for value in missed if value is not None]
    if asked and len(known) == len(missed):
        found["l1_hit_rate"] = max(0.0, 1 - sum(known) / asked)
    fetched, written = _value(counters, "FetchSize", "FETCH_SIZE"), _value(counters, "WriteSize", "WRITE_SIZE")
    if fetched is not None and written is not None and duration_s:
        found["dram_byte_per_s"] = (fetched + written) * _KIB / duration_s
    waves, cycles = _value(counters, "SQ_WAVES_sum", "SQ_WAVES"), _value(counters, "SQ_WAVE_CYCLES_sum", "SQ_WAVE_CYCLES")
    if waves:
        found["waves"] = waves
        if cycles is not None:
            found["cycles_per_wave"] = cycles / waves
    return found


def _value(counters: Mapping[str, float], *names: str) -> float | None:
    return next((counters[name] for name in names if name in counters and counters[name] >= 0), None)
