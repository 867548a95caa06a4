"""Layouts: operators that only rearrange bytes, reorders that a library does inside its operators, and operators that visit memory in a wrong order.

`layout-conversion` is a conversion that runs, on its own or inside an operator. `unfavourable-layout` is an operator that pays for the order in
which its data lies although nothing converts it. A step between elements alone is no evidence: a view that fits into a near cache costs next to
nothing, and libraries walk in memory order where they can. What counts is the operator run again on the other layout (`Facts.relayouts`); where that
could not be had, whole cache lines moved for single elements make a suspicion that promises little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ridgeline.core import BufferUse, Evidence, Primitive, Quantity, Relayout, Where
from ridgeline.core.units import format_quantity

from ..advice import how_to_lay_out, strided_operand
from ..bounds import vanishing
from ..case import Case, Finding, Proposal, Rule, measured_share
from ..judge import BOUND_LOW, Judged
from ..repeated import IN_TILES, standing
from ..traffic import evidence, moving

__all__ = ["LayoutConversion", "UnfavourableLayout", "explained_by_layout", "unfavourable_candidates", "uses_onednn"]

_LINE_BYTES = 64
#: Only operators with at least this share of the wall are worth repeating on another layout.
_LEAST_SHARE = 0.05
#: Operands below this stay in the nearest cache, whatever the order.
_LEAST_BYTES = 4096
#: The ratio of as-is to changed that counts: anything less may be alignment or where the pages lie.
_LEAST_RATIO = 1.15
#: Part of the excess over 1 that a promise of a repetition on made-up data counts on, and the most it may exceed.
_CAREFUL, _BOLD = 0.6, 1.35
_CONVERSIONS = ("movement", "copy", "view", "allocation", "random", "blocking", "python")


class LayoutConversion(Rule):
    """Names `layout-conversion`: transposes, reorders and casts, as operators of their own, inserted, or inside library operators."""

    causes = ("layout-conversion",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all data-movement operators, and one for reorders inside other operators."""
        parts = [part for part in case.judged if part.row.group == "movement"]
        yield from moving(case, parts, "layout-conversion", "change-layout", "transposes, reorders or casts that compute nothing")
        yield from self._hidden(case)

    def _hidden(self, case: Case) -> Iterator[Finding]:
        table = case.facts.primitives
        reorders = _hidden_reorders(case)
        if table is None or not reorders:
            return
        inside = measured_share("reorders inside operators, share of the wall", _reorder_share(case, reorders), origin=table.instrument)
        parts = [case.judged[index] for index in sorted({found.operator for found in reorders if found.operator is not None})]
        place = max(parts, key=lambda part: sum(found.total_s.value for found in reorders if found.operator == part.index), default=None)
        calls = sum(found.calls for found in reorders)
        moved = sum(found.calls * ((found.read_bytes or 0) + (found.write_bytes or 0)) for found in reorders)
        tried = {one.operator: ratio for one, ratio in _tried(case) if one.operator in {part.index for part in parts}}
        gain, share = _hidden_gain(case, tried, inside.quantity.value)
        gone = max(share if not tried else 0.0, _without_reorders(case, parts))
        yield Finding(
            cause="layout-conversion",
            bound="bandwidth",
            share=share,
            where=case.where(place) if place is not None else Where(),
            evidence=(
                inside,
                Evidence(name="reorders per call", quantity=Quantity.exact(calls, "count", source="counted", origin=table.instrument)),
                *([Evidence(name="bytes reordered", quantity=Quantity.exact(moved, "B", origin="shapes"))] if moved else []),
                *(Evidence(name="time as it is ÷ time on the other layout", quantity=ratio) for ratio in tried.values()),
            ),
            proposals=(
                Proposal(
                    action="change-layout",
                    because=f"{table.library} turns operands around {calls:.0f} times a call; on the layout of its kernels it does not have to",
                    gain=gain if not tried else (gain[0], max(gain[1], _leaves(case.sum_of(parts), gone))),
                    share_range=(share, gone if not tried else vanishing(case, parts)),
                ),
            ),
            summary=f"{inside.quantity.value:.0%} of the wall are reorders inside operators of {table.library}, which no operator profile shows",
        )


class UnfavourableLayout(Rule):
    """Names `unfavourable-layout`: operators that visit memory in steps, or in an order their kernel does not like."""

    causes = ("unfavourable-layout",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield one finding for all operators that another layout makes faster; the place is where it saves most."""
        if not case.shares_hold:
            return
        if case.facts.relayouts is None:
            yield from _suspected(case)
            return
        # Where reorders inside the operator are known, they are the cause, and `layout-conversion` has them.
        hidden = {found.operator for found in _hidden_reorders(case)}
        found = [(case.judged[tried.operator], tried, ratio) for tried, ratio in _paying(case) if tried.operator not in hidden]
        if not found:
            return
        share = case.sum_of([part for part, _, _ in found])
        ratios = [_weighted([(part.share, getattr(ratio, end)) for part, _, ratio in found]) for end in ("low", "value", "high")]
        top, tried, ratio = max(found, key=lambda one: one[0].share * (1 - 1 / one[2].value))
        yield Finding(
            cause="unfavourable-layout",
            bound="bandwidth" if _lines_bind(top) else "latency",
            share=share,
            where=case.where(top),
            evidence=(
                Evidence(name=f"time as it is ÷ time {tried.layout}", quantity=ratio),
                Evidence(name="as it is", quantity=tried.as_is_s),
                Evidence(name=tried.layout, quantity=tried.changed_s),
                *_step_evidence(top),
                *evidence(top),
            ),
            proposals=(
                Proposal(
                    action="change-layout",
                    because=_with_how(f"the same operation {tried.layout} was measured {ratio.value:.1f}× as fast", top, tried.layout),
                    gain=(1.0 + _CAREFUL * (ratios[0] - 1.0), max(1.0 + _BOLD * (ratios[2] - 1.0), _in_place(found))),
                    share_range=(share, vanishing(case, [part for part, _, _ in found])),
                ),
            ),
            summary=f"{_said(top)}; {tried.layout} the same work takes {1 / ratios[1]:.0%} of the time",
            operators=len(found),
        )


def unfavourable_candidates(case: Case) -> list[Judged]:
    """Operators whose layout may be what they pay for: steps beyond the element over more than a near cache, and convolutions of torch.

    Largest share first.
    """
    if not case.shares_hold:
        return []
    parts = [part for part in case.judged if part.share >= _LEAST_SHARE and part.row.group not in _CONVERSIONS]
    chosen = [part for part in parts if _strided(part) or (part.row.group == "convolution" and part.row.kind.startswith("aten::"))]
    return sorted(chosen, key=lambda part: -part.share)


def explained_by_layout(case: Case) -> set[int]:
    """Rows whose slowness the order of their data explains: faster on another layout, or a third of their time in reorders."""
    found = {tried.operator for tried, _ in _paying(case)}
    inside: dict[int, float] = {}
    for one in _hidden_reorders(case):
        if one.operator is not None and 0 <= one.operator < len(case.judged):
            inside[one.operator] = inside.get(one.operator, 0.0) + one.total_s.value
    return found | {index for index, spent in inside.items() if spent >= case.judged[index].row.total_s.value / 3}


def uses_onednn(case: Case) -> bool:
    """Whether a part of the wall worth looking into may be inside primitives of oneDNN: convolutions of torch, and products of narrow numbers."""
    if not case.shares_hold:
        return False
    inside = [
        part
        for part in case.judged
        if part.row.kind.startswith(("aten::", "quantized::", "mkldnn::", "onednn::"))
        and (part.row.group == "convolution" or (part.row.group == "matmul" and part.row.placement.precision in ("bf16", "fp16", "int8")))
    ]
    return case.sum_of(inside) >= 2 * _LEAST_SHARE


def _tried(case: Case) -> Iterator[tuple[Relayout, Quantity]]:
    """Repetitions on another layout that stand for their operator, with the ratio of as-is to changed."""
    return ((tried, ratio) for tried, ratio in standing(case) if tried.layout != IN_TILES)


def _paying(case: Case) -> Iterator[tuple[Relayout, Quantity]]:
    """Those that were faster on the other layout, beyond doubt and by enough."""
    for tried, ratio in _tried(case):
        if ratio.low >= _LEAST_RATIO and case.judged[tried.operator].share >= _LEAST_SHARE:
            yield tried, ratio


def _hidden_reorders(case: Case) -> list[Primitive]:
    """Reorders inside operators that are no conversions themselves, if together they take enough of the wall to be a cause."""
    table = case.facts.primitives
    if table is None or not case.shares_hold:
        return []
    found = [one for one in table.primitives if one.kind == "reorder" and not _is_conversion(case, one)]
    return found if _reorder_share(case, found) >= _LEAST_SHARE else []


def _reorder_share(case: Case, reorders: Sequence[Primitive]) -> float:
    """Their share of the wall of the logged calls."""
    table = case.facts.primitives
    wall = table.wall_s.value if table is not None else 0.0
    return min(1.0, sum(one.total_s.value for one in reorders) / wall) if wall > 0 else 0.0


def _hidden_gain(case: Case, tried: dict[int, Quantity], inside: float) -> tuple[tuple[float, float], float]:
    """(Local gain, share it acts on): as measured on the other layout where that was, else that of the reorders alone."""
    if not tried:
        # What feeds the operator must then produce the other layout, which is not always free.
        return (2.0, float("inf")), inside
    parts = [case.judged[index] for index in tried]
    low, high = (_weighted([(part.share, max(1.0, getattr(tried[part.index], end))) for part in parts]) for end in ("low", "high"))
    return (1.0 + _CAREFUL * (low - 1.0), 1.0 + _BOLD * (high - 1.0)), case.sum_of(parts)


def _in_place(found: Sequence[tuple[Judged, Relayout, Quantity]]) -> float:
    """Time that the operators take in the target ÷ time of their repetition on the other layout.

    More than the ratio of the two repetitions where the target pays more for the order than the repetition as it is, which has warm caches.
    """
    return sum(part.row.total_s.value for part, _, _ in found) / sum(tried.changed_s.low for _, tried, _ in found)


def _without_reorders(case: Case, parts: Sequence[Judged]) -> float:
    """Share of the wall that operators lose at the best when nothing is turned around inside them: all but their other primitives.

    The log times what a reorder runs; the memory it turns into, asked for at every call, is in the time of the operator and goes as well.
    """
    table = case.facts.primitives
    wall = table.wall_s.value if table is not None else 0.0
    if table is None or wall <= 0:
        return 0.0
    inside = {part.index for part in parts}
    kept = sum(one.total_s.value for one in table.primitives if one.operator in inside and one.kind != "reorder")
    # The other layout's own kernel may be the faster one, too.
    return max(0.0, vanishing(case, parts) - kept / wall / _BOLD) if kept > 0 else 0.0


def _leaves(share: float, gone: float) -> float:
    """The local gain of a share of which so much goes."""
    return share / max(share - gone, share / 200.0) if share > 0 else 1.0


def _suspected(case: Case) -> Iterator[Finding]:
    """Steps that nobody could repeat on another layout: lines moved ÷ bytes used says what is possible, nothing says what is true."""
    parts = [part for part in unfavourable_candidates(case) if _strided(part) and part.bound != "compute" and _line_ratio(part) >= 2]
    if not parts:
        return
    top = max(parts, key=lambda part: part.share)
    yield Finding(
        cause="unfavourable-layout",
        bound="bandwidth" if _lines_bind(top) else "latency",
        share=case.sum_of(parts),
        where=case.where(top),
        evidence=(*_step_evidence(top), *evidence(top)),
        proposals=(
            Proposal(
                action="change-layout",
                because=_with_how(f"side by side the elements need 1/{_line_ratio(top):.0f} of the cache lines; it could not be tried here", top),
                gain=(1.05, _line_ratio(top)),
            ),
        ),
        summary=_said(top),
        operators=len(parts),
    )


def _uses(part: Judged) -> Sequence[BufferUse]:
    return (*(part.row.reads or ()), *(part.row.writes or ()))


def _steps(part: Judged) -> list[BufferUse]:
    return [use for use in _uses(part) if use.stride_bytes is not None and (use.span_bytes or use.size_bytes) >= _LEAST_BYTES]


def _strided(part: Judged) -> bool:
    return bool(_steps(part))


def _line_ratio(part: Judged) -> float:
    """Bytes of the cache lines behind all operands ÷ bytes used, if no line is used twice."""
    named = sum(use.size_bytes for use in _uses(part))
    return sum(_line_bytes(use) for use in _uses(part)) / named if named else 1.0


def _line_bytes(use: BufferUse) -> float:
    """Bytes of lines moved for a use: a line for each element from a step of a line on; elements are taken as eight bytes, the most there are."""
    if use.stride_bytes is None:
        return float(use.size_bytes)
    return use.size_bytes * max(1.0, min(use.stride_bytes, _LINE_BYTES) / 8)


def _lines_bind(part: Judged) -> bool:
    """Whether the lines that move fill the bandwidth: f_b on lines instead of on elements."""
    return part.f_b is not None and part.f_b.value * _line_ratio(part) >= BOUND_LOW


def _step_evidence(part: Judged) -> tuple[Evidence, ...]:
    steps = [use.stride_bytes for use in _steps(part) if use.stride_bytes is not None]
    if not steps:
        return ()
    return (Evidence(name="step between elements", quantity=Quantity.exact(max(steps), "B", source="counted", origin="strides of the operands")),)


def _said(part: Judged) -> str:
    steps = [use.stride_bytes for use in _steps(part) if use.stride_bytes is not None]
    if not steps:
        return "its kernel does not like the order in which the operands lie"
    return f"it visits elements {format_quantity(max(steps), 'B')} apart one after the other"


def _with_how(measured: str, part: Judged, layout: str = "") -> str:
    """Why, with which operand it is and what to write."""
    return "; ".join(filter(None, (measured, strided_operand(part), how_to_lay_out(part, layout))))


def _weighted(parts: Sequence[tuple[float, float]]) -> float:
    """Joint ratio of parts with their shares of the present time: Σ share ÷ Σ share ÷ ratio."""
    return sum(share for share, _ in parts) / sum(share / ratio for share, ratio in parts)


def _is_conversion(case: Case, found: Primitive) -> bool:
    """Whether a primitive ran inside an operator that is a conversion itself and so already counted."""
    return found.operator is not None and 0 <= found.operator < len(case.judged) and case.judged[found.operator].row.group in ("movement", "copy")
