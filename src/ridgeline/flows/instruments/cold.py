"""The cold start: fresh processes, each for one first call.

Files stay in the page cache between them: what is cold is the process, not the disk.
"""

from __future__ import annotations

import time

import msgspec

from ridgeline.core import BackendUnavailable, ColdStart, Facts, HotSpots, Site
from ridgeline.measurement.agent import PreparedReport
from ridgeline.measurement.medians import median_of
from ridgeline.targets import starting_s

from .surroundings import Instruments

__all__ = ["cold_start"]

_LEAST, _MOST = 3, 8


def cold_start(instruments: Instruments, facts: Facts) -> Facts:
    """Start, loading and first call of at least three fresh processes, more while they fit a quarter of the budget.

    Raises:
        BackendUnavailable: every call of this target is a process of its own already.
    """
    if facts.target.kind in ("script", "command"):
        remedy = "its samples are cold starts"
        raise BackendUnavailable("a target that stays loaded between calls", found=f"a {facts.target.kind}, a fresh process a call", remedy=remedy)
    began, loads, firsts = time.monotonic(), list[float](), list[float]()
    while len(firsts) < _LEAST or (len(firsts) < _MOST and time.monotonic() - began < instruments.budget_s / 4):
        instruments.report("starting fresh processes", len(firsts) / _MOST)
        seen: PreparedReport = instruments.call_apart("prepare", PreparedReport)
        loads.append(seen.load_s)
        firsts.append(seen.first_s or 0.0)
    started = median_of([starting_s("script", 1) for _ in range(_LEAST)], "an interpreter that does nothing")
    site, share = _first_line(instruments, facts)
    cold = ColdStart(
        load_s=median_of(loads, f"{len(loads)} fresh processes, files in the page cache"),
        first_s=median_of(firsts, f"{len(firsts)} fresh processes, files in the page cache"),
        process_s=started,
        starts=len(firsts),
        site=site,
        site_share=share,
    )
    return msgspec.structs.replace(facts, cold=cold)


def _first_line(instruments: Instruments, facts: Facts) -> tuple[Site | None, float]:
    """Where most of the first call goes, in one more process; nothing where the target has no lines of its own."""
    if facts.target.kind not in ("python", "torch"):
        return None, 0.0
    seen: HotSpots = instruments.call_apart("first_lines", HotSpots)
    top = max(seen.spots, key=lambda spot: spot.samples, default=None)
    return (top.site, top.samples / seen.samples) if top is not None else (None, 0.0)
