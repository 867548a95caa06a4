"""`tune`: the best configuration of a kernel or a deployment with as few measurements as possible, and how sure that is.

Which configuration is tried is decided in `tuning.search`, which are run again in `tuning.finals`, what a time is worth in `backends.attempts`; here
is decided what is tuned, who measures, when it ends, and what is kept. Every trial is in the record as soon as it has ended.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ridgeline.core import Caution, Device, Facts, RidgelineError, RooflineLeft, Run, TargetInfo, TuneReport, UsageError, plugins
from ridgeline.core.executor import Executor, Piece
from ridgeline.device import find
from ridgeline.machine import Limits, Workers, commit_of, read_machine, software_versions
from ridgeline.model.learned.threads import one_blas_thread
from ridgeline.tuning.search import DEFAULT
from ridgeline.tuning.search import strategy as search_of
from ridgeline.tuning.search.several import Several

from .tuning.beginning import beginning
from .tuning.budget import Budget
from .tuning.concluding import concluded
from .tuning.loop import Builders, Loop
from .tuning.objectives import TIME, objectives_of
from .tuning.record import Head, Record
from .tuning.replay import Nobody, Replay, replay_of
from .tuning.subjects import Subject
from .tuning.wanted import Ready, of_replay, of_spec, of_target, spec_of

if TYPE_CHECKING:
    from ridgeline.core import Trial
    from ridgeline.notebook import Notebook

__all__ = ["tune", "tune_subject"]

Report = Callable[[str, float | None], None]
#: Runs of one attempt that its worker may take in all, beside building, and what else it does.
_RUNS_OF_ATTEMPT, _ASIDE_S = 60, 30.0
_PRELOAD = "ridgeline.backends.attempts"
#: Kinds of plugins that an attempt looks up; processes of different environments that are kept, each with the libraries that it has loaded.
_PLUGINS, _PROCESSES = ("runners", "changes", "targets", "synchronisers"), 4


def tune(
    target: Any,
    *,
    record: str | None = None,
    resume: bool = False,
    strategy: str | None = None,
    options: Mapping[str, Any] | None = None,
    priors: Sequence[str] = (),
    objectives: str | Sequence[str] | None = None,
    trials: int | None = None,
    time_s: float | None = None,
    seed: int | None = None,
    workers: int = 1,
    precisions: bool = False,
    device: Device | str | None = None,
    runs: int | None = None,
    executor: Executor | None = None,
    notebook: Notebook | None = None,
    report: Report | None = None,
    command: str = "",
    cache: str = "",
    run_to: Callable[[Run], None] | None = None,
) -> TuneReport:
    """Search, run the likely best again, and say what was found.

    Args:
        target: a SPEC (`SPEC.toml`, `file.py:NAME`, a problem in the T1 format, or the object), a target as `bench` takes it, or a recorded space (a
            record, a cache of Kernel Tuner, T4 results), which answers in place of a device: nothing is measured then.
        record: file of the trials; one in the folder of temporary files that goes with the tuning if null.
        resume: go on with the trials of the record.
        priors: recordings of the same kernel from elsewhere, from which the search begins: records, caches of Kernel Tuner, T4 results.
        strategy, options: of the search, the options on top of those that the SPEC gives for it.
        objectives: what is made small, of `time`, `memory` and `energy`, up to all three, the one that decides about the best first; null for what
            the SPEC says, else time.
        trials: different configurations; time_s: wall seconds in all; seed: null for what the SPEC says, as strategy is, else the default search, 200
            trials (where no time is given) and 0.
        workers: that compile at once; measured is one after the other.
        precisions: whether a deployment may be given a lower precision, which changes its results.
        device: of the catalogue, or its name, beside a SPEC: its limits for constraints where the runner does not say them, its ceilings for the
            roofline.
        runs: timed, of one attempt; executor: that measures, a process of this machine if null.
        notebook: where the Run is kept; report: told what is going on and the part done; command: the command line, for the record.
        cache: folder of what is compiled, this user's own if empty; run_to: told the Run, with all trials.

    Returns:
        The report, also of an interrupted tuning: `stopped` says so.

    Raises:
        UsageError, ReadError, BackendUnavailable, PluginError: see the message.
        TargetFailed: the reference or the deployment itself does not run.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ridgeline-tune-", ignore_cleanup_errors=True) as folder:
        say = report or _nothing
        say("making ready", None)
        ready = _ready(target, folder, precisions=precisions, device=device, runs=runs, cache=cache, seed=seed or 0)
        if ready.replayed is not None and record is not None:
            remedy = "leave --record out, or write the trials with --export t4"
            raise UsageError("a record of what is measured", found=f"a replay of {ready.file}", remedy=remedy)
        wanted = objectives_of(objectives if objectives is not None else ready.objective)
        if wanted != TIME:
            ready.subject.aim(wanted)
        limits = Limits(wall_s=2 * ready.build_s + _RUNS_OF_ATTEMPT * ready.run_s + _ASIDE_S, memory_bytes=ready.memory_bytes)
        budget_given = trials is not None or time_s is not None
        with contextlib.ExitStack() as stack:
            # Looking through the metadata of the environment takes as long as starting: once is enough for all.
            told = Piece("ridgeline.core.plugins:take", {"points": plugins.found(_PLUGINS)})
            made = executor or (Nobody() if ready.replayed else stack.enter_context(_measuring(limits, told, ready)))
            builders = None
            if workers > 1 and ready.subject.compiles:
                builders = Builders(stack.enter_context(Workers(workers, limits=limits, preload=_PRELOAD, first=told)), workers)
            return tune_subject(
                ready.subject,
                made,
                record=record or os.path.join(folder, "trials.jsonl"),
                kept=record is not None,
                resume=resume,
                strategy=strategy or ready.strategy or DEFAULT,
                options={**(ready.options if strategy in (None, ready.strategy) else {}), **(options or {})},
                priors=priors,
                trials=trials if budget_given else ready.trials,
                time_s=time_s if budget_given else ready.time_s,
                seed=seed if seed is not None else ready.seed or 0,
                builders=builders,
                ready=ready,
                # Nothing that is kept there was not measured.
                notebook=None if ready.replayed else notebook,
                report=say,
                command=command,
                run_to=run_to,
                started=started,
            )


def _measuring(limits: Limits, told: Piece, ready: Ready) -> Workers:
    """Who measures: one process at a time, which is replaced where it may have been damaged."""
    after = _limits_of_phases(ready.build_s, ready.run_s)
    return Workers(1, limits=limits, preload=_PRELOAD, first=told, spoiled=_spoiled, kept=_PROCESSES, limit_after=after)


def _ready(target: Any, folder: str, *, precisions: bool, device: Device | str | None, runs: int | None, cache: str, seed: int) -> Ready:
    on = find(device) if isinstance(device, str) else device
    replay = target if isinstance(target, Replay) else replay_of(target) if isinstance(target, str) else None
    spec = target if _is_spec(target) else spec_of(target) if isinstance(target, str) and replay is None else None
    if on is not None and spec is None:
        found = "a target" if replay is None else "a recording"
        raise UsageError("a device beside a SPEC", found=found, remedy="leave it out: a deployment is tuned where it runs")
    if replay is not None:
        return of_replay(replay, seed)
    if spec is not None:
        return of_spec(spec, folder, device=on, cache=cache, runs=runs)
    return of_target(target, folder, precisions=precisions, runs=runs)


def _is_spec(target: Any) -> bool:
    config = getattr(type(target), "__struct_config__", None)
    return config is not None and str(config.tag).startswith("ridgeline.tuning/")


def tune_subject(
    subject: Subject,
    executor: Executor,
    *,
    record: str,
    kept: bool = True,
    resume: bool = False,
    strategy: str = DEFAULT,
    options: Mapping[str, Any] | None = None,
    priors: Sequence[str] = (),
    trials: int | None = None,
    time_s: float | None = None,
    seed: int = 0,
    builders: Builders | None = None,
    ready: Ready | None = None,
    notebook: Notebook | None = None,
    report: Report | None = None,
    command: str = "",
    run_to: Callable[[Run], None] | None = None,
    started: float | None = None,
) -> TuneReport:
    """`tune` of anything that has a space and answers.

    Args:
        subject: what is tuned; executor: that measures.
        kept: whether the record stays, so that the report names it; ready: what else is known of the subject.
        builders: who compiles beforehand; started: when it began, by `time.monotonic`, now if null; the others as of `tune`.
    """
    say, machine, software = report or _nothing, read_machine(), software_versions()
    head = Head(
        name=subject.name, space=subject.configurations.space, identity=subject.identity, software=software, machine=machine.description,
        fingerprint=machine.fingerprint, unit=subject.unit, objectives=subject.objectives,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    if priors and subject.objectives != TIME:
        raise UsageError("time alone as objective beside recordings", found=", ".join(subject.objectives), remedy="leave --prior or --objective out")
    guess_of = ready.guess_of if ready is not None and subject.objectives == TIME else None
    begun = beginning(subject, strategy, priors, seed, say, guess_of)
    # What is wrong with options or limits leaves no record that would have to be gone on with.
    Budget(trials, time_s)
    search = search_of(strategy, subject.configurations, seed, **(options or {}), **begun.options)
    with Record(record, head, resume=resume, configurations=subject.configurations) as opened:
        for remark in opened.remarks:
            say(f"warning: {remark}", None)
        budget = Budget(trials, time_s, sum(trial.spent_s for trial in opened.trials), started)
        several = len(subject.objectives) > 1
        asked = Several(search, len(subject.objectives), seed) if several else search
        loop = Loop(subject, asked, opened, executor, budget, say, builders=builders, seed=seed)
        # The products of matrices of a search are small, and threads that wait for the next one take time from what is measured.
        with one_blas_thread():
            loop.search()
            if several:
                loop.front()
            standing, configs = loop.finals()
            if several:
                # What the finals have moved onto it.
                loop.front(part=1.0)
            found = concluded(loop, standing, configs, strategy=strategy, seed=seed, machine=machine.description, software=software)
        found = msgspec.structs.replace(
            found, record=record if kept else None, fingerprint=machine.fingerprint,
            shape=dict(ready.shape) if ready else {}, how=dict(ready.how) if ready else {}, roofline=_left(found, ready, say),
            warnings=(*(ready.cautions if ready else ()), *begun.cautions, *found.warnings), priors=begun.believed(search),
        )  # fmt: skip
        found = ready.replayed(found) if ready is not None and ready.replayed is not None else found
        run = _run(found, loop.known.trials, ready, command)
        found = _kept(run, notebook)
        if run_to is not None:
            run_to(run)
        if loop.interrupt is not None and type(loop.interrupt) is not KeyboardInterrupt:
            # Asked to end at once, not to stop measuring.
            raise loop.interrupt
    return found


def _left(found: TuneReport, ready: Ready | None, say: Report) -> RooflineLeft | None:
    if ready is None or ready.left_of is None or found.best is None or found.objective != "time" or found.stopped == "interrupted":
        return None
    try:
        return ready.left_of(found.best.config, found.best.objective, say)
    except RidgelineError:
        # It is beside the point of a tuning.
        return None


def _run(found: TuneReport, trials: list[Trial], ready: Ready | None, command: str) -> Run:
    from ridgeline.notebook import new_run_id

    file, kind = (ready.file, ready.kind) if ready is not None else ("", "kernel")
    target = msgspec.convert({"spec": found.target, "kind": kind, "name": found.target}, TargetInfo)
    return Run(
        id=new_run_id(),
        verb="tune",
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        software=found.software,
        commit=commit_of(file) if file and os.path.exists(file) else None,
        method=f"{found.strategy} search, seed {found.seed}: {found.unique_evaluations} configurations, {found.trials} trials",
        facts=Facts(target=target, machine=read_machine(), warnings=found.warnings),
        command=command,
        tuned=found,
        trials=tuple(trials),
    )


def _kept(run: Run, notebook: Notebook | None) -> TuneReport:
    """The report, its Run kept; a notebook that cannot take it never costs the result."""
    assert run.tuned is not None
    if notebook is None:
        return run.tuned
    found = msgspec.structs.replace(run.tuned, run=run.id)
    try:
        notebook.save(msgspec.structs.replace(run, tuned=found))
    except RidgelineError as error:
        caution = Caution(code="not-kept", message=str(error), effect="this tuning is in no notebook")
        return msgspec.structs.replace(run.tuned, warnings=(*run.tuned.warnings, caution))
    return found


def _limits_of_phases(build_s: float, run_s: float) -> Callable[[Any], float | None]:
    """Seconds that the worker itself may take for a phase: it ends by its own alarm before, unless the kernel has shut that off."""
    allowed = {"build": build_s, "load": build_s, "run": 3 * run_s, "timing": _RUNS_OF_ATTEMPT * run_s}
    return lambda phase: None if phase not in allowed else allowed[phase] + _ASIDE_S / 2


def _spoiled(value: Any) -> bool:
    return bool(getattr(value, "new_worker", False))


def _nothing(label: str, fraction: float | None) -> None:
    pass
