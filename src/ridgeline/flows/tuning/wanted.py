"""From what a person names to what the loop tunes: a specification, or a target that is deployed as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ridgeline.backends import BuildFailed, Job
from ridgeline.backends.deployments import EVERY_PRECISION, Look, deployment_of, job_of, space_of
from ridgeline.backends.digests import digest_of_sources
from ridgeline.core import Caution, Device, RooflineLeft, TuneReport, UsageError
from ridgeline.core.space import Value
from ridgeline.machine import Limits, Worker, read_machine
from ridgeline.targets import TargetSpec, parse_target
from ridgeline.targets.changes import Situation, registry
from ridgeline.tuning.space import Configurations

from .analytical import Analytical, roofline_guess
from .replay import Replay, replayed, subject_of
from .subjects import Jobs, Subject

__all__ = ["Ready", "of_replay", "of_spec", "of_target", "spec_of"]

Config = Mapping[str, Value]
Report = Callable[[str, float | None], None]
#: Runners whose kernels run on the cores that the probe measures.
_ON_THIS_CPU = ("c", "numba")
_LOOK_LIMIT_S, _ASK_LIMIT_S, _MOST_READ = 600.0, 120.0, 10_000_000
#: Seconds for one call of a deployment and for preparing it: a setting may make either many times as long.
_DEPLOYMENT_BUILD_S, _DEPLOYMENT_RUN_S = 300.0, 60.0


class Ready(NamedTuple):
    """What is to be tuned, with what its specification says of limits and of the search.

    Attributes:
        subject: for the loop; memory_bytes: of a worker, no limit if null.
        build_s, run_s: seconds that a configuration may take.
        strategy, options, trials, time_s, seed, objective: of the search, null where nobody has said.
        file: that is tuned, for the record; kind: of the target.
        shape: constants, what it is tuned for; how: parameter → how a person sets it.
        left_of: (configuration, seconds, progress) → what the roofline says is left of it; null where the work or the ceilings are not known.
        guess_of: (progress) → the guess of the roofline, null where it says nothing; null where the work or the device is not known.
        replayed: makes of the report that of a replay; null where something is measured.
        cautions: what was odd about it.
    """

    subject: Subject
    build_s: float
    run_s: float
    memory_bytes: int | None = None
    strategy: str | None = None
    options: Mapping[str, Any] = {}
    trials: int | None = None
    time_s: float | None = None
    seed: int | None = None
    objective: str | None = None
    file: str = ""
    kind: str = "kernel"
    shape: Mapping[str, Value] = {}
    how: Mapping[str, str] = {}
    left_of: Callable[[Config, float, Report], RooflineLeft | None] | None = None
    guess_of: Callable[[Report], Analytical | None] | None = None
    replayed: Callable[[TuneReport], TuneReport] | None = None
    cautions: tuple[Caution, ...] = ()


def spec_of(text: str) -> Any | None:
    """The specification that a text names; null where it names a target."""
    from .sources import read_spec

    lower = text.lower()
    if lower.endswith((".toml", ".json", ".json.gz")):
        return read_spec(text)
    place, colon, _ = text.rpartition(":")
    return read_spec(text) if colon and place.lower().endswith(".py") and _speaks_of_specs(place) else None


def _speaks_of_specs(path: str) -> bool:
    """Whether a Python file makes a specification. It is not run to find out: a target runs in a process of its own."""
    try:
        with open(os.path.expanduser(path), encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_READ)
    except (OSError, ValueError):
        return False
    return "tuning_spec" in text or "TuningSpec" in text


def of_replay(replay: Replay, seed: int) -> Ready:
    """A recording, from which runs are drawn by the seed; its search may take as long as it takes.

    Raises:
        UsageError: nothing was recorded.
    """
    subject = subject_of(replay, seed)
    return Ready(subject=subject, build_s=0.0, run_s=0.0, file=replay.file, replayed=replayed(replay, subject))


def of_spec(spec: Any, folder: str, *, device: Device | None = None, cache: str = "", runs: int | None = None) -> Ready:
    """A specification, made ready: its reference is worked out.

    Args:
        folder: for the reference, as long as the tuning goes on.
        device: whose limits constraints may look at where the driver does not say them, and whose ceilings count; for kernels of this CPU its own
            ceilings, probed, if null.
        cache: of what is compiled; runs: timed, of one attempt.
    """
    from .identity import identity_of_spec
    from .resolve import configurations_of, job_of, limits_in, reference_job

    configurations = configurations_of(spec, device, _limits_here(spec) if limits_in(spec) else None)
    limits, reference = spec.limits, ""
    right = reference_job(spec)
    if right is not None:
        reference = os.path.join(folder, "reference.npz")
        with Worker(limits=Limits(wall_s=limits.build_s + 100 * limits.run_s, memory_bytes=limits.memory_bytes)) as worker:
            worker.call("ridgeline.flows.tuning.reference:write_reference", {"job": right, "path": reference, "cache": cache}, list[str])
    subject = Jobs(
        spec.name, configurations, lambda config: job_of(spec, config, reference), default=spec.default or None, cache=cache,
        build_limit_s=limits.build_s, run_limit_s=limits.run_s, runs=runs, beside=identity_of_spec(spec, right),
    )  # fmt: skip
    search, ceilings = spec.search, _ceilings_of(spec, device)
    return Ready(
        subject=subject, build_s=limits.build_s, run_s=limits.run_s, memory_bytes=limits.memory_bytes, strategy=search.strategy,
        options=search.options, trials=search.trials, time_s=search.time_s, seed=search.seed, objective=search.objective,
        file=str(spec.kernel.options.get("source", "")) if spec.kernel.options else "", shape=spec.kernel.constants,
        left_of=_left_of(spec, ceilings), guess_of=_guess_of(spec, configurations, ceilings),
    )  # fmt: skip


def _limits_here(spec: Any) -> dict[str, int]:
    """What the driver says."""
    options = {name: value for name, value in spec.kernel.options.items() if isinstance(value, (str, int))}
    with Worker(limits=Limits(wall_s=_ASK_LIMIT_S)) as worker:
        return worker.call("ridgeline.backends.registry:limits", {"runner": spec.kernel.runner, "options": options}, dict[str, int])


def _ceilings_of(spec: Any, device: Device | None) -> Callable[[Report], Device] | None:
    """The device whose ceilings the work is held against; null where the work or the device is not known."""
    if (device is None and spec.kernel.runner not in _ON_THIS_CPU) or (spec.kernel.work.flop is None and spec.kernel.work.bytes is None):
        return None

    def ceilings(say: Report) -> Device:
        from ..probe import probe

        if device is not None:
            return device
        say("probing the ceilings of this machine", None)
        return probe(quick=True)

    return ceilings


def _left_of(spec: Any, ceilings: Callable[[Report], Device] | None) -> Callable[[Config, float, Report], RooflineLeft | None] | None:
    if ceilings is None:
        return None

    def left(config: Config, seconds: float, say: Report) -> RooflineLeft | None:
        from .left import roofline_left
        from .resolve import work_of

        work = work_of(spec, config)
        return roofline_left(ceilings(say), seconds, work.flop, work.bytes, [each.dtype for each in spec.kernel.arguments])

    return left


def _guess_of(spec: Any, configurations: Configurations, ceilings: Callable[[Report], Device] | None) -> Callable[[Report], Analytical | None] | None:
    return None if ceilings is None else lambda say: roofline_guess(spec, configurations, lambda: ceilings(say))


def of_target(target: TargetSpec | str, folder: str, *, arguments: Sequence[str] = (), precisions: bool = False, runs: int | None = None) -> Ready:
    """A deployment, looked at as it is.

    Args:
        folder: for the results that configurations are held to; precisions: whether lower precisions may be tried.

    Raises:
        UsageError: nothing of it can be tuned.
        RidgelineError: the target is not right, or fails.
    """
    spec = target if isinstance(target, TargetSpec) else parse_target(target, tuple(arguments))
    reference = os.path.join(folder, "reference.npz")
    with Worker(limits=Limits(wall_s=_LOOK_LIMIT_S)) as worker:
        found = worker.call("ridgeline.backends.deployments:look", {"spec": spec, "reference": reference}, Look)
    runner = deployment_of(found.info.kind)
    situation = Situation(spec=spec, info=found.info, machine=read_machine(), precisions=EVERY_PRECISION if precisions else frozenset())
    space = space_of(situation, runner, registry()[0], found.out_of_place)
    if not space.space.parameters:
        raise UsageError(f"something of {spec.name} that can be set", found="nothing", remedy="write a SPEC of its kernels")

    def job(config: Config) -> Job:
        try:
            return job_of(runner, spec, space, config, found, reference)
        except ValueError as error:
            raise BuildFailed(str(error), invalid=True) from error

    subject = Jobs(
        spec.name, Configurations(space.space), job, default=space.default, build_limit_s=_DEPLOYMENT_BUILD_S, run_limit_s=_DEPLOYMENT_RUN_S,
        runs=runs,
        beside={"modules": digest_of_sources(map(Path, found.modules)), **{f"package {name}": text for name, text in found.packages.items()}},
    )  # fmt: skip
    cautions = [*found.warnings]
    if found.unchecked:
        cautions.append(Caution(code="unchecked", message=f"results are not checked: {found.unchecked}", effect="a faster setting may be wrong"))
    return Ready(
        subject=subject,
        build_s=_DEPLOYMENT_BUILD_S,
        run_s=_DEPLOYMENT_RUN_S,
        file=spec.path or "",
        kind=found.info.kind,
        cautions=tuple(cautions),
        how=space.how,
    )
