"""Pairs of prediction and measurement from the runs of a notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ridgeline.model.calibration import Pair
from ridgeline.model.operators.model import OperatorModel

__all__ = ["Found", "pairs_of_notebook"]

Report = Callable[[str, float | None], None]


class Found(NamedTuple):
    """`pairs`, oldest first; reason → runs that are none; id of the newest run that was looked at."""

    pairs: list[Pair]
    passed_over: dict[str, int]
    last_run: str


def pairs_of_notebook(known: OperatorModel, model: str | Path, notebook: str | None, *, after: str, report: Report) -> Found:
    raise NotImplementedError
