"""`try_changes`: every candidate in turn, within a budget; what is finished is handed over at once, so that an interrupted run keeps it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from ridgeline.core import ChangeTrial, Diagnosis, Facts, NotComparable, OutputCheck, Samples, Untried
from ridgeline.core.units import format_quantity
from ridgeline.machine import scratch_folder
from ridgeline.targets import TargetSpec
from ridgeline.targets.changes import Change, Situation, registry

from .candidates import Candidate, candidates
from .trial import Report, run_trial

__all__ = ["DEFAULT_BUDGET_S", "Trying", "try_changes"]

#: Seconds for all trials together when the person names no budget.
DEFAULT_BUDGET_S = 90.0
#: Seconds of blocks of one trial: at least so many, and so many calls of a slow target, six pairs and their warm-up.
_TRIAL_S, _TRIAL_CALLS = 4.0, 16.0
#: Calls of the shortest trial: first ones, outputs, warm-up and six pairs of blocks.
_LEAST_CALLS = 20.0
#: Part of the budget that one request to a changed target may take: a change that hangs must leave time for the others.
_ONE_HANGS = 1.0 / 3.0


@dataclass(frozen=True, kw_only=True)
class Trying:
    """How much may be tried.

    Attributes:
        budget_s: seconds for all trials together; the first is made in any case.
        precisions: precisions that are allowed besides the target's own: `bf16`, `fp16`, `int8`.
    """

    budget_s: float = DEFAULT_BUDGET_S
    precisions: frozenset[str] = frozenset()

    def allows(self, call_s: float) -> bool:
        """Whether a trial of a target whose call takes `call_s` seconds has a place in it."""
        return _LEAST_CALLS * call_s <= self.budget_s

    @staticmethod
    def too_little(call_s: float) -> str:
        """What a trial of calls of `call_s` seconds needs."""
        least = format_quantity(_LEAST_CALLS * call_s, "s")
        return f"a trial makes at least {_LEAST_CALLS:.0f} calls, {least} here; --try-budget {math.ceil(_LEAST_CALLS * call_s)} allows one"


def try_changes(
    found: Diagnosis, facts: Facts, spec: TargetSpec, trying: Trying, *, report: Report, keep: Callable[[Facts], None] | None = None
) -> Facts:
    """The facts with what came of every change that could be tried, and why the others were not.

    Args:
        found: the diagnosis of `facts`.
        facts: what was measured.
        spec: the target.
        trying: budget and permissions.
        report: progress.
        keep: given the facts after every trial that was made; not after a change that turned out to have no place here.
    """
    changes, broken = registry()
    situation = Situation(
        spec=spec,
        info=facts.target,
        machine=facts.machine,
        precisions=trying.precisions,
        device=facts.device,
        other_threads=_other_threads(facts.samples),
    )
    chosen, untried = candidates(found.actions, changes, situation)
    untried = (*untried, *(Untried(action="", change=other.name, reason=other.reason) for other in broken))
    facts = msgspec.structs.replace(facts, untried=untried)
    began, dearest_s = time.monotonic(), 0.0
    call_s = found.ground_truth.median_s if found.ground_truth else 0.0
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(scratch_folder("try"))
        except OSError as error:  # the diagnosis stands without its trials
            return _none_tried(facts, chosen, f"no folder for temporary files: {error}")
        for index, candidate in enumerate(chosen):
            left_s = trying.budget_s - (time.monotonic() - began)
            if left_s < (dearest_s if index else 0.0):
                facts = _without(facts, candidate, _out_of_time(dearest_s, len(chosen)))
                continue
            if not trying.allows(call_s):
                facts = _without(facts, candidate, Trying.too_little(call_s))
                continue
            before, made = time.monotonic(), len(facts.trials)
            try_one = partial(run_trial, spec, candidate.change, facts.machine, folder=folder, report=_part(report, index, len(chosen)))
            facts = _tried(
                facts,
                candidate,
                partial(try_one, seconds=_seconds(call_s, trying.budget_s), limit_s=_limit_s(left_s, trying.budget_s), call_s=call_s),
            )
            dearest_s = max(dearest_s, time.monotonic() - before)
            if keep is not None and len(facts.trials) > made:
                keep(facts)
    return facts


def _none_tried(facts: Facts, chosen: Sequence[Candidate], reason: str) -> Facts:
    for candidate in chosen:
        facts = _without(facts, candidate, reason)
    return facts


def _other_threads(samples: Samples | None) -> float | None:
    """Part of the CPU time that threads other than the caller's took; null where it was not measured."""
    process, caller = (samples.mean(name) if samples else None for name in ("process_cpu_s", "thread_cpu_s"))
    return min(1.0, max(0.0, 1.0 - caller / process)) if process and caller is not None else None


def _tried(facts: Facts, candidate: Candidate, trial: Callable[[], ChangeTrial]) -> Facts:
    try:
        done = trial()
    except NotComparable as error:
        return _without(facts, candidate, f"{error.expected} is what it needs; found: {error.found}")
    except Exception as error:  # a stranger's change must not cost the diagnosis
        done = _failed(candidate.change, f"{type(error).__name__}: {error}")
    return msgspec.structs.replace(facts, trials=(*facts.trials, done))


def _without(facts: Facts, candidate: Candidate, reason: str) -> Facts:
    change = candidate.change
    action = change.carries_out[0] if change.carries_out and not candidate.control else change.name
    return msgspec.structs.replace(facts, untried=(*facts.untried, Untried(action=action, change=change.name, reason=reason)))


def _failed(change: Change, reason: str) -> ChangeTrial:
    output = OutputCheck(state="unknown", reason="the trial failed")
    return ChangeTrial(change=change.name, actions=change.carries_out, metric=change.metric, output=output, failure=reason)


def _out_of_time(dearest_s: float, count: int) -> str:
    return f"the time for trying was spent; all {count} changes take about --try-budget {math.ceil(count * dearest_s)}"


def _limit_s(left_s: float, budget_s: float) -> float:
    """Seconds that one request to a changed target may take."""
    return max(0.0, min(left_s, _ONE_HANGS * budget_s))


def _seconds(call_s: float, budget_s: float) -> float:
    """Seconds of blocks of one trial: enough for six pairs of a slow call, at most a third of the budget."""
    return max(0.2, min(max(_TRIAL_S, _TRIAL_CALLS * call_s), budget_s / 3.0))


def _part(report: Report, index: int, count: int) -> Report:
    def within(label: str, fraction: float | None) -> None:
        report(label, (index + (fraction or 0.0)) / count)

    return within
