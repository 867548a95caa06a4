"""The Run of a flow: made from facts, written again after every step, and what a diagnosis takes from it."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ridgeline.core import Caution, Diagnosis, Experiment, Facts, ReadReport, RidgelineError, Run, UsageError
from ridgeline.diagnosis.benched import bench_report
from ridgeline.machine import commit_of, origin_of, software_versions

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook
    from ridgeline.targets import TargetSpec

__all__ = ["Record", "concluded", "filled"]


def filled(found: Diagnosis, run: Run) -> Diagnosis:
    """The diagnosis with the fields that belong to the record rather than to the facts."""
    return msgspec.structs.replace(found, software=run.software, method=run.method, commit=run.commit, run=run.id, command=run.command)


def concluded(run: Run, path: str | os.PathLike[str] | None) -> Run:
    """A run of a benchmark with its ground truth, which the log then shows as its page does, and with where its repository is cloned from.

    Args:
        run: with its calls.
        path: the file of its target; null where it has none.
    """
    repository, directory = origin_of(path, Path.cwd()) if path and run.commit else ("", "")
    try:
        truth = bench_report(run).ground_truth
    except UsageError:
        # Interrupted before the first call.
        truth = None
    return msgspec.structs.replace(run, truth=truth, repository=repository, directory=directory)


class Record:
    """The Run of this diagnosis, written again after every step.

    Attributes:
        trace: what a recording of a few calls answers, beside the verdict; null where there is none.
    """

    def __init__(self, spec: TargetSpec, notebook: Notebook | None, command: str) -> None:
        from ridgeline.notebook import new_run_id

        self.trace: ReadReport | None = None
        self._notebook = notebook
        self._command = command
        self._failure = ""
        self._id = new_run_id()
        self._at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._software = software_versions()
        self._commit = commit_of(Path(spec.path)) if spec.path else None
        self._repository, self._directory = origin_of(spec.path, Path.cwd()) if self._commit and spec.path else ("", "")

    def filled(self, found: Diagnosis, facts: Facts) -> Diagnosis:
        """The diagnosis of these facts with what belongs to the record, and with the trace."""
        return msgspec.structs.replace(filled(found, self.run(facts, None)), trace=self.trace)

    def run(self, facts: Facts, found: Diagnosis | None) -> Run:
        """The Run as it stands."""
        return Run(
            id=self._id,
            verb="diagnose",
            at=self._at,
            software=self._software,
            commit=self._commit,
            method=_method(facts),
            facts=facts,
            diagnosis=found,
            command=self._command,
            repository=self._repository,
            directory=self._directory,
        )

    def keep(self, facts: Facts, found: Diagnosis | None) -> None:
        """Write the Run; a notebook that cannot take it (a full disk, a lock) never costs the verdict."""
        if self._notebook is None:
            return
        try:
            self._notebook.save(self.run(facts, found))
            self._failure = ""
        except RidgelineError as error:
            self._failure = str(error)

    def experiment(self, experiment: Experiment) -> None:
        """Keep what came of a promise; a notebook that cannot take it never costs the verdict."""
        if self._notebook is None:
            return
        from ridgeline.notebook import new_run_id

        try:
            self._notebook.add_experiment(experiment, new_run_id())
        except RidgelineError as error:
            self._failure = str(error)

    def closed(self, facts: Facts, found: Diagnosis) -> Diagnosis:
        """Keep the finished Run; where that failed, the diagnosis says so."""
        self.keep(facts, found)
        if self._notebook is not None and not self._failure:
            return found
        warnings = found.warnings
        if self._failure:
            warnings = (*warnings, Caution(code="not-kept", message=self._failure, effect="this diagnosis is in no notebook and cannot be replayed"))
        return msgspec.structs.replace(found, run=None, warnings=warnings)


def _method(facts: Facts) -> str:
    taken = facts.samples
    parts = [f"{facts.warmup} warm-up calls, {len(taken)} samples: {taken.method}"] if taken is not None else []
    parts += [f"level {record.level}: {record.instrument}" for record in facts.levels if record.instrument]
    return "; ".join(parts)
