"""One entry of the notebook: a run with its verdict drawn again from what was measured and with its recipe, or a comparison."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ridgeline.core import BenchReport, Comparison, ComparisonSet, Diagnosis, Run, UsageError
from ridgeline.core.recipe import Recipe
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.benched import bench_report
from ridgeline.machine import read_machine, software_versions
from ridgeline.notebook import Notebook

from .recipe import recipe_of
from .records import filled

__all__ = ["benchmarked", "entry", "recipe", "replay", "show"]


def show(location: str | Path | None, identity: str) -> Run:
    """The run `identity` (id, beginning of one, `last` or `latest`, `-1`, `-2`, …) of the notebook at `location` (the default one if null).

    Raises:
        UsageError: no such notebook or run, or several runs whose ids begin so.
        ReadError: the document is damaged or newer.
    """
    with Notebook.open(location, create=False) as notebook:
        return notebook.get(identity)


def entry(location: str | Path | None, identity: str) -> Run | Comparison | ComparisonSet:
    """The run, or the comparison by its id, as `show` finds a run.

    Raises:
        UsageError, ReadError: as `show`.
    """
    with Notebook.open(location, create=False) as notebook:
        return notebook.find(identity)


def benchmarked(run: Run) -> BenchReport | None:
    """What is concluded from a benchmark; null of a run that is none, or of one that was ended before the first call."""
    if run.bench is None or run.diagnosis is not None:
        return None
    try:
        return bench_report(run)
    except UsageError:
        return None


def recipe(run: Run) -> Recipe:
    """How to measure `run` again, with what is different on this machine."""
    return recipe_of(run, read_machine(), software_versions())


def replay(run: Run) -> Diagnosis:
    """Diagnose the facts of `run` again, with the rules of this version; nothing is measured, and a trace that was recorded stays as it was read.

    Raises:
        UsageError: the rules of this version ask for something that the run did not measure.
    """
    outcome = next_step(run.facts)
    if not isinstance(outcome, Diagnosis):
        found = f"{outcome.instrument} (level {outcome.level}) is missing: {outcome.because}"
        raise UsageError(f"everything measured that a verdict needs, in run {run.id}", found=found, remedy="diagnose the target again")
    return msgspec.structs.replace(filled(outcome, run), trace=run.diagnosis.trace if run.diagnosis is not None else None)
