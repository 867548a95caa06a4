"""What no other rule explains: operators far from every ceiling, or native time without an operator profile.

It names no cause. It says where the time is, how far the roof is, and what would have to be measured to tell why, so that a small waste
elsewhere is not taken for the bottleneck only because it has a name.
"""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Evidence, Where

from ..case import Case, Finding, Rule, measured_share
from ..judge import Judged
from .layout import explained_by_layout
from .locality import passed_over
from .repeats import redundant_share
from .waits import knows_why_it_waits

__all__ = ["UNKNOWN", "Unexplained"]

#: The cause of a finding that has none yet.
UNKNOWN = "unknown"
_LEAST = 0.25
#: An unexplained share weighs as if a third of it could be recovered: more than a waste of a tenth, less than a named waste of its own size.
_WEIGHT = 0.3
#: Past this part of a ceiling there is nothing to tune.
_PRACTICAL = 0.85


class Unexplained(Rule):
    """Names no cause: bound `inconclusive`, with the place and what is missing."""

    causes = (UNKNOWN,)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding."""
        if case.shares_hold and case.judged:
            yield from self._operators(case)
        else:
            yield from self._native(case)

    def _operators(self, case: Case) -> Iterator[Finding]:
        known = explained_by_layout(case) | passed_over(case)
        parts = [
            part for part in case.judged if part.bound in ("latency", "inconclusive") and not _explained_elsewhere(part) and part.index not in known
        ]
        if not parts:
            return
        share = max(0.0, case.sum_of(parts) - case.dispatch_share - case.share_of("system"))
        if share < _LEAST:
            return
        top = max(parts, key=lambda part: part.share)
        fractions = [Evidence(name=name, quantity=q) for name, q in (("f_c", top.f_c), ("f_b", top.f_b)) if q is not None]
        yield Finding(
            cause=UNKNOWN,
            bound="inconclusive",
            share=share,
            where=case.where(top),
            evidence=(*fractions, measured_share("share far from every ceiling", share, origin="operator profile")),
            summary=f"far from both ceilings on compulsory work{_headroom(top)}; the mechanism needs counters or a simulation"
            if top.row.flop is not None
            else _unknown_work(top)[0],
            missing=f"mechanism: no event counters and no simulation of {top.row.name}" if top.row.flop is not None else _unknown_work(top)[1],
            rank=share * _WEIGHT,
            operators=len(parts),
        )

    def _native(self, case: Case) -> Iterator[Finding]:
        share = case.share_of("kernels") - case.dispatch_share
        if share < _LEAST or knows_why_it_waits(case):
            return
        spots = case.facts.hot_spots
        spot = max(spots.spots, key=lambda s: s.samples, default=None) if spots else None
        where = Where(function=spot.site.function, file=spot.site.file, line=spot.site.line) if spot else Where()
        yield Finding(
            cause=UNKNOWN,
            bound="inconclusive",
            share=share,
            where=where,
            evidence=(measured_share("native code", share, origin="wall split"),),
            summary="native code without an operator profile: its work and traffic are not known",
            missing="operators: what the native code computes and moves was not seen",
            rank=share * _WEIGHT,
        )


def _unknown_work(part: Judged) -> tuple[str, str]:
    """Summary of an operator whose work is not known, and what is missing: a model's run can be looked into, a function of a library hardly."""
    missing = f"work: {part.row.reason or f'no formula for {part.row.kind}'}"
    if part.row.reason.startswith("native code"):
        return "native code whose work has no formula, so that how far from a ceiling it runs is not known", missing
    return (
        "what is computed there is not known, so neither is how far from a ceiling it runs",
        f"{missing}; what runs inside can be diagnosed by itself",
    )


def _headroom(part: Judged) -> str:
    """How far its roof is: the nearer of the two ceilings at its intensity, max(f_c, f_b) of it being reached."""
    known = [(fraction.value, name) for fraction, name in ((part.f_c, "arithmetic"), (part.f_b, "bandwidth")) if fraction is not None]
    reached, nearer = max(known, default=(0.0, ""))
    return f", {_times(_PRACTICAL / reached)} under the practical ceiling of {nearer}, the nearer one" if reached > 0 else ""


def _times(ratio: float) -> str:
    """A ratio as far as it means something: beyond a hundred the ceiling is not what such an operator waits for."""
    return f"{ratio:.1f}×" if ratio < 100 else "more than 100×"


def _explained_elsewhere(part: Judged) -> bool:
    if redundant_share(part) > 0.5 * part.share:
        return True
    return part.row.group in ("movement", "copy", "blocking", "view", "python", "allocation") or part.share < 0.005
