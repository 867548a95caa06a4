"""`RunSummary`: what the log shows of a run without reading its document, and how it is drawn from a `Run`."""

from __future__ import annotations

import msgspec

from ridgeline.core import Run

__all__ = ["RunSummary", "summarise"]


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the log.

    Args:
        id, verb, at, commit: as in `core.Run`.
        target: as the person wrote it.
        target_digest: SHA-256 of the model or source file, empty for a command.
        machine: fingerprint.
        bound, cause: of the diagnosis; null without one, cause null too when healthy.
        median_s: median wall of one call in seconds; null without a ground truth.
    """

    id: str
    verb: str
    at: str
    target: str
    target_digest: str = ""
    machine: str = ""
    bound: str | None = None
    cause: str | None = None
    median_s: float | None = None
    commit: str | None = None


def summarise(run: Run) -> RunSummary:
    """The line of the log for `run`."""
    diagnosis = run.diagnosis
    truth = diagnosis.ground_truth if diagnosis else None
    found = diagnosis.bottleneck if diagnosis else None
    return RunSummary(
        id=run.id,
        verb=run.verb,
        at=run.at,
        target=run.facts.target.spec,
        target_digest=run.facts.target.digest,
        machine=run.facts.machine.fingerprint,
        bound=diagnosis.bound if diagnosis else None,
        cause=found.cause if found else None,
        median_s=truth.median_s if truth else None,
        commit=run.commit,
    )
