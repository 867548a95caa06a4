"""From findings to the page: ranks what the rules saw, decides between a bottleneck, health and *cannot tell*, and fills the contract.

The bottleneck is the finding whose best action deletes the most of the wall at the least it promises; not the largest share, since a share that
runs at its ceiling cannot be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from ridgeline.core import (
    Action,
    Bottleneck,
    Caution,
    Diagnosis,
    Facts,
    LevelSummary,
    OperatorSummary,
    OverheadSummary,
    RunnerUp,
    Samples,
    WallShares,
    Where,
)
from ridgeline.core.units import format_quantity, format_speedup
from ridgeline.stats import moves_one_way

from .budget import budget_report
from .case import Case, Finding, Rule
from .causes.unexplained import UNKNOWN
from .cores import moved_within
from .expected import Held, held_against_expected
from .ground_truth import ground_truth
from .judge import BOUND_HIGH, BOUND_LOW, HEALTHY, Judged
from .observer import observer_cautions, split_perturbed
from .partitions import partition_summary
from .promise import place, promise
from .siblings import beside_sibling
from .stages import models_share, stage_cautions, stage_summaries, with_stage
from .trials import confirms, judged_trials
from .weighed import weighed

__all__ = ["conclude"]

#: Under this recoverable share of the wall there is nothing worth a change.
_WORTH = 0.08
#: Part of the wall that operators must hold for their health to be the program's.
_KNOWN = 0.5
#: A finding smaller than this is not shown.
_SHOWN = 0.03
_FEW_SAMPLES = 20
#: A first call of at least so many seconds, and so many steady ones, is worth a word.
_LONG_FIRST_S, _DEAR_FIRST = 0.5, 10.0
#: A level that moves by less than this between the first and the last third of the samples changes no verdict.
_DRIFT = 0.1


def conclude(facts: Facts, rules: Iterable[Rule]) -> Diagnosis:
    """Apply the rules to complete facts.

    Args:
        facts: everything that could be had.
        rules: from the plugin door.

    Returns:
        A `Diagnosis` whose run-level fields (software, method, commit) are still empty; flows fill them.
    """
    case = Case.of(facts)
    found = [replace(f, where=with_stage(facts, f.where)) for rule in rules for f in rule.findings(case) if f.share >= _SHOWN]
    ranked = sorted(found, key=lambda f: (-f.recoverable, -f.share, f.cause))
    top = ranked[0] if ranked else None
    healthy = _healthy(case, ranked)
    shown = [] if healthy else ranked
    if not healthy and (top is None or (top.recoverable < _WORTH and top.cause != UNKNOWN and not top.healthy)):
        top = _undecided(case)
        shown = [top, *ranked]
    bottleneck = None if healthy or top is None else _bottleneck(top)
    actions = () if healthy or (top is not None and top.bound == "inconclusive" and top.cause == UNKNOWN) else promise(_of_use(shown), case.wall_s)
    tried = judged_trials(facts.trials, actions, disturbed=_disturbed(top))
    if bottleneck is not None and top is not None and confirms(tried, {proposal.action for proposal in top.proposals}):
        bottleneck = msgspec.structs.replace(bottleneck, confirmed=True)
    actions = weighed(beside_sibling(actions, tried, case.wall_s), tried, case.wall_s)
    held = held_against_expected(case, disturbed=_disturbed(top))
    return Diagnosis(
        target=facts.target.spec,
        machine=facts.machine.description,
        software={},
        method="",
        commit=None,
        threads=facts.target.threads,
        allocator=facts.target.allocator,
        input=facts.target.inputs,
        budget=facts.target.budget or None,
        clock=facts.clock,
        ground_truth=ground_truth(facts),
        wall_split=_wall_shares(facts),
        levels=tuple(_levels(facts)),
        stages=tuple(stage_summaries(case)),
        models_share=models_share(case),
        operators=tuple(_operator(case, part, top, held) for part in sorted(case.judged, key=lambda p: -p.row.total_s.value)),
        overhead=_overhead(facts),
        expected=held.summary,
        partitions=partition_summary(facts.partitions, perturbed=case.perturbed),
        bottleneck=bottleneck,
        actions=actions,
        tried=tried,
        untried=facts.untried,
        budget_state=budget_report(case),
        runners_up=tuple(_runner_up(f) for f in (ranked if healthy else shown[1:])[:5]),
        warnings=tuple(_warnings(case, top)),
        bound="none" if healthy else (top.bound if top else "inconclusive"),
        headline=_headline(case, top, healthy, _found_faster(actions)),
        missing=(*([top.missing] if top is not None and top.missing else []), *(f"{name}: {why}" for name, why in facts.cannot.items())),
    )


def _healthy(case: Case, ranked: list[Finding]) -> bool:
    """Healthy: what dominates runs at its ceiling with nothing cheaper to be had here, or nothing at all is worth a change."""
    if case.facts.samples is None or case.facts.wall_split is None:
        return False
    if not ranked:
        # Operators of which none is worth a change make a program healthy only where they are what it does.
        return case.shares_hold and case.sum_of(case.judged) >= _KNOWN
    top = ranked[0]
    if top.cause == UNKNOWN or top.bound == "inconclusive":
        return False
    if top.healthy:
        return all(proposal.action not in ("lower-precision", "cheaper-algorithm", "parallelise") for proposal in top.proposals) and top.share >= 0.5
    return top.recoverable < _WORTH and case.shares_hold and any(finding.healthy and finding.share >= 0.5 for finding in ranked)


def _of_use(shown: list[Finding]) -> list[Finding]:
    """Findings whose actions help the use: where each start serves one call, a gain on steady calls is none; beside other work no share holds."""
    if shown and shown[0].cause == "interference":
        return shown[:1]
    single = [finding for finding in shown if finding.cause == "cold-start"]
    return [finding for finding in shown if finding.cause in ("cold-start", "interference")] if single else shown


def _undecided(case: Case) -> Finding:
    largest = max(case.judged, key=lambda part: part.share, default=None) if case.shares_hold else None
    return Finding(
        cause=UNKNOWN,
        bound="inconclusive",
        share=largest.share if largest else 0.0,
        where=case.where(largest) if largest else Where(),
        summary="no cause takes enough of the wall to be worth a change, and not enough of it is known to call it healthy",
        missing="cause: no rule has the facts that it needs, or its part of the wall is too small",
    )


def _bottleneck(top: Finding) -> Bottleneck:
    return Bottleneck(
        where=top.where,
        bound=top.bound,
        cause=top.cause,
        share=min(1.0, top.share),
        evidence=top.evidence,
        summary=top.summary,
        operators=top.operators,
    )


def _runner_up(finding: Finding) -> RunnerUp:
    return RunnerUp(
        where=finding.where,
        bound=finding.bound,
        cause=finding.cause,
        share=min(1.0, finding.share),
        summary=finding.summary,
        operators=finding.operators,
    )


def _headline(case: Case, top: Finding | None, healthy: bool, found: str) -> str:
    if healthy:
        at = f": {top.summary}" if top and top.healthy else ""
        return f"Healthy{at}. {found or 'Nothing here is worth a change.'}"
    return f"{_what_binds(case, top)} {found}".rstrip()


def _what_binds(case: Case, top: Finding | None) -> str:
    if top is None:
        return "Inconclusive: nothing could be measured."
    if top.cause == UNKNOWN:
        return f"Inconclusive: {_who(top)} {'takes' if top.operators < 2 else 'take'} {top.share:.0%} of the wall; {top.summary}."
    if top.healthy:
        if not _at_its_ceiling(top):
            # f of 0.4 to 0.7: what binds is known, and so is that there is room under it.
            return f"{_who(top)}: {top.bound} bound with room under the ceiling, {top.share:.0%} of the wall. {_sentence(top.summary)}"
        runs = "already runs near its ceiling" if top.operators < 2 else "already run near their ceilings"
        return f"{_who(top)} {runs} ({top.bound}, {top.cause}, {top.share:.0%} of the wall): {top.summary}."
    bound = "" if top.cause == "interference" else f" {top.bound} bound,"
    return f"{_who(top)}:{bound} {top.cause}, {top.share:.0%} of the wall. {_sentence(top.summary)}"


def _sentence(summary: str) -> str:
    return f"{summary[:1].upper()}{summary[1:]}."


def _at_its_ceiling(top: Finding) -> bool:
    return any(evidence.name in ("f_c", "f_b") and evidence.quantity.value >= HEALTHY for evidence in top.evidence)


def _who(top: Finding) -> str:
    """Whose share it is: a share of many operators is not that of the largest, and what a count costs is that of none of them."""
    if top.of_a_count:
        return f"{top.operators} operators, most often {place(top.where)}"
    more = top.operators - 1
    return place(top.where) + (f" and {more} more operator{'s' * (more > 1)}" if more > 0 else "")


def _found_faster(actions: Sequence[Action]) -> str:
    """What was tried unasked and found faster: it is worth a change whatever the verdict says."""
    found = [action for action in actions if action.basis == "measured" and action.recommended]
    named = ", ".join(f"{action.action} {format_speedup(*action.speedup)}" for action in found)
    return f"Tried and found faster with equal output: {named}." if found else ""


def _wall_shares(facts: Facts) -> WallShares | None:
    split = facts.wall_split
    if split is None:
        return None
    return WallShares(
        blocked=split.blocked.value,
        waiting=split.waiting.value,
        system=split.system.value,
        interpreter=split.interpreter.value,
        kernels=split.kernels.value,
        perturbed=split_perturbed(facts) is not None,
    )


def _levels(facts: Facts) -> Iterable[LevelSummary]:
    for record in sorted(facts.levels, key=lambda r: r.level):
        yield LevelSummary(
            level=record.level,
            instrument=record.instrument,
            total_s=record.total_s.value if record.total_s else None,
            ratio_to_ground_truth=record.ratio_to_ground_truth,
            perturbed=record.perturbed,
            skipped=record.skipped,
        )


def _overhead(facts: Facts) -> OverheadSummary | None:
    table = facts.operators
    if table is None:
        return None
    operators, wall = table.operators_s.value, table.wall_s.value
    return OverheadSummary(operators_s=operators, wall_s=wall, gap_s=wall - operators, gap_share=(wall - operators) / wall if wall else 0.0)


def _disturbed(top: Finding | None) -> bool:
    """What ran beside other work has numbers and no verdict."""
    return top is not None and top.cause == "interference"


def _operator(case: Case, part: Judged, top: Finding | None, held: Held) -> OperatorSummary:
    row, hold, disturbed = part.row, case.shares_hold, _disturbed(top)
    expected = held.operators.get(part.index)
    return OperatorSummary(
        name=row.name,
        kind=row.kind,
        calls=row.calls,
        total_s=row.total_s.value if hold else None,
        share=part.share if hold else None,
        flop=row.flop,
        bytes=part.bytes,
        achieved_flop_per_s=part.achieved_flop_per_s if hold else None,
        achieved_byte_per_s=part.achieved_byte_per_s if hold else None,
        f_c=part.f_c if hold else None,
        f_b=part.f_b if hold else None,
        intensity=part.intensity,
        bound=part.bound if hold and not disturbed else "inconclusive",
        ran_on=row.placement.provider or row.placement.device,
        precision=row.placement.precision,
        threads=row.placement.threads,
        where=case.where(part),
        inserted=row.inserted,
        reason=row.reason or ("measured beside other work: not judged" if disturbed else ""),
        shapes=row.shapes,
        predicted_s=expected.predicted_s if expected else None,
        against=expected.against if expected else None,
        missing=expected.missing if expected else (),
    )


def _warnings(case: Case, top: Finding | None) -> Iterable[Caution]:
    yield from case.facts.warnings
    yield from stage_cautions(case.facts)
    samples = case.facts.samples
    if samples is not None and len(samples) < _FEW_SAMPLES:
        yield Caution(
            code="too-few-samples",
            message=f"{len(samples)} samples fitted into the time budget",
            effect="the interval of the median is wide; allow more time with --time-budget",
        )
    yield from _unsettled(case.facts)
    yield from moved_within(case.facts.clock, samples, "the ground truth")
    yield from observer_cautions(case.facts, stand_in=case.shares_hold)
    yield from _first_call(case)
    yield from _straddling(top)
    yield from _above_ceiling(case)


def _first_call(case: Case) -> Iterable[Caution]:
    """A first call that somebody would notice, of a target that was said to be used again and again."""
    first_s = case.facts.first_s or 0.0
    if case.facts.target.use == "repeated" and case.wall_s and first_s > max(_LONG_FIRST_S, _DEAR_FIRST * case.wall_s):
        message = f"the first call took {format_quantity(first_s, 's')}, later ones take {format_quantity(case.wall_s, 's')}"
        yield Caution(code="cold-first-call", message=message, effect="where each start serves one call, --use once judges that instead")


def _unsettled(facts: Facts) -> Iterable[Caution]:
    """Times that went somewhere, and times that only wandered: calls that depend on each other never look steady, and need not drift."""
    drift = _drift(facts.samples)
    if facts.samples is None or facts.steady is not False or drift <= _DRIFT:
        return
    moved = f"the last third differs from the first by {drift:.0%}"
    if moves_one_way(facts.samples.wall_s.values):
        yield Caution(code="never-steady", message=f"the times did not settle: {moved}", effect="the median describes a moving thing")
        return
    effect = "calls near each other are alike, so that the interval of the median is too narrow; more time for measuring (--time-budget) helps"
    yield Caution(code="wandering", message=f"the times wander up and down: {moved}, without a trend", effect=effect)


def _drift(samples: Samples | None) -> float:
    """Relative difference between the medians of the first and the last third of the samples; 0 for fewer than nine."""
    if samples is None or len(samples) < 9:
        return 0.0
    third = len(samples) // 3
    first, last = (float(np.median(part)) for part in (samples.wall_s.values[:third], samples.wall_s.values[-third:]))
    return abs(last - first) / min(first, last) if min(first, last) > 0 else 0.0


def _straddling(top: Finding | None) -> Iterable[Caution]:
    """f_c or f_b whose interval lies on both sides of a threshold: both sides are named."""
    for evidence in top.evidence if top else ():
        if evidence.name in ("f_c", "f_b"):
            for threshold in (BOUND_LOW, BOUND_HIGH):
                if evidence.quantity.straddles(threshold):
                    yield Caution(
                        code="straddles-threshold",
                        message=f"{evidence.name} {evidence.quantity.low:.2f}–{evidence.quantity.high:.2f} lies on both sides of {threshold}",
                        effect=f"the bound could as well be the one {'below' if evidence.quantity.value >= threshold else 'above'} it",
                    )


def _above_ceiling(case: Case) -> Iterable[Caution]:
    """Fractions above 1: faults to explain, never scores."""
    for part in case.judged:
        for name, fraction in (("f_c", part.f_c), ("f_b", part.f_b)):
            if case.shares_hold and fraction is not None and fraction.low > 1.1 and part.share > 0.02:
                yield Caution(
                    code="above-ceiling",
                    message=f"{name} of {part.row.name} is {fraction.value:.2f}",
                    effect="a number above its ceiling is a fault of unit, count, precision, residency or clock, not a score; do not use it",
                )
