"""One stored run, and its verdict drawn again from what was measured."""

from __future__ import annotations

from pathlib import Path

from ridgeline.core import Diagnosis, Run, UsageError
from ridgeline.diagnosis import next as next_step
from ridgeline.notebook import Notebook

from .records import filled

__all__ = ["replay", "show"]


def show(location: str | Path | None, identity: str) -> Run:
    """The run `identity` (id, beginning of one, `last` or `latest`, `-1`, `-2`, …) of the notebook at `location` (the default one if null).

    Raises:
        UsageError: no such notebook or run, or several runs whose ids begin so.
        ReadError: the document is damaged or newer.
    """
    with Notebook.open(location, create=False) as notebook:
        return notebook.get(identity)


def replay(run: Run) -> Diagnosis:
    """Diagnose the facts of `run` again, with the rules of this version; nothing is measured.

    Raises:
        UsageError: the rules of this version ask for something that the run did not measure.
    """
    outcome = next_step(run.facts)
    if not isinstance(outcome, Diagnosis):
        found = f"{outcome.instrument} (level {outcome.level}) is missing: {outcome.because}"
        raise UsageError(f"everything measured that a verdict needs, in run {run.id}", found=found, remedy="diagnose the target again")
    return filled(outcome, run)
