"""`ridgeline model`: the group of commands around a model of operators, from measured latencies to corrections in use."""

from __future__ import annotations

import click

from .explain import explain
from .model_calibrate import calibrate
from .model_collect import collect
from .model_train import train
from .model_validate import validate

__all__ = ["model"]


@click.group(epilog="Each of them takes --json.")
def model() -> None:
    """Measure this machine's operators, train a performance model on measured latencies, hold it against rows it has not seen,
    correct it in use, and explain what it predicts."""


for command in (collect, train, validate, calibrate, explain):
    model.add_command(command)
