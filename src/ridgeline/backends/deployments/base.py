"""What all runners of deployments have in common: a target prepared as it always is, with the settings and changes of a configuration applied.

A deployment is a model with its runtime, or a program: what is called is there already, and its kernel is one call, waited for as `targets` waits.
Preparing is done by `targets`, a change by itself; this room decides in which order changes are applied and how several become one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.core import Caution, NotComparable, RidgelineError, TargetInfo, UsageError
from ridgeline.core.space import Value
from ridgeline.machine import read_machine, software_versions
from ridgeline.measurement.outputs import compare, leaves
from ridgeline.measurement.seeding import seed_everything
from ridgeline.targets import Prepared, ProcessFlavour, TargetSpec, parse_target, prepare, worker_environment
from ridgeline.targets.changes import REORDERED, Applied, Change, Situation, registry

from ..base import Argument, BuildFailed, Check, Environment, Job, Kernel, RunFailed, Runner
from ..digests import digest, digest_of_source, digest_of_sources, inputs_of, options_of
from ..registry import ready
from ..registry import registry as runners
from ..surroundings import environment
from .files import files_of, modules_loaded, packages_loaded
from .results import Array, arrays_of, as_expected, outputs_of
from .space import DeploymentSpace, Setting, parameter_of

__all__ = ["Deployment", "Look", "deployment_of", "job_of", "look", "target_of"]

#: As every instrument that compares results of processes has it.
_SEED = 12345
#: What changes how runtimes and interpreters behave, beside threads and memory.
_VARIABLES = r"(ORT|ONNX|OV|OPENVINO|XNNPACK|TORCH|PYTORCH|TORCHINDUCTOR|TRITON|ONEDNN|DNNL|CUDA|NUMBA)_\w+|PYTHON(OPTIMIZE|MALLOC|DEVMODE|JIT)"
_OF_A_PROCESS = "every call is a process of its own, whose results are not looked at"


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of a deployment as it is.

    Args:
        info: what was prepared.
        outputs: of a call, to be checked; empty where they cannot be.
        unchecked: why outputs cannot be checked, in a sentence; empty where they can.
        out_of_place: change → why it has no place in this target, which only the prepared one shows.
        modules: source files of the user's own that were imported for it; packages: installed ones with their versions.
        warnings: of preparing.
    """

    info: TargetInfo
    outputs: tuple[Argument, ...] = ()
    unchecked: str = ""
    out_of_place: dict[str, str] = {}
    modules: tuple[str, ...] = ()
    packages: dict[str, str] = {}
    warnings: tuple[Caution, ...] = ()


class Deployment(Runner):
    """Base of a runner of deployments. A configuration's values are settings by their names, and changes by `parameter_of`.

    Attributes:
        package, extra: what it needs beside ridgeline, and the extra that brings it; empty for nothing.
        names: of all settings that it may have.
        kinds: kinds of targets that it runs.
        covers: change → setting that has it among its values.
        pools: whether the number of threads is given by variables of the environment.
        alone: whether every job needs a process of its own.
    """

    options: Mapping[str, str] = {"target": "the target: a text as on the command line, or the fields of a TargetSpec"}
    parallel = False
    package = extra = ""
    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    covers: Mapping[str, str] = {}
    pools = False
    alone = False

    def missing(self) -> str:
        """Its package."""
        there = not self.package or find_spec(self.package) is not None
        return "" if there else f"the package {self.package}: pip install 'ridgeline[{self.extra}]'"

    def settings(self, situation: Situation) -> Sequence[Setting]:
        """What the runtime can be set to for this target; pure."""
        return ()

    def constraints(self, situation: Situation) -> Sequence[tuple[frozenset[str], str]]:
        """(parameters that must be there, constraint over them); pure."""
        return ((frozenset({"one_cpu", "threads"}), "not one_cpu or threads == 1"),)

    def excludes(self, one: Change, other: Change) -> bool:
        """Whether two changes cannot be made one by `apply`; pure."""
        return False

    def apply(self, prepared: Prepared, changes: Sequence[Change], values: Mapping[str, Value]) -> Applied:
        """The target with settings and changes, which are in order of name; one after the other by default.

        Raises:
            NotComparable: a change has no place in this target.
            Exception: whatever the libraries raise.
        """
        applied = Applied(call=prepared.call, synchronise=prepared.synchronise)
        for change in changes:
            applied = change.apply(prepared)
            prepared = msgspec.structs.replace(prepared, call=applied.call, synchronise=applied.synchronise)
        return applied

    def identity(self, job: Job) -> dict[str, str]:
        """The target with its files, the software, the machine, and variables that change runtimes; `files` says what cannot be known."""
        spec, machine = target_of(job), read_machine()
        return {
            **options_of(job),
            **inputs_of(job),
            "sources": digest_of_sources(files_of(spec)),
            "input": _digest_of_inputs(Path(spec.input)) if spec.input else "",
            "software": "; ".join(f"{name} {version}" for name, version in sorted(software_versions().items())),
            "device": f"{machine.fingerprint}; {machine.cpus_usable} CPUs",
            "variables": environment(_VARIABLES),
        }

    def environment(self, job: Job) -> Environment:
        """Variables and CPUs as its changes ask for them."""
        spec, changes = _shaped(job)
        machine = read_machine()
        cpus = next((chosen for change in changes if (chosen := change.cpus(machine)) is not None), None)
        # One order of sets for all, as it is no output of a change.
        seed = {"PYTHONHASHSEED": "0"} if self.alone else {}
        variables = worker_environment(spec) if self.pools else spec.environment
        return Environment(variables={**seed, **variables}, cpus=cpus, alone=self.alone)

    def by_wall(self, job: Job) -> bool:
        """It does."""
        return True

    def load(self, job: Job, built: Mapping[str, str]) -> Kernel:
        """Prepare the target and apply what the configuration asks for; the call is made once, since some changes do their work then.

        Raises:
            BuildFailed: the runtime refuses the configuration, or a change has no place in this target.
            RidgelineError: the target is not right, whatever the configuration, or a value has a name that is none.
        """
        _seed()
        self._refuse_unknown(job)
        spec, changes = _shaped(job)
        prepared = prepare(spec)
        try:
            applied = self.apply(prepared, changes, job.values)
            if isinstance(prepared.flavour, ProcessFlavour):
                applied.restore = _nothing
            kernel = _kernel(applied, job.arguments, prepared)
            kernel.run()
        except NotComparable as error:
            raise BuildFailed(str(error), invalid=True) from error
        except Exception as error:  # whatever a runtime raises where an option does not suit it
            raise BuildFailed(_said(error)) from error
        kernel.reset()
        return kernel

    def _refuse_unknown(self, job: Job) -> None:
        known = {*self.names, *(parameter_of(change) for change in registry()[0])}
        unknown = sorted(set(job.values) - known)
        if unknown:
            near = get_close_matches(unknown[0], known, 1)
            remedy = f"write {near[0]}" if near else f"use {', '.join(sorted(known))}"
            raise UsageError(f"settings of {self.name} and changes of the registry", found=", ".join(unknown), remedy=remedy)


class _Kernel:
    """One call of a deployment, waited for."""

    def __init__(self, applied: Applied, outputs: tuple[Argument, ...], close: Callable[[], None]) -> None:
        self._call, self._synchronise, self._restore = applied.call, applied.synchronise, applied.restore
        self._outputs, self._close = outputs, close
        self._results: list[Any] = []

    def run(self) -> float | None:
        try:
            result = self._call()
            if self._synchronise is not None:
                self._synchronise(result)
        except Exception as error:  # the target's own
            raise RunFailed(_said(error)) from error
        self._results = [result]
        return None

    def outputs(self) -> Mapping[str, Array]:
        found = {name: array for result in self._results for name, array in arrays_of(leaves(self._restore(result))).items()}
        return as_expected(found, self._outputs)

    def reset(self) -> None:
        self._results = []

    def close(self) -> None:
        self.reset()
        self._call = self._synchronise = None  # type: ignore[assignment]
        self._close()


class _ProcessKernel(_Kernel):
    """One process of a deployment, which its watching sees from outside."""

    def __init__(self, applied: Applied, outputs: tuple[Argument, ...], prepared: Prepared) -> None:
        super().__init__(applied, outputs, prepared.close)
        self._samples = prepared.flavour.samples if isinstance(prepared.flavour, ProcessFlavour) else []

    def memory_of_run(self) -> float:
        self.run()
        return float(self._samples[-1].max_rss_bytes or 0) if self._samples else 0.0


def _kernel(applied: Applied, outputs: tuple[Argument, ...], prepared: Prepared) -> _Kernel:
    process = isinstance(prepared.flavour, ProcessFlavour)
    return _ProcessKernel(applied, outputs, prepared) if process else _Kernel(applied, outputs, prepared.close)


def deployment_of(kind: str) -> Deployment:
    """The runner of a kind of target, by what preparing it has found (`TargetInfo.kind`).

    Raises:
        UsageError: there is none.
        BackendUnavailable: what it needs is missing.
    """
    found = next((runner for runner in runners()[0] if isinstance(runner, Deployment) and kind in runner.kinds), None)
    if found is None:
        raise UsageError("a target that a runner deploys", found=f"a {kind} target", remedy="write a SPEC of its kernel")
    ready(found.name)
    return found


def look(spec: TargetSpec, reference: str) -> Look:
    """Prepare a deployment as it is and keep the results of a call; call it in a worker of its own.

    Results that change from call to call cannot be checked. That they change from process to process shows where the default configuration, run in
    another, is found to be wrong.

    Args:
        reference: path of the .npz that is written.

    Raises:
        RidgelineError: the target is not right, or fails.
    """
    _seed()
    prepared = prepare(spec)
    process = isinstance(prepared.flavour, ProcessFlavour)
    found = [[] if process else leaves(_waited(prepared)) for _ in range(2)]
    unchecked = _OF_A_PROCESS if process else ""
    if not process:
        same = compare(found[:1], found[1:], REORDERED)
        # Against itself: a difference is one from call to call.
        unchecked = {"equal": "", "unknown": same.reason}.get(same.state, f"the results change from call to call: {same.reason}")
    arrays = {} if unchecked else arrays_of(found[1])
    if arrays:
        import numpy as np

        with open(reference, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    out_of_place = _out_of_place(prepared)
    prepared.close()
    return Look(
        info=prepared.info, outputs=outputs_of(arrays), unchecked=unchecked, out_of_place=out_of_place, modules=tuple(modules_loaded()),
        packages=packages_loaded(), warnings=tuple(prepared.warnings),
    )  # fmt: skip


def _out_of_place(prepared: Prepared) -> dict[str, str]:
    found: dict[str, str] = {}
    for change in registry()[0]:
        if prepared.info.kind in change.kinds:
            try:
                change.place(prepared)
            except Exception as error:  # a stranger's, or a library's that is missing
                found[change.name] = f"{error.expected} is what it needs; found: {error.found}" if isinstance(error, RidgelineError) else _said(error)
    return found


def job_of(runner: Deployment, spec: TargetSpec, space: DeploymentSpace, values: Mapping[str, Value], found: Look, reference: str = "") -> Job:
    """A configuration of a deployment as a job.

    Args:
        values: of the active parameters.
        found: of the deployment as it is.
        reference: what `look` has written.
    """
    check = Check(reference=reference if found.outputs else "", relative=space.tolerance(values))
    return Job(runner=runner.name, values=dict(values), options={"target": msgspec.to_builtins(spec)}, arguments=found.outputs, check=check)


def target_of(job: Job) -> TargetSpec:
    """The target of a job.

    Raises:
        UsageError: it names none, or one that is not right.
    """
    given = job.options.get("target")
    if isinstance(given, str):
        return parse_target(given)
    try:
        return msgspec.convert(given, TargetSpec)
    except msgspec.ValidationError as error:
        raise UsageError("a target of a deployment", found=str(error), remedy="give target = 'model.onnx'") from error


def _shaped(job: Job) -> tuple[TargetSpec, list[Change]]:
    """The target as the settings and changes of a job start it, and the changes in order of name."""
    spec, machine = target_of(job), read_machine()
    changes = [change for change in registry()[0] if job.values.get(parameter_of(change)) is True]
    threads = job.values.get("threads")
    if isinstance(threads, int):
        spec = msgspec.structs.replace(spec, threads=threads)
    for change in changes:
        spec = change.before(spec, machine)
    return spec, changes


def _digest_of_inputs(path: Path) -> str:
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return digest([(str(file.relative_to(path)), digest_of_source(file)) for file in files if file.is_file()])


def _waited(prepared: Prepared) -> Any:
    result = prepared.call()
    if prepared.synchronise is not None:
        prepared.synchronise(result)
    return result


def _nothing(result: Any) -> None:
    """A process of its own leaves no result here."""


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()) if not isinstance(error, RunFailed) else str(error)


@functools.cache
def _seed() -> None:
    seed_everything(_SEED)
