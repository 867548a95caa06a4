"""What is tuned, as the loop sees it: a space, what its times belong to, and a piece of work for each configuration.

`Jobs` is a kernel or a deployment that a runner makes callable; `Recording` is a space that was recorded before, each of whose configurations
answers with one of its recorded runs, drawn evenly. The loop knows neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Protocol

import numpy as np

from ridgeline.backends import Attempt, BuildFailed, Environment, Job, Runner, failed, ready
from ridgeline.core import Quantity, Space, Trial
from ridgeline.core.executor import Outcome, Piece, Surroundings
from ridgeline.core.space import Value
from ridgeline.stats import median_interval
from ridgeline.tuning.space import Configurations

from .identity import identity_of_jobs, some_jobs

__all__ = ["RUNS", "Jobs", "Recording", "Subject", "key_of", "trial_of"]

Config = Mapping[str, Value]
#: Of fewer runs all that is known is that the median lies between the smallest and the largest, with probability 1 − 2^(1−n).
_CONFIDENCE, _LEAST_CONFIDENCE = 0.95, 1e-9
#: Timed runs of one attempt.
RUNS = 7


class Subject(Protocol):
    """What is tuned.

    Attributes:
        name: for a person; unit: of the objective; default: the configuration to hold the best against, if there is one.
        configurations: that are valid; identity: what a time depends on beside these.
        compiles: whether `build` has something to do.
    """

    name: str
    unit: str
    configurations: Configurations
    default: dict[str, Value] | None
    identity: dict[str, str]
    compiles: bool

    def piece(self, config: Config, best: float | None) -> Piece | Attempt:
        """The measurement of a configuration, given up when clearly slower than the best; or why it cannot even be asked for."""

    def build(self, config: Config) -> Piece | None:
        """What can be done beforehand, beside others."""


class Jobs:
    """Configurations that are jobs of a runner.

    Args:
        name: for a person; configurations: the valid ones.
        job_of: a configuration as a job; raises `BuildFailed` where it has none.
        default: to hold the best against; cache: folder of the compile cache, the user's own if empty.
        build_limit_s, run_limit_s: of a configuration; runs: timed, of an attempt.
        beside: more of what times depend on, which goes before what the runner says of one configuration.
    """

    unit = "s"

    def __init__(
        self, name: str, configurations: Configurations, job_of: Callable[[Config], Job], *, default: dict[str, Value] | None = None, cache: str = "",
        build_limit_s: float | None = None, run_limit_s: float | None = None, runs: int = RUNS, beside: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.configurations, self.default = name, configurations, default
        self._job_of, self._cache, self._runs = job_of, cache, runs
        self._limits = {"build_limit_s": build_limit_s, "run_limit_s": run_limit_s}
        jobs = some_jobs(configurations, job_of)
        self._runner: Runner | None = ready(jobs[0].runner) if jobs else None
        self.compiles = self._runner is not None and self._runner.parallel and type(self._runner).build is not Runner.build
        self.identity = {**(identity_of_jobs(self._runner, jobs) if self._runner is not None else {}), **(beside or {})}

    def piece(self, config: Config, best: float | None) -> Piece | Attempt:
        """See `Subject`."""
        try:
            job = self._job_of(config)
        except BuildFailed as error:
            return Attempt(failure="invalid" if error.invalid else "compile", text=str(error))
        arguments = {"job": job, "runs": self._runs, "best_s": best, "cache": self._cache, **self._limits}
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
        return None if wanted == Environment() else Surroundings(wanted.variables, wanted.cpus, wanted.alone)


class Recording:
    """A recorded space, in place of a device.

    Args:
        name: for a person; space: of the recording; trials: of it, several of one configuration go together. What was not recorded has failed.
        seed: of the draws.
    """

    default = None
    compiles = False

    def __init__(self, name: str, space: Space, trials: Iterable[Trial], *, unit: str = "s", seed: int = 0) -> None:
        self.name, self.unit, self.configurations = name, unit, Configurations(space)
        self._trials: dict[str, list[Trial]] = {}
        for trial in trials:
            self._trials.setdefault(key_of(trial.config), []).append(trial)
        self._generator = np.random.default_rng(seed)
        self.identity = {"recording": name}

    def piece(self, config: Config, best: float | None) -> Piece | Attempt:
        """See `Subject`; one run of those recorded, or the failure."""
        trials = self._trials.get(key_of(config), [])
        runs = [run for trial in trials for run in trial.runs]
        if runs:
            return Attempt(runs=(float(self._generator.choice(runs)),), spent_s=trials[0].spent_s)
        failure = next((trial for trial in trials if trial.failure), None)
        return Attempt(failure=failure.failure if failure else "invalid", text=failure.text if failure else "it was not recorded")

    def build(self, config: Config) -> Piece | None:
        """See `Subject`."""
        return None


def key_of(config: Config) -> str:
    """A configuration as a text that is the same for equal ones; 1, 1.0 and true are three."""
    return json.dumps(sorted(config.items()), ensure_ascii=False)


def trial_of(number: int, config: Config, found: Attempt | Outcome[Attempt], unit: str, flags: Sequence[str] = ()) -> Trial:
    """What became of a configuration, as it is recorded.

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
    return Trial(
        config=dict(config), number=number, objective=objective, runs=attempt.runs, failure=attempt.failure, text=attempt.text,
        build_s=attempt.build_s, spent_s=attempt.spent_s, flags=(*attempt.flags, *flags),
    )  # fmt: skip


def objective_of(runs: Sequence[float], unit: str) -> Quantity:
    """The median of runs with its interval: at 95 %, or between all of too few."""
    found = median_interval(runs, _CONFIDENCE)
    if found is not None:
        return found.as_quantity(unit, origin="timed runs of one process")
    confidence = max(_LEAST_CONFIDENCE, 1.0 - 2.0 ** (1 - len(runs)))
    middle = float(median(runs))
    return Quantity(
        value=middle, low=min(runs), high=max(runs), confidence=confidence, unit=unit, source="measured", origin="timed runs of one process"
    )
