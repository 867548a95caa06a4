"""What several operators move together: the fraction of their ceilings, and the finding of operators whose whole work is moving bytes.

The rules in `causes` decide what it means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ridgeline.core import Evidence, Quantity

from .bounds import kernel_share, vanishing
from .case import Case, Finding, Proposal
from .judge import Judged

__all__ = ["evidence", "fraction", "moving"]


def moving(case: Case, parts: list[Judged], cause: str, action: str, what: str) -> Iterator[Finding]:
    """Yield a finding for operators whose whole work is moving bytes."""
    if not parts or not case.shares_hold:
        return
    top = max(parts, key=lambda part: part.share)
    f_b = fraction(parts)
    share = kernel_share(case, parts)
    lower = f", at least {f_b.value:.0%} of copy bandwidth" if f_b else ""
    yield Finding(
        cause=cause,
        bound="bandwidth",
        share=share,
        where=case.where(top),
        evidence=evidence(top),
        proposals=(
            Proposal(
                action=action,
                because=f"{_counted(len(parts))} data; without {'it its' if len(parts) == 1 else 'them their'} time is gone",
                gain=(2.0, float("inf")),
                # With them go the page faults of what they wrote and what issued them.
                share_range=(share, vanishing(case, parts)),
            ),
        ),
        summary=f"{what}{lower}",
        operators=len(parts),
    )


def _counted(operators: int) -> str:
    return "1 operator only moves" if operators == 1 else f"{operators} operators only move"


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
