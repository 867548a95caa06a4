"""Memory traffic: chains that materialise every step, conversions, copies, weights read once per use, and plain streams.

f_b is held against the achievable bandwidth of the level and the access mix that the operator really has, on the threads that did the work. It
rests on compulsory bytes and is therefore a lower bound of the traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ridgeline.core import Evidence, Quantity
from ridgeline.core.units import format_quantity

from ..case import Case, Finding, Proposal, Rule
from ..chains import chains
from ..judge import BOUND_LOW, HEALTHY, Judged

__all__ = ["Copy", "ElementwiseChain", "LayoutConversion", "Streaming", "WeightTraffic"]

#: A matrix product whose largest operand makes this part of its traffic reads weights, not activations.
_WEIGHT_PART = 0.6
#: Bytes of one element, by precision, for what lower precision would save.
_WIDTH = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "int4": 0.5}


class ElementwiseChain(Rule):
    """Names `elementwise-chain`: consecutive elementwise operators near stream bandwidth, each written to memory."""

    causes = ("elementwise-chain",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all chains together; the place is the longest member of the largest chain."""
        if not case.shares_hold:
            return
        found = [chain for chain in chains(case.judged) if chain.traffic_ratio > 1.2 and _binds(chain.members)]
        if not found:
            return
        largest = max(found, key=lambda chain: _kernel_share(case, chain.members))
        parts = [part for chain in found for part in chain.members]
        now = sum(chain.bytes_now for chain in found)
        ratio = now / sum(chain.bytes_fused for chain in found)
        f_b = _fraction(parts)
        top = max(largest.members, key=lambda part: part.share)
        yield Finding(
            cause="elementwise-chain",
            bound="bandwidth",
            share=_kernel_share(case, parts),
            where=case.where(top),
            evidence=(
                Evidence(name="operators in chains", quantity=Quantity.exact(len(parts), "count", source="counted", origin="operator profile")),
                Evidence(name="bytes moved", quantity=Quantity.exact(now, "B", origin="shapes")),
                Evidence(name="bytes fused", quantity=Quantity.exact(now / ratio, "B", origin="shapes")),
                *([Evidence(name="f_b", quantity=f_b)] if f_b else []),
            ),
            proposals=(
                Proposal(
                    action="fuse",
                    because=f"{len(parts)} operators move {format_quantity(now, 'B')}; fused they move {format_quantity(now / ratio, 'B')}",
                    # The fused kernel streams as fast as the separate ones at best; half of the saved traffic is the careful end.
                    gain=(1.0 / (1.0 - (1.0 - 1.0 / ratio) * 0.6), ratio),
                ),
            ),
            summary=f"{len(parts)} elementwise operators each go through memory, at {f_b.value:.0%} of stream bandwidth" if f_b else "",
        )


class LayoutConversion(Rule):
    """Names `layout-conversion`: transposes, reorders and casts, as operators of their own or inserted by the framework."""

    causes = ("layout-conversion",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all data-movement operators."""
        parts = [part for part in case.judged if part.row.group == "movement"]
        yield from _moving(case, parts, "layout-conversion", "change-layout", "transposes, reorders or casts that compute nothing")


class Copy(Rule):
    """Names `copy`: bytes copied as they are."""

    causes = ("copy",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all copy operators."""
        parts = [part for part in case.judged if part.row.group == "copy"]
        yield from _moving(case, parts, "copy", "remove-copy", "copies that compute nothing")


class WeightTraffic(Rule):
    """Names `weight-traffic`: a matrix product that reads every weight once per use."""

    causes = ("weight-traffic",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all bandwidth-bound matrix products dominated by one operand."""
        if not case.shares_hold:
            return
        parts = [part for part in case.judged if part.row.engine == "fma" and part.f_b and part.f_b.value >= BOUND_LOW and _reads_weights(part)]
        parts = [part for part in parts if part.bound in ("bandwidth", "mixed")]
        if not parts:
            return
        top = max(parts, key=lambda part: part.share)
        width = _WIDTH.get(top.row.placement.precision, 4)
        assert top.f_b is not None
        yield Finding(
            cause="weight-traffic",
            bound="bandwidth",
            share=case.sum_of(parts),
            where=case.where(top),
            evidence=_evidence(top),
            proposals=(
                *(
                    [
                        Proposal(
                            action="quantise-weights",
                            because=f"int8 weights are 1/{width:.0f} of the bytes, and the bytes are the time",
                            gain=(max(1.2, 0.5 * width), float(width)),
                        )
                    ]
                    if width > 1
                    else []
                ),
                Proposal(action="batch", because="one pass over the weights then serves several inputs", gain=(1.5, 8.0), metric="period"),
            ),
            summary=f"weights are read once per use at {top.f_b.value:.0%} of what {top.threads} thread{'s' * (top.threads > 1)} can stream",
        )


class Streaming(Rule):
    """Names `streaming`: compulsory bytes at stream speed."""

    causes = ("streaming",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for bandwidth-bound operators that no other memory rule explains."""
        if not case.shares_hold:
            return
        chained = {part.index for chain in chains(case.judged) if chain.traffic_ratio > 1.2 for part in chain.members}
        parts = [part for part in case.judged if part.bound in ("bandwidth", "mixed") and part.index not in chained and _streams(part)]
        if not parts:
            return
        top = max(parts, key=lambda part: part.share)
        assert top.f_b is not None
        width = _WIDTH.get(top.row.placement.precision, 4)
        proposals = [Proposal(action="batch", because="several items then share one pass where they share data", gain=(1.0, 2.0), metric="period")]
        if width > 1:
            half = Proposal(action="lower-precision", because="half the width is half the bytes, and the bytes are the time", gain=(1.5, 2.0))
            proposals.insert(0, half)
        yield Finding(
            cause="streaming",
            bound="bandwidth",
            share=_kernel_share(case, parts),
            where=case.where(top),
            evidence=_evidence(top),
            proposals=tuple(proposals),
            summary=f"compulsory bytes at {top.f_b.value:.0%} of what {top.threads} thread{'s' * (top.threads > 1)} can stream",
            healthy=top.f_b.value >= HEALTHY,
        )


def _moving(case: Case, parts: list[Judged], cause: str, action: str, what: str) -> Iterator[Finding]:
    """A finding for operators whose whole work is moving bytes."""
    if not parts or not case.shares_hold:
        return
    top = max(parts, key=lambda part: part.share)
    f_b = _fraction(parts)
    lower = f", at least {f_b.value:.0%} of copy bandwidth" if f_b else ""
    yield Finding(
        cause=cause,
        bound="bandwidth",
        share=_kernel_share(case, parts),
        where=case.where(top),
        evidence=_evidence(top),
        proposals=(
            Proposal(action=action, because=f"{len(parts)} operators only move data; without them their time is gone", gain=(2.0, float("inf"))),
        ),
        summary=f"{what}{lower}",
    )


def _binds(parts: Sequence[Judged]) -> bool:
    f_b = _fraction(parts)
    return f_b is not None and f_b.value >= BOUND_LOW


def _streams(part: Judged) -> bool:
    return part.f_b is not None and part.row.group not in ("copy", "movement") and not (part.row.engine == "fma" and _reads_weights(part))


def _reads_weights(part: Judged) -> bool:
    largest = max((use.size_bytes for use in part.row.reads or ()), default=0)
    return part.row.group in ("matmul", "attention") and largest * part.row.calls >= _WEIGHT_PART * (part.bytes or 0) > 0


def _kernel_share(case: Case, parts: Sequence[Judged]) -> float:
    """Share of the wall without the page faults and dispatch inside these operators: those belong to other causes."""
    wall = case.operators_wall_s
    taken = sum(part.system_s + part.dispatch_s for part in parts)
    return max(0.0, case.sum_of(parts) - (taken / wall if wall else 0.0))


def _fraction(parts: Sequence[Judged]) -> Quantity | None:
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


def _evidence(part: Judged) -> tuple[Evidence, ...]:
    found = [("f_b", part.f_b), ("achieved bandwidth", part.achieved_byte_per_s), ("f_c", part.f_c)]
    known = [Evidence(name=name, quantity=quantity) for name, quantity in found if quantity is not None]
    if part.bytes:
        known.append(Evidence(name="compulsory bytes", quantity=Quantity.exact(part.bytes, "B", origin="shapes")))
    return tuple(known)
