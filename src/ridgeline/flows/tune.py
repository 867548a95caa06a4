"""`tune`: the best configuration of a kernel or a deployment with as few measurements as possible, and how sure that is.

Which configuration is tried is decided in `tuning.search`, which are run again in `tuning.finals`, what a time is worth in `backends.attempts`; here
is decided what is tuned, who measures, when it ends, and what is kept. Every trial is in the record as soon as it has ended.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ridgeline.core import Caution, Facts, RidgelineError, RooflineLeft, Run, TargetInfo, TuneReport
from ridgeline.core.executor import Executor
from ridgeline.machine import Limits, Workers, commit_of, read_machine, software_versions
from ridgeline.tuning.search import DEFAULT
from ridgeline.tuning.search import strategy as search_of

from .tuning.budget import Budget
from .tuning.concluding import concluded
from .tuning.loop import Builders, Loop
from .tuning.record import Head, Record
from .tuning.subjects import Subject
from .tuning.wanted import Ready, of_spec, of_target, spec_of

if TYPE_CHECKING:
    from ridgeline.core import Trial
    from ridgeline.notebook import Notebook

__all__ = ["tune", "tune_subject"]

Report = Callable[[str, float | None], None]
#: Runs of one attempt that its worker may take in all, beside building, and what else it does.
_RUNS_OF_ATTEMPT, _ASIDE_S = 60, 30.0
_PRELOAD = "ridgeline.backends.attempts"


def tune(
    target: Any,
    *,
    record: str | None = None,
    resume: bool = False,
    strategy: str | None = None,
    options: Mapping[str, Any] | None = None,
    trials: int | None = None,
    time_s: float | None = None,
    seed: int | None = None,
    workers: int = 1,
    precisions: bool = False,
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
        target: a SPEC (`SPEC.toml`, `file.py:NAME`, a problem in the T1 format, or the object), or a target as `bench` takes it.
        record: file of the trials; one in the folder of temporary files that goes with the tuning if null.
        resume: go on with the trials of the record.
        strategy, options: of the search; trials: different configurations; time_s: wall seconds in all; seed: null for what the SPEC says, else the
            default search, 200 trials (where no time is given) and 0.
        workers: that compile at once; measured is one after the other.
        precisions: whether a deployment may be given a lower precision, which changes its results.
        runs: timed, of one attempt; executor: that measures, a process of this machine if null.
        notebook: where the Run is kept; report: told what is going on and the part done; command: the command line, for the record.
        cache: folder of what is compiled, this user's own if empty; run_to: told the Run, with all trials.

    Returns:
        The report, also of an interrupted tuning: `stopped` says so.

    Raises:
        UsageError, ReadError, BackendUnavailable, PluginError: see the message.
        TargetFailed: the reference or the deployment itself does not run.
    """
    with tempfile.TemporaryDirectory(prefix="ridgeline-tune-", ignore_cleanup_errors=True) as folder:
        spec = target if _is_spec(target) else spec_of(target) if isinstance(target, str) else None
        say = report or _nothing
        say("making ready", None)
        ready = of_target(target, folder, precisions=precisions, runs=runs) if spec is None else of_spec(spec, folder, cache=cache, runs=runs)
        limits = Limits(wall_s=2 * ready.build_s + _RUNS_OF_ATTEMPT * ready.run_s + _ASIDE_S, memory_bytes=ready.memory_bytes)
        budget_given = trials is not None or time_s is not None
        with contextlib.ExitStack() as stack:
            workers_of_one = Workers(1, limits=limits, preload=_PRELOAD, spoiled=_spoiled, limit_after=_limits_of_phases(ready.build_s, ready.run_s))
            made = executor or stack.enter_context(workers_of_one)
            builders = None
            if workers > 1 and ready.subject.compiles:
                builders = Builders(stack.enter_context(Workers(workers, limits=limits, preload=_PRELOAD)), workers)
            return tune_subject(
                ready.subject,
                made,
                record=record or os.path.join(folder, "trials.jsonl"),
                kept=record is not None,
                resume=resume,
                strategy=strategy or ready.strategy or DEFAULT,
                options=options if options is not None else ready.options if strategy in (None, ready.strategy) else {},
                trials=trials if budget_given else ready.trials,
                time_s=time_s if budget_given else ready.time_s,
                seed=seed if seed is not None else ready.seed or 0,
                builders=builders,
                ready=ready,
                notebook=notebook,
                report=say,
                command=command,
                run_to=run_to,
            )


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
    trials: int | None = None,
    time_s: float | None = None,
    seed: int = 0,
    builders: Builders | None = None,
    ready: Ready | None = None,
    notebook: Notebook | None = None,
    report: Report | None = None,
    command: str = "",
    run_to: Callable[[Run], None] | None = None,
) -> TuneReport:
    """`tune` of anything that has a space and answers.

    Args:
        subject: what is tuned; executor: that measures.
        kept: whether the record stays, so that the report names it; ready: what else is known of the subject.
        builders: who compiles beforehand; the others as of `tune`.
    """
    say, machine, software = report or _nothing, read_machine(), software_versions()
    head = Head(
        name=subject.name, space=subject.configurations.space, identity=subject.identity, software=software, machine=machine.description,
        fingerprint=machine.fingerprint, unit=subject.unit, started=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    with Record(record, head, resume=resume) as opened:
        for remark in opened.remarks:
            say(f"warning: {remark}", None)
        budget = Budget(trials, time_s, sum(trial.spent_s for trial in opened.trials))
        search = search_of(strategy, subject.configurations, seed, **(options or {}))
        loop = Loop(subject, search, opened, executor, budget, say, builders=builders, seed=seed)
        loop.search()
        standing, configs = loop.finals()
        found = concluded(loop, standing, configs, strategy=strategy, seed=seed, machine=machine.description, software=software)
        found = msgspec.structs.replace(
            found, record=record if kept else None, fingerprint=machine.fingerprint,
            shape=dict(ready.shape) if ready else {}, roofline=_left(found, ready, say),
            warnings=(*(ready.cautions if ready else ()), *found.warnings),
        )  # fmt: skip
        run = _run(found, loop.known.trials, ready, command)
        found = _kept(run, notebook)
        if run_to is not None:
            run_to(run)
        if loop.interrupt is not None and type(loop.interrupt) is not KeyboardInterrupt:
            # Asked to end at once, not to stop measuring.
            raise loop.interrupt
    return found


def _left(found: TuneReport, ready: Ready | None, say: Report) -> RooflineLeft | None:
    if ready is None or ready.left_of is None or found.best is None or found.stopped == "interrupted":
        return None
    say("probing the ceilings of this machine", None)
    try:
        return ready.left_of(found.best.config, found.best.objective)
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
