"""Runners of deployments: a model with its runtime, or a program, whose space is what the runtime can be set to and the registry of changes.

`look` finds out what is deployed, `space_of` says what can be tuned of it, `job_of` makes a configuration a job. There is a runner for each runtime.
"""

from .base import Deployment, Look, deployment_of, job_of, look, target_of
from .space import EVERY_PRECISION, DeploymentSpace, Setting, parameter_of, space_of

__all__ = [
    "EVERY_PRECISION", "Deployment", "DeploymentSpace", "Look", "Setting", "deployment_of", "job_of", "look", "parameter_of", "space_of", "target_of",
]  # fmt: skip
