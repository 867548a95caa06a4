"""Which part of the wall and of the sampled lines is the interpreter's: neither dispatch, nor asking, nor a library at work."""

from __future__ import annotations

from ridgeline.core import HotSpot, Where

from .case import Case

__all__ = ["interpreted_lines", "interpreter_share"]

#: Share of the cost of dispatching one operator that is itself spent in the interpreter: what a Python loop over operators shows as interpreter time.
_INTERPRETED_DISPATCH = 0.5
#: Groups of operator rows that are Python at work, not a library.
_INTERPRETED_GROUPS = ("python", "view")


def interpreter_share(case: Case) -> float:
    """Share of the wall that the interpreter takes without what it needs to issue operators, and without loops that only ask.

    A loop that only asks is the interpreter at work on nothing: its cause is what it asks for.
    """
    return max(0.0, case.share_of("interpreter") - _INTERPRETED_DISPATCH * case.dispatch_share) * (1.0 - case.spinning)


def interpreted_lines(case: Case, apart: Where | None = None) -> list[tuple[HotSpot, float]]:
    """Sampled lines with the samples that are the interpreter's: a line is busy as well while a library works for it, and an operator's time at
    that line says for how long. The line `apart` has a finding of its own."""
    spots = case.facts.hot_spots
    if spots is None:
        return []
    native: dict[tuple[str | None, int | None], float] = {}
    for part in case.judged:
        if part.row.site is not None and part.row.group not in _INTERPRETED_GROUPS:
            place = (part.row.site.file, part.row.site.line)
            native[place] = native.get(place, 0.0) + part.share * spots.samples
    left = []
    for spot in spots.spots:
        place = (spot.site.file, spot.site.line)
        if spot.state != "blocked" and (apart is None or place != (apart.file, apart.line)):
            taken = min(float(spot.samples), native.get(place, 0.0))
            native[place] = native.get(place, 0.0) - taken
            left.append((spot, spot.samples - taken))
    return left
