"""`bench`: how long does it take, really? Fresh processes in random order until the budget is spent, every call kept, the Run written as it goes.

What a process does is the harness's, what the numbers mean `diagnosis.benched`'s; here is decided what is measured and what is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ridgeline.core import Benchmark, BenchReport, Caution, UsageError
from ridgeline.diagnosis.benched import bench_report
from ridgeline.machine import ClockWatch, read_machine
from ridgeline.measurement.bench import BenchPlan, Version, run_benchmarks
from ridgeline.targets import TargetSpec, parse_target

from .benching import BenchRecord, Earlier, callable_target, detectable_before, earlier_run

if TYPE_CHECKING:
    from ridgeline.core import Run
    from ridgeline.notebook import Notebook

__all__ = ["bench"]

Report = Callable[[str, float | None], None]
DEFAULT_BUDGET_S = 10.0
#: CPUs that others keep busy; below it the kernel's own work looks the same.
_OTHER_CPUS = 0.1


def bench(
    target: TargetSpec | str | Callable[[], Any],
    *,
    processes: int | None = None,
    samples: int | None = None,
    time_budget_s: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    inputs: str | Iterable[Any] | None = None,
    synchronise: str | Callable[..., Any] = "auto",
    cache: Literal["warm", "cold"] = "warm",
    soak: bool = False,
    tune: bool = False,
    lock_gpu_hz: float | None = None,
    notebook: Notebook | None = None,
    resume: str | None = None,
    report: Report | None = None,
    command: str = "",
    run_to: Callable[[Run], None] | None = None,
) -> BenchReport:
    """Measure how long a target takes, in fresh processes.

    Args:
        target: a function of no arguments, a target as it is written on the command line, or a spec from `targets.parse_target`. A function that
            can be imported by its module and name is measured in processes of its own; a lambda or one inside another function only in this one.
        processes: exactly so many; as many as fit into the budget, at least five, if null.
        samples: calls of a process after its first; as many as fit if null.
        time_budget_s: seconds for everything, about; ten if null.
        seed: of the order of the processes and of generated inputs.
        threads: for a function or text; null to let the target decide.
        inputs: a function of one argument is called with each of them, in random order: a function that returns them, as `file.py:function`, or a
            list, mapping name → input or generator, with which all is measured in this process. Of a model: a file, folder or such a function.
        synchronise: how a function's results are waited for: `auto`, `none`, or a function, itself or as `file.py:function`.
        cache: `cold` empties the caches before every call.
        soak: load the machine until temperature, clock and times have levelled off before the first sample.
        tune: set what may be set for the measurement, and put it back.
        lock_gpu_hz: lock the clock of the GPU there.
        notebook: where the Run is kept; written as processes finish, so that an interrupted benchmark keeps them.
        resume: a run of the notebook that goes on: id, beginning of one, or `latest`.
        report: told a label and, where known, a fraction, for progress.
        command: the command line, for the record.
        run_to: told the finished Run.

    Returns:
        The report; its `run` is the id in the notebook, null where it was not kept.

    Raises:
        TargetFailed: the target raised, exited, crashed or ran out of time in every process.
        UsageError, ReadError, BackendUnavailable: see the message.
    """
    report = report or (lambda label, fraction: None)
    plan = BenchPlan(
        processes=processes,
        samples=samples,
        budget_s=time_budget_s or DEFAULT_BUDGET_S,
        cache=cache,
        soak=soak,
        tune=tune,
        lock_gpu_hz=lock_gpu_hz,
    )
    version, here = _version(target, threads, seed, inputs, synchronise)
    earlier = earlier_run(notebook, resume, version.spec, read_machine()) if resume is not None else None
    record = BenchRecord(version.spec, notebook, command, earlier)
    if notebook is not None and (before := detectable_before(notebook, version.spec, record.machine)):
        report(f"note: {before}", None)
    if here is not None:
        found = _measured_here(here, version, plan, seed, inputs, synchronise)
    else:
        found = _measured(version, plan, seed, record, earlier, report)
    run = record.finished(found)
    if run_to is not None:
        run_to(run)
    return record.told(bench_report(run))


def _version(
    target: TargetSpec | str | Callable[..., Any], threads: int | None, seed: int, inputs: Any, synchronise: str | Callable[..., Any]
) -> tuple[Version, Callable[..., Any] | None]:
    """What to spawn; and the function itself where it can only be called in this process."""
    if isinstance(target, TargetSpec):
        if inputs is not None or synchronise != "auto":
            raise UsageError("inputs and synchronise in the spec", found="beside it", remedy="give them to parse_target")
        return Version(spec=target, name=target.name), None
    if isinstance(target, str):
        if not (inputs is None or isinstance(inputs, str)) or not isinstance(synchronise, str):
            remedy = "write them as file.py:function, or give the function to measure itself"
            raise UsageError("inputs and synchronise as texts, for a target that is one", found="objects", remedy=remedy)
        spec = parse_target(target, threads=threads, seed=seed, input=inputs, synchronise=synchronise)
        return Version(spec=spec, name=spec.name), None
    return callable_target(target, threads or 0, inputs, synchronise)


def _measured(version: Version, plan: BenchPlan, seed: int, record: BenchRecord, earlier: Earlier | None, report: Report) -> Benchmark:
    left = earlier.left(plan) if earlier else plan
    if left is None:
        raise UsageError("a run with processes left to measure", found="all of them there", remedy="ask for more with --processes")

    def keep(index: int, found: Benchmark) -> None:
        if earlier is not None:
            earlier.refuse_other(found.target)
        record.keep(found)

    watch = ClockWatch()
    watch.start()
    try:
        (found,) = run_benchmarks([version], left, report=report, keep=keep, seed=seed + (earlier.processes if earlier else 0))
    except KeyboardInterrupt:
        record.save_now()
        raise
    if earlier is not None:
        earlier.refuse_other(found.target)
    return _beside(found, watch.stop().other_load)


def _beside(found: Benchmark, load: float | None) -> Benchmark:
    """The benchmark, with a word where other programs kept CPUs busy while it ran."""
    if load is None or load < _OTHER_CPUS:
        return found
    caution = Caution(
        code="interference", message=f"other programs kept {load:.1f} CPUs busy while this ran, in the mean",
        effect="calls may have waited for a CPU, a cache or the memory; the spread between processes holds some of it",
    )  # fmt: skip
    return msgspec.structs.replace(found, cautions=(*found.cautions, caution))


def _measured_here(
    call: Callable[..., Any], version: Version, plan: BenchPlan, seed: int, inputs: Any, synchronise: str | Callable[..., Any]
) -> Benchmark:
    from ridgeline.measurement.bench.here import bench_here

    if plan.processes not in (None, 1):
        what = f"{version.name}, which only exists in this process"
        raise UsageError("a function that can be imported, for several processes", found=what, remedy="define it at the top of a module")
    found = bench_here(call, version.name, plan, seed=seed, threads=version.spec.threads, inputs=inputs, synchronise=synchronise)
    what = version.name if inputs is None or isinstance(inputs, str) else f"the input of {version.name}"
    message = f"{what} exists only in this process, so it was measured here"
    effect = "what else this process does is in the times; define it at the top of a module, and fresh processes measure it"
    caution = Caution(code="in-this-process", message=message, effect=effect)
    return msgspec.structs.replace(found, cautions=(*found.cautions, caution))
