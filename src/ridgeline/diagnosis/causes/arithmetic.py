"""Arithmetic at its ceiling: multiply-adds near the practical peak, and special functions at the rate the machine has for them.

An engine's own ceiling counts: exp, tanh and erf look like waiting when they are held against multiply-adds.
"""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import Evidence, Precision

from ..case import Case, Finding, Proposal, Rule
from ..ceilings import arithmetic_ceiling, computes_in, lower_precisions
from ..judge import BOUND_LOW, Judged

__all__ = ["NearPeak", "SpecialFunctions"]

#: Where dense kernels end, of the ceiling.
_DENSEST = 0.85
#: Engines whose ceiling is a rate of useful steps; below it there is only less or cheaper work.
_DENSE = ("fma", "sort", "gather")
_WORDS = {"fma": "multiply-adds"}
_SPECIAL = ("exp", "tanh", "erf", "divide")
#: A few multiply-adds instead of a function gain no more than this.
_CHEAPEST = 20.0


class NearPeak(Rule):
    """Names `near-peak`: dense arithmetic at a good share of its ceiling; only less or cheaper arithmetic helps."""

    causes = ("near-peak",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all compute-bound operators on dense engines."""
        parts = [part for part in case.judged if part.row.engine in _DENSE and part.bound in ("compute", "mixed")]
        if not parts or not case.shares_hold:
            return
        top = max(parts, key=lambda part: part.share)
        if top.f_c is None:
            return
        share = case.sum_of(parts)
        yield Finding(
            cause="near-peak",
            bound="compute" if top.bound == "compute" else "mixed",
            share=share,
            where=case.where(top),
            evidence=_evidence(top),
            proposals=tuple(self._proposals(case, top, share)),
            summary=_at_ceiling(top),
            healthy=True,
            operators=len(parts),
        )

    def _proposals(self, case: Case, top: Judged, share: float) -> Iterator[Proposal]:
        device = case.facts.device
        lower = lower_precisions(device, top.row.placement.precision, top.threads) if device and top.row.engine == "fma" else {}
        usable = {precision: ratio for precision, ratio in lower.items() if computes_in(top.row, precision)}
        if usable:
            yield _lower_precision(top, usable, share)
        elif lower:
            # The machine could do more than this library asks of it: no health, and nothing to promise, so that it is not shown.
            yield Proposal(action="lower-precision", because="another runtime has arithmetic of a lower precision", gain=(1.0, 1.0))
        assert top.f_c is not None
        if top.f_c.value < _DENSEST:
            yield Proposal(
                action="cheaper-algorithm",
                because=f"at {top.f_c.value:.0%} of the ceiling the same arithmetic could run up to {_DENSEST / top.f_c.value:.2f}× faster",
                gain=(1.0, max(1.0, _DENSEST / top.f_c.value)),
            )
        if top.row.engine == "fma":
            yield Proposal(action="prune", because="half of the arithmetic is half of the time while it stays dense", gain=(1.2, 2.0))


class SpecialFunctions(Rule):
    """Names `special-functions`: exp, tanh, erf or division at the ceiling of their own engine."""

    causes = ("special-functions",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all operators on special engines that reach 0.4 of their ceiling and are not bandwidth bound."""
        parts = [
            part for part in case.judged if part.row.engine in _SPECIAL and part.f_c and part.f_c.value >= BOUND_LOW and part.bound != "bandwidth"
        ]
        if not parts or not case.shares_hold:
            return
        top = max(parts, key=lambda part: part.share)
        assert top.f_c is not None
        yield Finding(
            cause="special-functions",
            bound="compute",
            share=case.sum_of(parts),
            where=case.where(top),
            evidence=_evidence(top),
            proposals=tuple(self._proposals(case, top)),
            summary=f"{top.row.engine} at {top.f_c.value:.0%} of the rate this machine has for it",
            operators=len(parts),
        )

    def _proposals(self, case: Case, top: Judged) -> Iterator[Proposal]:
        # At the best the cheaper form is hidden behind the bytes that go through it.
        cheapest = min(_CHEAPEST, 1.0 / top.f_b.value) if top.f_b is not None and top.f_b.value > 0 else 6.0
        because = "a polynomial or a clipped linear form costs a few multiply-adds"
        yield Proposal(action="cheaper-function", because=because, gain=(1.5, max(2.0, cheapest)))
        device, engine = case.facts.device, top.row.engine
        if device is None or engine is None or top.achieved_flop_per_s is None:
            return
        best = arithmetic_ceiling(device, engine, top.row.placement.precision, top.threads)
        if best is not None and best.value > 1.3 * top.achieved_flop_per_s.value:
            ratio = best.value / top.achieved_flop_per_s.value
            yield Proposal(
                action="vectorise-math", because=f"another library reaches {ratio:.1f}× this rate here", gain=(max(1.1, 0.7 * ratio), ratio)
            )


def _at_ceiling(top: Judged) -> str:
    what = _WORDS.get(top.row.engine or "", top.row.engine)
    reached = f"{top.f_c.value:.0%}" if top.f_c is not None else "near"
    return f"{what} at {reached} of the {top.row.placement.precision} ceiling, threads: {top.threads}"


def _evidence(part: Judged) -> tuple[Evidence, ...]:
    found = [("f_c", part.f_c), ("achieved", part.achieved_flop_per_s), ("f_b", part.f_b)]
    return tuple(Evidence(name=name, quantity=quantity) for name, quantity in found if quantity is not None)


def _lower_precision(top: Judged, lower: dict[Precision, float], share: float) -> Proposal:
    """The promise of the best lower precision; its careful end is that of the least one, since any of them may be what is allowed.

    Copies in fp32 of an fp64 program, or in bf16, are lower throughout. An int8 copy is int8 in part: what stays in float pays for the conversions at
    its borders, the more of it the more, and integer kernels reach about half of their ceiling. Docs: docs/int8.md has the figures behind it.
    """
    best = max(lower, key=lambda precision: lower[precision])
    ratio, least = lower[best], min(lower.values())
    others = ", ".join(f"{precision} {other:.1f}×" for precision, other in lower.items() if precision != best)
    careful = 0.5 * least * min(1.0, share) if "int8" in lower else max(1.1, 0.6 * least)
    return Proposal(
        action="lower-precision",
        because=f"the {best} ceiling of this machine is {ratio:.1f}× the {top.row.placement.precision} one"
        + (f" ({others})" if others else "")
        + (_which_int8(top) if "int8" in lower else ""),
        # A kernel that leaves some of its ceiling may be followed by one that does not.
        gain=(max(1.0, careful), ratio * max(1.0, 1.0 / top.f_c.value) if top.f_c else ratio),
    )


def _which_int8(top: Judged) -> str:
    """For which conversion a promise of int8 holds."""
    if top.row.group == "convolution":
        return "; that of static quantisation, ranges from a calibration: convolutions with dynamic ranges gain nothing"
    return "; that of products with a constant matrix, quantised statically or dynamically"
