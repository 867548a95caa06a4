"""What a comparison tests: a hypothesis in words, and the promise of an action of a stored diagnosis, held against what was found.

The promise is judged as in a trial of `diagnose --try`: kept where the found speedup lies in the promised interval, refuted where the whole found
interval lies outside, open in between. A promise that was made elsewhere, or of something else than was compared, stays open, with the reason: one on
the time between results says nothing of the latency of a call, and is held against the throughput only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from ridgeline.core import Action, Caution, Comparison, Experiment, Run, UsageError
from ridgeline.core.units import format_speedup

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

__all__ = ["Tested", "action_of", "experiment_of", "held", "speedup_found"]

Promise = Literal["kept", "refuted", "open"]


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """The action of a diagnosis that a comparison tests."""

    action: Action
    run: Run


def action_of(text: str, notebook: Notebook | None) -> Tested:
    """Find the action that `ACTION@RUN` names, such as `a1@latest`; `latest` and `-1` are the newest run with a diagnosis.

    Raises:
        UsageError: another form, no notebook, no such run, no diagnosis in it, or no such action.
    """
    name, sign, identity = text.partition("@")
    if not sign or not name.strip() or not identity.strip():
        raise UsageError("--tests ACTION@RUN, such as a1@latest", found=repr(text), remedy="see the ids of actions with `ridgeline show RUN --json`")
    if notebook is None:
        raise UsageError("a notebook with the diagnosis", found="--no-notebook", remedy="leave it out")
    run = _run(identity.strip(), notebook)
    actions = run.diagnosis.actions if run.diagnosis is not None else ()
    for action in actions:
        # By its name as well, where it is the only one of that name.
        if action.id == name or [other.action for other in actions].count(name) == 1 == (action.action == name):
            return Tested(action=action, run=run)
    known = ", ".join(f"{action.id} ({action.action})" for action in actions) or "none"
    raise UsageError(f"an action of run {run.id}", found=f"{name!r}; it has {known}", remedy="give one of these")


def _run(identity: str, notebook: Notebook) -> Run:
    if identity in ("last", "latest", "-1"):
        # The newest diagnosis, not the newest run: benchmarks since then promise nothing.
        summary = next(iter(notebook.runs(1, verb="diagnose")), None)
        if summary is None:
            remedy = "diagnose the target first"
            raise UsageError("a diagnosis in the notebook", found=f"none in {notebook.place}", remedy=remedy)
        identity = summary.id
    run = notebook.get(identity)
    if run.diagnosis is None:
        raise UsageError(
            "a run with a diagnosis", found=f"{run.id}, a {run.verb}", remedy="give the id of a diagnosis (`ridgeline log --verb diagnose`)"
        )
    return run


def speedup_found(found: Comparison) -> tuple[float, float] | None:
    """(low, high) speedup of b over a; `None` where the interval has no end, or there is none. Where more is better it is the ratio itself."""
    low, high = found.ratio_ci or (0.0, None)
    if high is None or not low > 0:
        return None
    return (low, high) if found.better == "higher" else (1 / high, 1 / low)


def held(found: Comparison, asked: Tested, machines: Sequence[str], batched: Comparison | None = None) -> Comparison:
    """The comparison with the promise that it tests, and what came of it.

    Args:
        found: of the latencies.
        asked: the action.
        machines: fingerprints of the machines of both runs.
        batched: the same versions with many calls at once, for a promise on the time between results.
    """
    action = asked.action
    foreign = any(machine != asked.run.facts.machine.fingerprint for machine in machines)
    gained = _gained(found, action, batched)
    gain = None if isinstance(gained, str) else gained
    promise, reason = _judged(gained, action, foreign=foreign)
    warnings = found.warnings
    if reason:
        warnings = (*warnings, Caution(code="promise-open", message=f"the promise of {action.id} stays open: {reason}"))
    return msgspec.structs.replace(
        found, tests=f"{action.id}@{asked.run.id}", promised=action.speedup, promised_metric=action.metric, promise=promise, warnings=warnings,
        gained=(gain.low, gain.high) if gain else None,
    )  # fmt: skip


class _Gain(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of that which was promised, as a speedup with its interval."""

    value: float
    low: float
    high: float


def _gained(found: Comparison, action: Action, batched: Comparison | None) -> _Gain | str:
    """The gain that the promise can be held against, or why there is none."""
    call = _gain_of(found)
    if action.metric != "period":
        return call or "no interval of the gain was found"
    if batched is None:
        return "it is of the time between results, and what was compared is the latency of a call"
    gain = _gain_of(batched)
    if gain is None:
        return "no interval of the gain between results was found"
    if call is not None and call.low > action.speedup[1] and gain.low > action.speedup[1]:
        # What shortens the call itself by more than was promised between results is another change, and says nothing of this one.
        promised = "it is of the time between results, with calls as long as before"
        return f"{promised}, and the call itself became {format_speedup(call.low, call.high)} faster: another change was made"
    return gain


def _gain_of(found: Comparison) -> _Gain | None:
    speedup, ratio = speedup_found(found), found.ratio
    if speedup is None or not ratio:
        return None
    return _Gain(value=ratio if found.better == "higher" else 1 / ratio, low=speedup[0], high=speedup[1])


def _judged(gained: _Gain | str, action: Action, *, foreign: bool) -> tuple[Promise, str]:
    if foreign:
        return "open", "it was made on another machine"
    if isinstance(gained, str):
        return "open", gained
    low, high = action.speedup
    if low <= gained.value <= high:
        return "kept", ""
    return ("refuted", "") if gained.high < low or gained.low > high else ("open", "")


def experiment_of(found: Comparison, runs: Sequence[Run], asked: Tested | None) -> Experiment | None:
    """What the notebook keeps of a comparison that tested something; `None` of one that tested nothing."""
    if asked is None and not found.hypothesis:
        return None
    facts = runs[-1].facts if runs else None
    return Experiment(
        diagnosis=asked.run.id if asked is not None else "",
        action=asked.action if asked is not None else None,
        before=found.name_a,
        after=found.name_b,
        found=found.gained if asked is not None else speedup_found(found),
        verdict=found.verdict,
        kept=found.keep,
        change=found.hypothesis or found.name_b,
        target=facts.target.spec if facts is not None else found.name,
        machine=facts.machine.description if facts is not None else "",
        promise=found.promise,
        hypothesis=found.hypothesis,
        runs=tuple(run.id for run in runs),
        commits=tuple(run.commit or "" for run in runs),
        clock=tuple(run.facts.clock.governor or run.facts.machine.governor or "" for run in runs),
    )
