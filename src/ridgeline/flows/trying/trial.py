"""One trial: a change in a child of its own beside the original in another, called by turns in blocks (A B B A …), outputs compared.

Whatever happens to a child becomes the reason of the trial; it never reaches the diagnosis. What the times mean is decided in `diagnosis`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import ChangeTrial, Machine, NotComparable, OutputCheck, RidgelineError, TargetFailed
from ridgeline.core.units import format_quantity
from ridgeline.machine import Limits, Worker
from ridgeline.measurement.agent import EVERY_LEVEL, ChangedReport, ColdReport, WarmReport
from ridgeline.measurement.medians import median_of
from ridgeline.targets import TargetSpec, worker_environment
from ridgeline.targets.changes import Change

from .ratios import BlockPair, speedup_of, tail_of

__all__ = ["run_trial"]

_AGENT = "ridgeline.measurement.agent"
#: Pairs of blocks of one pair of processes, and the fewest of a trial: the least from which an interval at 95 % can be read.
_PAIRS, _PAIRS_LEAST = 8, 6
#: Pairs of processes, where starting them costs no more than the measuring.
_ROUNDS = 2
#: A request to the original, which is known to work, may take this long and twenty calls.
_ORIGINAL_S = 600.0
#: One to the changed target may take what it is given, or so many times what preparing the original took and a second, and twenty calls.
_AS_PREPARING, _GRACE_S, _CALLS = 3.0, 1.0, 20.0
_COLD_STARTS, _WARM_CALLS = 6, 5
_UNKNOWN = OutputCheck(state="unknown", reason="the trial ended before outputs were compared")

Report = Callable[[str, float | None], None]


@dataclass(kw_only=True)
class _Trial:
    """What a trial has gathered so far."""

    spec: TargetSpec
    change: Change
    machine: Machine
    seconds: float
    limit_s: float
    call_s: float
    folder: Path
    prepared_s: float = 0.0
    applying: bool = False
    output: OutputCheck = _UNKNOWN
    pairs: list[BlockPair] = field(default_factory=list)
    rounds: int = 0

    def longest_s(self, *, changed: bool) -> float:
        """Seconds that one request may take."""
        if not changed:
            return _ORIGINAL_S + _CALLS * self.call_s
        return max(self.limit_s, _AS_PREPARING * self.prepared_s + _GRACE_S) + _CALLS * self.call_s


def run_trial(
    spec: TargetSpec, change: Change, machine: Machine, *, seconds: float, limit_s: float, call_s: float, folder: Path, report: Report
) -> ChangeTrial:
    """Measure a change beside the original.

    Args:
        spec: the target.
        change: from the registry.
        machine: the host.
        seconds: for the blocks of both together; preparing comes on top.
        limit_s: seconds that the changed target may take for a request, a few calls apart; one that hangs is ended then.
        call_s: seconds of one call of the original.
        folder: for the outputs of the original.
        report: progress.

    Returns:
        The trial; with `failure` where the change, or the target under it, failed.

    Raises:
        NotComparable: the change has no place in this target.
    """
    trial = _Trial(spec=spec, change=change, machine=machine, seconds=seconds, limit_s=limit_s, call_s=call_s, folder=folder)
    failure = ""
    try:
        if change.cold:
            _cold(trial, report)
        else:
            _rounds(trial, report)
    except NotComparable:
        raise
    except TargetFailed as error:
        failure = str(error)
        if error.found.startswith("still running"):
            failure = f"{change.name} did not {_unfinished(trial)}; found: {error.found}; to do: allow more time with --try-budget"
    except RidgelineError as error:
        failure = str(error)
    return _closed(trial, failure)


def _unfinished(trial: _Trial) -> str:
    """What did not come to an end, and in how long."""
    limit = format_quantity(trial.longest_s(changed=True), "s")
    return f"finish {trial.change.applying} in {limit}" if trial.applying else f"come to an end in {limit}"


def _closed(trial: _Trial, failure: str) -> ChangeTrial:
    change, pairs = trial.change, trial.pairs
    whole = len(pairs) >= 2 and not failure
    return ChangeTrial(
        change=change.name,
        actions=change.carries_out,
        metric=change.metric,
        output=trial.output,
        speedup=speedup_of(pairs) if whole else None,
        tail=tail_of(pairs) if whole and not change.cold else None,
        before_s=median_of(np.concatenate([pair.before for pair in pairs]).tolist(), "original, between blocks of the change") if whole else None,
        after_s=median_of(np.concatenate([pair.after for pair in pairs]).tolist(), f"with {change.name}") if whole else None,
        pairs=len(pairs),
        rounds=trial.rounds,
        failure=failure or ("" if whole else "too few blocks fitted into its time"),
        caveat=change.caveat,
    )


def _rounds(trial: _Trial, report: Report) -> None:
    rounds = _ROUNDS
    while trial.rounds < rounds:
        began, number = time.monotonic(), trial.rounds
        with _worker(trial, changed=False) as original, _worker(trial, changed=True) as changed:
            report(f"preparing {trial.change.name}", number / rounds)
            _prepare(trial, original, changed=False)
            trial.prepared_s = time.monotonic() - began
            trial.applying = True
            _prepare(trial, changed, changed=True)
            trial.applying = False
            if number == 0:
                trial.output = _outputs(trial, original, changed)
            warm = [
                worker.call(f"{_AGENT}:warm", {"budget_s": trial.seconds / 8}, WarmReport, timeout_s=trial.longest_s(changed=worker is changed))
                for worker in (original, changed)
            ]
            if time.monotonic() - began > trial.seconds:
                rounds = number + 1
            report(f"trying {trial.change.name}", (number + 0.5) / rounds)
            _blocks(trial, [(original, warm[0].call_s), (changed, warm[1].call_s)], number, rounds)
            if number == 0 and trial.output.state == "equal":
                trial.output = _still_equal(trial, original, changed)
        trial.rounds += 1


def _blocks(trial: _Trial, sides: list[tuple[Worker, float]], number: int, rounds: int) -> None:
    """Pairs of blocks of one pair of processes; `sides` are the original and the changed, each with the seconds of a call."""
    block_s = trial.seconds / (2 * _PAIRS * rounds)
    each_s = sum(max(call_s, block_s) for _, call_s in sides)
    missing = (_PAIRS_LEAST - len(trial.pairs)) / (rounds - number)
    for index in range(max(math.ceil(missing), min(_PAIRS, int(trial.seconds / rounds / each_s)))):
        # A B B A: what drifts slowly falls on both sides alike.
        order = (0, 1) if index % 2 == 0 else (1, 0)
        walls: dict[int, list[float]] = {}
        for side in order:
            worker, call_s = sides[side]
            calls, skip = _calls(call_s, block_s)
            asked = {"calls": calls, "skip": skip}
            walls[side] = worker.call(f"{_AGENT}:block", asked, list[float], timeout_s=trial.longest_s(changed=side == 1))
        trial.pairs.append(BlockPair(np.asarray(walls[0]), np.asarray(walls[1]), number))


def _calls(call_s: float, block_s: float) -> tuple[int, int]:
    """(calls of a block, calls before them whose times are thrown away)."""
    calls = int(min(5000, max(1, block_s / max(call_s, 1e-7))))
    return calls, (1 if calls >= 3 else 0)


def _outputs(trial: _Trial, original: Worker, changed: Worker) -> OutputCheck:
    original.call(f"{_AGENT}:keep_outputs", {"path": _kept(trial)}, int, timeout_s=trial.longest_s(changed=False))
    found = _checked(trial, changed, changed=True)
    if found.state != "differs":
        return found
    # Before the change is blamed: does a second process without it make the same?
    with _worker(trial, changed=False) as other:
        _prepare(trial, other, changed=False)
        again = _checked(trial, other, changed=False)
    if again.state == "equal":
        return found
    return OutputCheck(state="unknown", tolerance=found.tolerance, reason="the results differ from process to process without any change")


def _kept(trial: _Trial) -> str:
    return str(trial.folder / "outputs")


def _checked(trial: _Trial, worker: Worker, *, changed: bool, later: bool = False) -> OutputCheck:
    """Outputs of a worker against those that were kept of the original; `later` makes new calls for it."""
    asked = {"path": _kept(trial), "tolerance": trial.change.tolerance, "any_float": trial.change.any_float, "later": later}
    return worker.call(f"{_AGENT}:check_outputs", asked, OutputCheck, timeout_s=trial.longest_s(changed=changed))


def _still_equal(trial: _Trial, original: Worker, changed: Worker) -> OutputCheck:
    """Outputs once more after the blocks: what is right in the first calls may go wrong in later ones."""
    found = _checked(trial, changed, changed=True, later=True)
    if found.state != "differs":
        return trial.output
    if _checked(trial, original, changed=False, later=True).state == "equal":
        return msgspec.structs.replace(found, reason=f"after many calls {found.reason}")
    return OutputCheck(
        state="unknown", tolerance=found.tolerance, reason="the results change in the course of many calls, with or without the change"
    )


@contextmanager
def _worker(trial: _Trial, *, changed: bool) -> Iterator[Worker]:
    spec = trial.change.before(trial.spec, trial.machine) if changed else trial.spec
    limits = Limits(wall_s=trial.longest_s(changed=changed), cpus=trial.change.cpus(trial.machine) if changed else None)
    # One hash seed for both, since the order of a set is no output of the change; compiled code goes when the trials are over.
    surroundings = {"PYTHONHASHSEED": "0", "TORCHINDUCTOR_CACHE_DIR": str(trial.folder / "compiled")}
    with Worker(limits=limits, environment={**surroundings, **worker_environment(spec)}, preload=EVERY_LEVEL) as worker:
        yield worker


def _prepare(trial: _Trial, worker: Worker, *, changed: bool) -> ChangedReport:
    spec = trial.change.before(trial.spec, trial.machine) if changed else trial.spec
    arguments: dict[str, Any] = {"spec": spec, "change": trial.change.name if changed else ""}
    return worker.call(f"{_AGENT}:prepare_changed", arguments, ChangedReport, timeout_s=trial.longest_s(changed=changed))


def _cold(trial: _Trial, report: Report) -> None:
    """First calls of fresh processes, each beside a later call of the same process."""
    for number in range(_COLD_STARTS):
        report(f"trying {trial.change.name}", number / _COLD_STARTS)
        with _worker(trial, changed=False) as worker:
            arguments = {"spec": trial.spec, "calls": _WARM_CALLS}
            seen = worker.call(f"{_AGENT}:first_and_later", arguments, ColdReport, timeout_s=trial.longest_s(changed=True))
        trial.pairs.append(BlockPair(np.array([seen.first_s]), np.array([seen.later_s])))
        trial.output = seen.output if trial.output.state != "differs" else trial.output
    trial.rounds = _COLD_STARTS
