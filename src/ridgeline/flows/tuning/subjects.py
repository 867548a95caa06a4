"""What is tuned, as the loop sees it: a space, what its times belong to, and a piece of work for each configuration.

`Jobs` is a kernel or a deployment that a runner makes callable; `Recording` is a space that was recorded before, each of whose configurations
answers with one of its recorded runs, drawn evenly. The loop knows neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Protocol

import msgspec
import numpy as np

from ridgeline.backends import METRICS, Attempt, BuildFailed, Environment, Job, Runner, counter_of, failed, ready
from ridgeline.core import BackendUnavailable, Quantity, Space, Trial, UsageError
from ridgeline.core.executor import Outcome, Piece, Surroundings
from ridgeline.core.space import Value
from ridgeline.stats import median_interval
from ridgeline.tuning.space import Configurations

from .identity import identity_of_jobs, some_jobs
from .objectives import OBJECTIVES, TIME

__all__ = ["RUNS", "Jobs", "Recording", "Subject", "key_of", "trial_of"]

Config = Mapping[str, Value]
#: Of fewer runs all that is known is that the median lies between the smallest and the largest, with probability 1 − 2^(1−n).
_CONFIDENCE, _LEAST_CONFIDENCE = 0.95, 1e-9
#: Timed runs of one attempt, and seconds that they fill where nobody has said how many: a short kernel costs little more than it takes to prepare it.
#: The second for what is held against the best, in the finals and in looks at the device.
RUNS, _LEAST_S, _HELD_S = 7, 0.02, 0.1


class Subject(Protocol):
    """What is tuned.

    Attributes:
        name: for a person; objectives: what is made small; unit: of the first of them.
        default: the configuration to hold the best against, if there is one.
        configurations: that are valid; identity: what a time depends on beside these.
        compiles: whether `build` has something to do.
    """

    name: str
    unit: str
    objectives: tuple[str, ...]
    configurations: Configurations
    default: dict[str, Value] | None
    identity: dict[str, str]
    compiles: bool

    def aim(self, objectives: tuple[str, ...]) -> None:
        """Make these small instead of the time."""

    def piece(self, config: Config, best: float | None) -> Piece | Attempt:
        """The measurement of a configuration, given up when clearly slower than the best, and longer where none is given; or why it cannot even be
        asked for."""

    def build(self, config: Config) -> Piece | None:
        """What can be done beforehand, beside others."""


class Jobs:
    """Configurations that are jobs of a runner.

    Args:
        name: for a person; configurations: the valid ones.
        job_of: a configuration as a job; raises `BuildFailed` where it has none.
        default: to hold the best against; cache: folder of the compile cache, the user's own if empty.
        build_limit_s, run_limit_s: of a configuration; runs: timed, of an attempt; seven, or as many as fill 20 ms, if null.
        beside: more of what times depend on, which goes before what the runner says of one configuration.
    """

    unit = "s"
    objectives = TIME

    def __init__(
        self, name: str, configurations: Configurations, job_of: Callable[[Config], Job], *, default: dict[str, Value] | None = None, cache: str = "",
        build_limit_s: float | None = None, run_limit_s: float | None = None, runs: int | None = None, beside: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.configurations, self.default = name, configurations, default
        self._job_of, self._cache = job_of, cache
        self._runs: dict[str, float] = {"runs": RUNS, "least_s": _LEAST_S} if runs is None else {"runs": runs}
        self._limits = {"build_limit_s": build_limit_s, "run_limit_s": run_limit_s}
        jobs = some_jobs(configurations, job_of)
        self._first = jobs[0] if jobs else None
        self._runner: Runner | None = ready(jobs[0].runner) if jobs else None
        self.compiles = self._runner is not None and self._runner.parallel and type(self._runner).build is not Runner.build
        self.identity = {**(identity_of_jobs(self._runner, jobs) if self._runner is not None else {}), **(beside or {})}

    def aim(self, objectives: tuple[str, ...]) -> None:
        """Make these small instead of the time.

        Raises:
            BackendUnavailable: one of them cannot be measured here.
        """
        device = self._runner.device_of(self._first) if self._runner is not None and self._first is not None else "cpu"
        counter = counter_of(device) if "energy" in objectives else ""
        if isinstance(counter, str) and counter:
            raise BackendUnavailable("a counter of energy", found=counter, remedy="tune for time or memory, or on a machine that has one")
        if "memory" in objectives and device == "gpu":
            raise UsageError("a kernel of the CPU, whose memory is that of its process", found="one of a GPU", remedy="tune for time or energy")
        self.objectives, self.unit = objectives, OBJECTIVES[objectives[0]].unit

    def piece(self, config: Config, best: float | None) -> Piece | Attempt:
        """See `Subject`."""
        try:
            job = self._job_of(config)
        except BuildFailed as error:
            return Attempt(failure="invalid" if error.invalid else "compile", text=str(error))
        runs = {**self._runs, "least_s": _HELD_S} if best is None and "least_s" in self._runs else self._runs
        arguments: dict[str, Any] = {"job": job, **runs, "best_s": best, "cache": self._cache, **self._limits}
        beside = [name for name in self.objectives if name in METRICS]
        if beside:
            # What is clearly slower may be the best in something else.
            arguments |= {"beside": beside, "best_s": None}
        return Piece("ridgeline.backends.attempts:attempt", arguments, self._within(job))

    def build(self, config: Config) -> Piece | None:
        """See `Subject`."""
        try:
            job = self._job_of(config)
        except BuildFailed:
            return None
        arguments = {"job": job, "cache": self._cache, "build_limit_s": self._limits["build_limit_s"]}
        return Piece("ridgeline.backends.attempts:build", arguments, self._within(job))

    def _within(self, job: Job) -> Surroundings | None:
        wanted = self._runner.environment(job) if self._runner is not None else Environment()
        if "memory" in self.objectives:
            # What earlier configurations left behind would be taken for less need.
            wanted = msgspec.structs.replace(wanted, alone=True)
        return None if wanted == Environment() else Surroundings(wanted.variables, wanted.cpus, wanted.alone)


class Recording:
    """A recorded space, in place of a device.

    Args:
        name: for a person; space: of the recording; trials: of it, several of one configuration go together. What was not recorded has failed.
        seed: of the draws; listed: only what was recorded can be tried, whatever the constraints say; objectives: that it answers with.

    Raises:
        UsageError: it holds none of an objective.
    """

    default: dict[str, Value] | None = None
    compiles = False

    def __init__(
        self, name: str, space: Space, trials: Iterable[Trial], *, unit: str = "s", seed: int = 0, listed: bool = False,
        objectives: tuple[str, ...] = TIME,
    ) -> None:  # fmt: skip
        self.name, self._of_time = name, unit
        trials = list(trials)
        # Constraints are in the words of whoever recorded it.
        space = msgspec.structs.replace(space, constraints=()) if listed else space
        self.configurations = Configurations(space, [each.config for each in trials] if listed else None)
        self._trials: dict[str, list[Trial]] = {}
        for trial in trials:
            # A value may be written as 1 in one place and as 1.0 in another.
            config = self.configurations.config(self.configurations.row(trial.config))
            self._trials.setdefault(key_of(config), []).append(trial)
        self._generator = np.random.default_rng(seed)
        self.identity = {"recording": name}
        self.aim(objectives)

    def aim(self, objectives: tuple[str, ...]) -> None:
        """See `Subject`.

        Raises:
            UsageError: it holds none of an objective.
        """
        held = {metric for several in self._trials.values() for trial in several for metric in trial.metrics}
        lacking = [each for each in objectives if each != "time" and OBJECTIVES[each].metric not in held]
        if lacking:
            raise UsageError(f"a recording of {', '.join(lacking)}", found=f"{self.name} has none", remedy="name objectives that it holds")
        self.objectives, self.unit = objectives, self._of_time if objectives[0] == "time" else OBJECTIVES[objectives[0]].unit

    def runs(self) -> dict[str, list[float]]:
        """Key → all recorded runs of each configuration, none of one that failed once."""
        return {
            key: [] if any(trial.failure for trial in trials) else [run for trial in trials for run in trial.runs]
            for key, trials in self._trials.items()
        }

    def piece(self, config: Config, best: float | None) -> Piece | Attempt:
        """See `Subject`; one run of those recorded, or the failure."""
        trials = self._trials.get(key_of(config), [])
        runs = [(run, trial) for trial in trials for run in trial.runs]
        failure = next((trial for trial in trials if trial.failure), None)
        if runs and failure is None:
            run, trial = runs[int(self._generator.integers(len(runs)))]
            return Attempt(runs=(run,), metrics=trial.metrics)
        return Attempt(failure=failure.failure if failure else "invalid", text=failure.text if failure else "it was not recorded")

    def build(self, config: Config) -> Piece | None:
        """See `Subject`."""
        return None


def key_of(config: Config) -> str:
    """A configuration as a text that is the same for equal ones; 1, 1.0 and true are three."""
    return json.dumps(sorted(config.items()), ensure_ascii=False)


def trial_of(
    number: int, config: Config, found: Attempt | Outcome[Attempt], unit: str, flags: Sequence[str] = (), objectives: Sequence[str] = TIME
) -> Trial:
    """What became of a configuration, as it is recorded.

    Args:
        unit: of the objective; objectives: the first is that of the trial, the others are among its metrics.

    Raises:
        RidgelineError: what is about every configuration alike.
    """
    attempt: Any = found
    if isinstance(found, Outcome):
        attempt = failed(found.failure, spent_s=found.spent_s, phase=str(found.reported or "")) if found.failure is not None else found.value
    runs = tuple(run for place, run in enumerate(attempt.runs) if place not in attempt.disturbed)
    # What was disturbed counts where nearly all was.
    used = runs if len(runs) >= 3 else attempt.runs
    objective = None if attempt.failure is not None or not used else objective_of(used, unit)
    of_objective, metrics = attempt.runs, dict(attempt.metrics)
    if objectives[0] != "time":
        if objective is not None:
            metrics[OBJECTIVES["time"].metric] = objective.value
        of_objective = tuple(value for value in [metrics.pop(OBJECTIVES[objectives[0]].metric, None)] if value is not None)
        objective = objective_of(of_objective, unit, "measured beside timed runs") if of_objective else None
    return Trial(
        config=dict(config), number=number, objective=objective, runs=of_objective, metrics=metrics, failure=attempt.failure, text=attempt.text,
        build_s=attempt.build_s, spent_s=attempt.spent_s, flags=(*attempt.flags, *flags),
    )  # fmt: skip


def objective_of(runs: Sequence[float], unit: str, origin: str = "timed runs of one process") -> Quantity:
    """The median of runs with its interval: at 95 %, or between all of too few."""
    found = median_interval(runs, _CONFIDENCE)
    if found is not None:
        return found.as_quantity(unit, origin=origin)
    confidence = max(_LEAST_CONFIDENCE, 1.0 - 2.0 ** (1 - len(runs)))
    middle = float(median(runs))
    return Quantity(value=middle, low=min(runs), high=max(runs), confidence=confidence, unit=unit, source="measured", origin=origin)
