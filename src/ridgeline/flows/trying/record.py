"""What a trial leaves in the notebook: an `Experiment`, the promise beside what was found."""

from __future__ import annotations

from ridgeline.core import Diagnosis, Experiment, Tried

__all__ = ["experiment_of"]


def experiment_of(found: Diagnosis, tried: Tried, run: str) -> Experiment:
    """The experiment of one trial of the diagnosis `found`, kept under the id `run`."""
    action = next((action for action in found.actions if action.id == tried.id and tried.id), None)
    return Experiment(
        diagnosis=run,
        action=action,
        before=found.target,
        after=f"{found.target} with {tried.change}",
        found=tried.speedup,
        verdict=tried.verdict,  # type: ignore[arg-type]
        kept=tried.kept,
        change=tried.change,
        target=found.target,
        machine=found.machine,
        promise=tried.promise,
        tried=tried,
    )
