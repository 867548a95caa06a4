"""Memory traffic: chains that materialise every step, copies, weights read once per use, and plain streams.

f_b is held against the achievable bandwidth of the level and the access mix that the operator really has, on the threads that did the work. It
rests on compulsory bytes and is therefore a lower bound of the traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ridgeline.core import Evidence, Quantity
from ridgeline.core.units import format_quantity

from ..advice import how_to_fuse
from ..bounds import gain_at_best, kernel_share, remaining, vanishing
from ..case import Case, Finding, Proposal, Rule, measured_share
from ..ceilings import computes_in, lower_precisions
from ..chains import chains
from ..judge import BOUND_LOW, HEALTHY, Judged, fills, moves_nothing_much
from ..traffic import evidence, fraction, moving
from .locality import passed_over
from .unexplained import UNKNOWN

__all__ = ["Copy", "ElementwiseChain", "Streaming", "WeightTraffic"]

#: A matrix product whose largest operand makes this part of its traffic reads weights, not activations.
_WEIGHT_PART = 0.6
#: Share of the wall from which on operators of which little is known are spoken of, and the part of it that counts as recoverable.
_LEAST_UNKNOWN, _WEIGHT = 0.25, 0.3
#: Inputs that one batch serves at the most that is counted on.
_MOST_BATCHED = 20.0
#: What half of the bytes is worth at the least.
_HALVED = 1.5
#: Bytes of one element, by precision, for what lower precision would save.
_WIDTH = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "fp4": 0.5, "int8": 1, "int4": 0.5}


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
        largest = max(found, key=lambda chain: kernel_share(case, chain.members))
        parts = [part for chain in found for part in chain.members]
        now = sum(chain.bytes_now for chain in found)
        ratio = now / sum(chain.bytes_fused for chain in found)
        moves = f"{len(parts)} operators move {format_quantity(now, 'B')}; fused they move {format_quantity(now / ratio, 'B')}"
        f_b = fraction(parts)
        top = max(largest.members, key=lambda part: part.share)
        share = kernel_share(case, parts)
        yield Finding(
            cause="elementwise-chain",
            bound="bandwidth",
            share=share,
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
                    because="; ".join(filter(None, (moves, how_to_fuse(parts)))),
                    # Careful: 0.6 of the saved traffic, in the kernels alone. At the best one kernel at its ceiling is left, and all that the
                    # operators took beside their kernels goes with them: page faults of what they wrote, dispatch, the interpreter's part.
                    gain=(1.0 / (1.0 - (1.0 - 1.0 / ratio) * 0.6), max(ratio, gain_at_best(case, parts, fewer_bytes=ratio))),
                    share_range=(share, vanishing(case, parts)),
                ),
            ),
            summary=f"{len(parts)} elementwise operators each go through memory, at {f_b.value:.0%} of stream bandwidth" if f_b else "",
            operators=len(parts),
        )


class Copy(Rule):
    """Names `copy`: bytes copied as they are. Constants written are no copies, and copies of hardly a byte take their time for something else."""

    causes = ("copy", UNKNOWN)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all copies that are bytes moved, and one for what takes time and hardly moves any."""
        parts = [part for part in case.judged if part.row.group == "copy" and not moves_nothing_much(part)]
        yield from moving(case, [part for part in parts if not fills(part)], "copy", "remove-copy", "copies that compute nothing")
        if case.shares_hold:
            yield from self._of_little(case, [part for part in case.judged if part.row.group == "copy" and moves_nothing_much(part)])

    def _of_little(self, case: Case, parts: list[Judged]) -> Iterator[Finding]:
        share = kernel_share(case, parts)
        if share < _LEAST_UNKNOWN:
            return
        top = max(parts, key=lambda part: part.share)
        fresh = any(case.judged[index].row.group == "allocation" for index in top.row.after if index < len(case.judged))
        touched = ": it is the first to touch memory that was just asked for, whose page faults are part of it" if fresh else ""
        yield Finding(
            cause=UNKNOWN,
            bound="inconclusive",
            share=share,
            where=case.where(top),
            evidence=(*evidence(top), measured_share("share that moves hardly a byte", share, origin="operator profile")),
            summary=f"so few bytes are moved that bandwidth does not explain the time{touched}",
            missing=f"mechanism: what {top.row.name} does besides moving its bytes was not seen",
            rank=share * _WEIGHT,
            operators=len(parts),
        )


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
            evidence=evidence(top),
            proposals=(
                *(
                    [
                        Proposal(
                            action="quantise-weights",
                            because=f"int8 weights are 1/{width:.0f} of the bytes, and the bytes are the time",
                            # At the best narrow weights stream at their ceiling, from nearer where they fit.
                            gain=(max(1.2, 0.5 * width), max(float(width), gain_at_best(case, parts, fewer_bytes=width, arithmetic=1.0 / width))),
                        )
                    ]
                    if width > 1
                    else []
                ),
                Proposal(
                    action="batch",
                    because="one pass over the weights then serves several inputs",
                    gain=(1.5, max(8.0, _batched(case, parts))),
                    metric="period",
                    share_range=(case.sum_of(parts), vanishing(case, parts)),
                ),
            ),
            summary=f"weights are read once per use at {top.f_b.value:.0%} of what {top.threads} thread{'s' * (top.threads > 1)} can stream",
            operators=len(parts),
        )


class Streaming(Rule):
    """Names `streaming`: compulsory bytes at stream speed."""

    causes = ("streaming",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for bandwidth-bound operators that no other memory rule explains."""
        if not case.shares_hold:
            return
        chained = {part.index for chain in chains(case.judged) if chain.traffic_ratio > 1.2 for part in chain.members}
        # Several passes over the same bytes are no stream: `poor-locality` has them.
        chained |= passed_over(case)
        parts = [part for part in case.judged if part.bound in ("bandwidth", "mixed") and part.index not in chained and _streams(part)]
        if not parts:
            return
        top = max(parts, key=lambda part: part.share)
        assert top.f_b is not None
        width = _WIDTH.get(top.row.placement.precision, 4)
        proposals: list[Proposal] = []
        if not all(map(fills, parts)):
            because = "several items then share one pass where they share data"
            proposals.append(Proposal(action="batch", because=because, gain=(1.0, 2.0), metric="period"))
        if width > 1:
            because = "half the width is half the bytes, and the bytes are the time"
            has_half = all(_has_half(case, part) for part in parts)
            # Bytes that could be fewer are no health, even where nothing is known that computes on them: that promises nothing, and is not shown.
            gain = (_HALVED, max(2.0, _at_half_width(case, parts))) if has_half else (1.0, 1.0)
            proposals.insert(0, Proposal(action="lower-precision", because=because, gain=gain))
        share = kernel_share(case, parts)
        what, how = ("a constant is written", "fill") if fills(top) else ("compulsory bytes", "stream")
        yield Finding(
            cause="streaming",
            bound="bandwidth",
            share=share,
            where=case.where(top),
            evidence=evidence(top),
            proposals=tuple(proposals),
            rank=share * (1.0 - 1.0 / _HALVED) if width > 1 else None,
            summary=f"{what} at {top.f_b.value:.0%} of what {top.threads} thread{'s' * (top.threads > 1)} can {how}",
            healthy=top.f_b.value >= HEALTHY,
            operators=len(parts),
        )


def _batched(case: Case, parts: Sequence[Judged]) -> float:
    """What a batch can be worth at the best: the weights' bytes cost next to nothing an input, and the arithmetic reaches its ceiling."""
    return min(_MOST_BATCHED, gain_at_best(case, parts, fewer_bytes=_MOST_BATCHED))


def _has_half(case: Case, part: Judged) -> bool:
    """Whether an operator is known to compute in half of its width: on a CPU without such arithmetic the conversions cost more than the bytes."""
    device, precision = case.facts.device, part.row.placement.precision
    if precision == "fp64" or part.row.placement.device != "cpu":
        return True
    lower = lower_precisions(device, precision, part.threads) if device is not None else {}
    return any(_WIDTH[name] * 2 == _WIDTH.get(precision, 4) and computes_in(part.row, name) for name in lower)


def _at_half_width(case: Case, parts: Sequence[Judged]) -> float:
    left = remaining(case, parts, fewer_bytes=2.0, arithmetic=0.5)
    return kernel_share(case, parts) / left if left > 0 else 2.0


def _binds(parts: Sequence[Judged]) -> bool:
    f_b = fraction(parts)
    return f_b is not None and f_b.value >= BOUND_LOW


def _streams(part: Judged) -> bool:
    moved = part.row.group in ("copy", "movement") and not fills(part)
    return part.f_b is not None and not moved and not (part.row.engine == "fma" and _reads_weights(part))


def _reads_weights(part: Judged) -> bool:
    largest = max((use.size_bytes for use in part.row.reads or ()), default=0)
    # A product of two vectors leaves a number, and neither of them is a weight.
    return part.row.group in ("matmul", "attention") and bool(part.row.writes) and largest * part.row.calls >= _WEIGHT_PART * (part.bytes or 0) > 0
