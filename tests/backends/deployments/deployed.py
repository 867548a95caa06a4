"""What tests of deployments have in common: a deployment looked at, its space, and its jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ridgeline.backends import Job
from ridgeline.backends.deployments import Deployment, DeploymentSpace, Look, deployment_of, job_of, look, space_of
from ridgeline.machine import read_machine
from ridgeline.targets import TargetSpec, parse_target
from ridgeline.targets.changes import Situation, registry
from ridgeline.tuning.space import Configurations


class Deployed(NamedTuple):
    """A deployment that was looked at in this process."""

    spec: TargetSpec
    runner: Deployment
    found: Look
    space: DeploymentSpace
    reference: str

    def job(self, **values: Any) -> Job:
        """The default configuration with some values changed; null takes one out."""
        config = {name: value for name, value in {**self.space.default, **values}.items() if value is not None}
        configurations = Configurations(self.space.space)
        assert configurations.valid(configurations.row(config)[None]).all(), config
        return job_of(self.runner, self.spec, self.space, config, self.found, self.reference)


def deployed(text: str, folder: Path, precisions: frozenset[str] = frozenset(), **options: Any) -> Deployed:
    spec = parse_target(text, **options)
    reference = str(folder / "reference.npz")
    found = look(spec, reference)
    runner = deployment_of(found.info.kind)
    situation = Situation(spec=spec, info=found.info, machine=read_machine(), precisions=precisions)
    return Deployed(spec, runner, found, space_of(situation, runner, registry()[0], found.out_of_place), reference)


def ran(job: Job, runner: Deployment) -> dict[str, np.ndarray[Any, Any]]:
    """Outputs of a run."""
    kernel = runner.load(job, {})
    try:
        kernel.run()
        return dict(kernel.outputs())
    finally:
        kernel.close()


def agrees(job: Job, runner: Deployment) -> bool:
    """Whether a run is as near to the reference as the job asks for."""
    outputs = ran(job, runner)
    with np.load(job.check.reference) as right:
        assert set(right.files) == set(outputs)
        return all(
            np.abs(outputs[name].astype(np.float64) - right[name]).max() <= job.check.relative * np.abs(right[name]).max() for name in right.files
        )
