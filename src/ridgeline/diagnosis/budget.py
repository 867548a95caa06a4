"""A budget held against the ground truth: met, missed or undecided, and by how much what must shrink.

Where each start serves one call (`--use once`) the call that counts is the first one of a fresh process, and steady calls keep no budget.

Each way to shrink stands by itself: what must go from one stage, one operator, or the whole call, if all else stays. For the tail a part is taken to
have the share of a slow call that it has of a usual one, since only whole calls are known that far out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from ridgeline.core import Budget, BudgetReport, Facts, GroundTruth, Shrink, parse_budget
from ridgeline.core.units import format_quantity
from ridgeline.stats import minimum_samples

from .case import Case
from .ground_truth import ground_truth
from .stages import overlapping, share_of_stage, stage_table, top_stages

__all__ = ["budget_report"]

_CONFIDENCE = 0.95
#: Operators named where there are no stages, and the least share of one.
_OPERATORS, _LEAST_SHARE = 3, 0.1
_STAGES = 6


def budget_report(case: Case) -> BudgetReport | None:
    """The state of the target's budget; `None` where none was given or nothing was measured."""
    if not case.facts.target.budget:
        return None
    budget = parse_budget(case.facts.target.budget)
    first_calls = _first_calls_count(case.facts)
    truth = _of_first_calls(case.facts) if first_calls else ground_truth(case.facts)
    if truth is None:
        return _not_known(budget) if first_calls else None
    state = budget.state(truth)
    tail = budget.at == "p99"
    value, interval = (truth.p99_s, truth.p99_ci_s) if tail else (truth.median_s, truth.median_ci_s)
    reached = value if value is not None else truth.median_s
    excess = max(0.0, reached - budget.limit_s) if state == "missed" else None
    report = BudgetReport(
        limit_s=budget.limit_s,
        at=budget.at,
        state=state,
        value_s=value,
        interval_s=interval,
        samples=truth.samples,
        samples_needed=minimum_samples(0.99, _CONFIDENCE, one_sided=True) if tail else minimum_samples(0.5, _CONFIDENCE, one_sided=False),
        excess_s=excess,
        slack_s=budget.limit_s - value if state == "met" and value is not None else None,
        # Shares of stages and operators are of steady calls.
        shrink=() if not excess else (_way("the whole call", "call", reached, excess),) if first_calls else tuple(_ways(case, reached, excess)),
        of="first calls" if first_calls else "steady calls",
    )
    return msgspec.structs.replace(report, because=_because(report, truth))


def _first_calls_count(facts: Facts) -> bool:
    """Whether the first call is the one that somebody waits for; of a script or a command every sample is a fresh process already."""
    return facts.target.use == "once" and facts.target.kind not in ("script", "command")


def _not_known(budget: Budget) -> BudgetReport:
    because = "first calls of fresh processes are what counts, and none were timed"
    return BudgetReport(
        limit_s=budget.limit_s, at=budget.at, state="undecided", value_s=None, interval_s=None, samples=0, samples_needed=1, because=because,
        of="first calls",
    )  # fmt: skip


def _of_first_calls(facts: Facts) -> GroundTruth | None:
    """First calls of fresh processes in the form of a ground truth; `None` where no fresh process was started."""
    if facts.cold is None:
        return None
    first = facts.cold.first_s
    return GroundTruth(
        samples=facts.cold.starts, processes=facts.cold.starts, warmup=0, first_s=first.value, median_s=first.value,
        median_ci_s=(first.low, first.high), p99_s=None, p99_ci_s=None, min_s=first.low, batched_s=None, noise_floor=None, overhead_s=None,
    )  # fmt: skip


def _ways(case: Case, call_s: float, excess_s: float) -> Iterator[Shrink]:
    yield _way("the whole call", "call", call_s, excess_s)
    table = stage_table(case.facts)
    if table is not None:
        top = sorted(top_stages(table), key=lambda stage: -stage.total_s.value)
        if overlapping(table):
            # Beside others only the longest shortens the call, and only until the next one is the longest.
            spare = share_of_stage(case, top[0].total_s.value - top[1].total_s.value) * call_s if len(top) > 1 else call_s
            top = top[:1] if spare > excess_s else []
        for stage in top[:_STAGES]:
            yield _way(stage.name, "stage", share_of_stage(case, stage.total_s.value) * call_s, excess_s)
    elif case.shares_hold:
        for part in sorted(case.judged, key=lambda part: -part.share)[:_OPERATORS]:
            if part.share >= _LEAST_SHARE:
                yield _way(part.row.name, "operator", part.share * call_s, excess_s)


def _way(name: str, kind: Literal["call", "stage", "operator"], now_s: float, excess_s: float) -> Shrink:
    possible = now_s > excess_s
    return Shrink(
        name=name,
        kind=kind,
        now_s=now_s,
        target_s=now_s - excess_s if possible else None,
        part=excess_s / now_s if possible else None,
    )


def _because(report: BudgetReport, truth: GroundTruth) -> str:
    if report.of == "first calls":
        return f"first calls of {report.samples} fresh processes, loading not counted: {_said(report, truth)}"
    return _said(report, truth)


def _said(report: BudgetReport, truth: GroundTruth) -> str:
    limit = format_quantity(report.limit_s, "s")
    if report.state == "undecided":
        if report.value_s is None:
            return _too_few(report)
        low, high = report.interval_s or (report.value_s, report.value_s)
        inside = f"{limit} lies inside the interval of the {report.at}"
        return f"{inside}, {format_quantity(low, 's')} to {format_quantity(high, 's')}; more samples narrow it"
    if report.state == "met":
        return f"the {report.at} is {format_quantity(report.value_s or 0.0, 's')}, {format_quantity(report.slack_s or 0.0, 's')} under it"
    ways = [_written(way) for way in report.shrink if way.part is not None and way.kind != "call"]
    whole = next((way for way in report.shrink if way.kind == "call" and way.part is not None), None)
    said = [*ways[:3], *([f"the whole call must lose {whole.part:.0%}"] if whole is not None and whole.part is not None else [])]
    lost = format_quantity(report.excess_s or 0.0, "s")
    over = (
        f"the {report.at} is {format_quantity(report.value_s, 's')}, {lost} over it"
        if report.value_s is not None
        else f"the median alone is {format_quantity(truth.median_s, 's')}, at least {lost} over it ({_too_few(report)})"
    )
    return over + (f"; to meet it {', or '.join(said)}" if said else "")


def _too_few(report: BudgetReport) -> str:
    few = f"the {report.at} needs {report.samples_needed} samples, there are {report.samples}"
    return few if report.of == "first calls" else f"{few}; allow more with --samples and --time-budget"


def _written(way: Shrink) -> str:
    return f"{way.name} must go from {format_quantity(way.now_s, 's')} to {format_quantity(way.target_s or 0.0, 's')} (−{way.part:.0%})"
