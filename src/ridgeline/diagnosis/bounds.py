"""Upper ends of promises: what vanishes with an operator, and what is left of one at the best.

A promise is an interval, and its upper end must be a bound. Two things are easily left out of it. An operator takes more with it than its kernel:
the page faults of its result, its dispatch, and the interpreter that issued it. And what remains is not bound to run as badly as what was there: it
can reach the ceiling. Both are worked out here from the facts; the careful ends are the rules' own.

vanishing = max(operator time, kernel + system × fresh ÷ all fresh + dispatch × calls ÷ all calls) + interpreter that issued it
remaining = max(Σ t f_b ÷ fewer × B(ws) ÷ B(ws ÷ fewer), Σ t f_c)
"""

from __future__ import annotations

from collections.abc import Sequence

from .case import Case, fresh_bytes
from .ceilings import bandwidth_ceiling, mix_of
from .judge import Judged

__all__ = ["DENSE", "MOST", "dense_share", "gain_at_best", "kept_near", "kernel_share", "remaining", "vanishing"]

#: Python takes no longer than this to issue one operator; what the interpreter takes beyond is a loop of the program's and stays.
_ISSUE_S = 10e-6
#: No change makes a part faster than this: fused, batched or compiled, some work always stays.
MOST = 200.0
#: Groups of operators whose arithmetic stays whatever is fused or batched around it.
DENSE = ("matmul", "convolution", "attention")


def kernel_share(case: Case, parts: Sequence[Judged]) -> float:
    """Share of the wall without the page faults and dispatch inside these operators: those belong to other causes."""
    wall = case.operators_wall_s
    taken = sum(part.system_s + part.dispatch_s for part in parts)
    return max(0.0, case.sum_of(parts) - (taken / wall if wall else 0.0))


def vanishing(case: Case, parts: Sequence[Judged]) -> float:
    """Share of the wall that can go with operators: their time, the page faults of their results, their dispatch, the interpreter that issued them.

    Never more than the time in which the call runs at all.
    """
    calls = sum(part.row.calls for part in parts)
    of_calls = min(1.0, calls / case.operator_calls) if case.operator_calls else 0.0
    fresh = sum(map(fresh_bytes, case.fresh_parts))
    inside = case.share_of("system") * sum(map(fresh_bytes, parts)) / fresh if fresh else 0.0
    kernels = kernel_share(case, parts) if case.shares_hold else _ideal_share(case, parts)
    own = max(case.sum_of(parts) if case.shares_hold else 0.0, kernels + inside + case.dispatch_share * of_calls)
    issued = min(case.share_of("interpreter") * of_calls, calls * _ISSUE_S / case.wall_s if case.wall_s else 0.0)
    return max(0.0, min(1.0 - case.share_of("blocked") - case.share_of("waiting"), own + issued))


def remaining(case: Case, parts: Sequence[Judged], *, fewer_bytes: float, arithmetic: float = 1.0) -> float:
    """Share of the wall that operators still take at the best: at their ceilings, with fewer bytes to move from where so few bytes lie.

    Args:
        fewer_bytes: bytes now ÷ bytes then, ≥ 1.
        arithmetic: part of the arithmetic that stays, 0…1.
    """
    wall = case.operators_wall_s
    if wall <= 0:
        return 0.0
    moved = sum(_bytes_s(case, part, fewer_bytes) for part in parts)
    computed = sum(part.kernel_s.value * min(1.0, part.f_c.value) for part in parts if part.kernel_s is not None and part.f_c is not None)
    return max(moved, arithmetic * computed) / wall


def gain_at_best(case: Case, parts: Sequence[Judged], *, fewer_bytes: float, arithmetic: float = 1.0) -> float:
    """By what factor what vanishes with operators can shrink at the best: vanishing ÷ remaining, at most `MOST`."""
    gone, left = vanishing(case, parts), remaining(case, parts, fewer_bytes=fewer_bytes, arithmetic=arithmetic)
    return MOST if left <= gone / MOST else max(1.0, gone / left)


def kept_near(case: Case, parts: Sequence[Judged]) -> float:
    """Share of the wall that operators lose at the best when what they touch was touched just before: their own bytes then lie in a near cache."""
    if not case.shares_hold or case.operators_wall_s <= 0:
        return 0.0
    saved = 0.0
    for part in parts:
        own = (part.bytes or 0) / part.row.calls if part.row.calls else 0.0
        if own > 0 and part.kernel_s is not None:
            saved += part.kernel_s.value * (1.0 - 1.0 / _nearer(case, part, max(1.0, part.working_set_bytes / own)))
    return saved / case.operators_wall_s


def dense_share(case: Case) -> float:
    """Share of the wall of the arithmetic that nothing around it deletes; at its ceilings where the operators' times do not hold."""
    parts = [part for part in case.judged if part.row.group in DENSE]
    return kernel_share(case, parts) if case.shares_hold else _ideal_share(case, parts)


def _ideal_share(case: Case, parts: Sequence[Judged]) -> float:
    return min(1.0, sum(part.ideal_s or 0.0 for part in parts) / case.wall_s) if case.wall_s else 0.0


def _bytes_s(case: Case, part: Judged, fewer: float) -> float:
    if part.kernel_s is None or part.f_b is None:
        return 0.0
    return part.kernel_s.value * min(1.0, part.f_b.value) / fewer / _nearer(case, part, fewer)


def _nearer(case: Case, part: Judged, fewer: float) -> float:
    """Bandwidth where the smaller working set lies ÷ bandwidth where the present one does, ≥ 1."""
    device = case.facts.device
    if device is None:
        return 1.0
    mix = mix_of(part.read_bytes, part.write_bytes)
    now, then = (bandwidth_ceiling(device, mix, part.threads, max(1.0, part.working_set_bytes / by)) for by in (1.0, fewer))
    return max(1.0, then.value / now.value) if now is not None and then is not None and now.value > 0 else 1.0
