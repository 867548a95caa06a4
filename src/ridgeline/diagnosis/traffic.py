"""What several operators move together: the fraction of their ceilings, their share of the wall without what is not traffic, and the finding of
operators whose whole work is moving bytes. The rules in `causes` decide what it means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ridgeline.core import Evidence, Quantity

from .case import Case, Finding, Proposal
from .judge import Judged

__all__ = ["evidence", "fraction", "kernel_share", "moving"]


def moving(case: Case, parts: list[Judged], cause: str, action: str, what: str) -> Iterator[Finding]:
    """Yield a finding for operators whose whole work is moving bytes."""
    if not parts or not case.shares_hold:
        return
    top = max(parts, key=lambda part: part.share)
    f_b = fraction(parts)
    lower = f", at least {f_b.value:.0%} of copy bandwidth" if f_b else ""
    yield Finding(
        cause=cause,
        bound="bandwidth",
        share=kernel_share(case, parts),
        where=case.where(top),
        evidence=evidence(top),
        proposals=(
            Proposal(action=action, because=f"{len(parts)} operators only move data; without them their time is gone", gain=(2.0, float("inf"))),
        ),
        summary=f"{what}{lower}",
    )


def kernel_share(case: Case, parts: Sequence[Judged]) -> float:
    """Share of the wall without the page faults and dispatch inside these operators: those belong to other causes."""
    wall = case.operators_wall_s
    taken = sum(part.system_s + part.dispatch_s for part in parts)
    return max(0.0, case.sum_of(parts) - (taken / wall if wall else 0.0))


def fraction(parts: Sequence[Judged]) -> Quantity | None:
    """f_b of several operators together: time their bytes need at the ceilings ÷ time they take."""
    known = [part for part in parts if part.f_b is not None and part.kernel_s is not None]
    time = sum(part.kernel_s.value for part in known if part.kernel_s)
    if not known or time <= 0:
        return None

    def mean(end: str) -> float:
        return float(sum(getattr(part.f_b, end) * part.kernel_s.value for part in known if part.kernel_s) / time)

    first = known[0].f_b
    assert first is not None
    return Quantity(
        value=mean("value"), low=mean("low"), high=mean("high"), confidence=first.confidence, unit="1", source=first.source, origin=first.origin
    )


def evidence(part: Judged) -> tuple[Evidence, ...]:
    """What is known of an operator's traffic: f_b, achieved bandwidth, f_c, compulsory bytes."""
    found = [("f_b", part.f_b), ("achieved bandwidth", part.achieved_byte_per_s), ("f_c", part.f_c)]
    known = [Evidence(name=name, quantity=quantity) for name, quantity in found if quantity is not None]
    if part.bytes:
        known.append(Evidence(name="compulsory bytes", quantity=Quantity.exact(part.bytes, "B", origin="shapes")))
    return tuple(known)
