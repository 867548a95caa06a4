"""How one process of a version is had: a fresh worker started ahead of its turn, or the next run of a command.

Workers of a group start together, wait until all have imported what they need, and sleep until it is their turn: nothing is imported while
another is measured.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from ridgeline.core import RidgelineError, plugins
from ridgeline.core.documents import from_builtins
from ridgeline.machine import Limits, Worker
from ridgeline.targets import CommandSample, worker_environment

from .columns import columns_of, columns_of_run
from .gathered import Gathered
from .plan import ProcessPlan, Version
from .report import Piece, PreparedCommand, ProcessReport

__all__ = ["CommandRuns", "FreshProcess", "SoakingProcess", "is_command"]

_AGENT, _RUNS = "ridgeline.measurement.agent.bench", "ridgeline.measurement.agent.bench_runs"
#: One process may take this long: a target that hangs ends with a clear line and not never.
_LONGEST_S = 3600.0
#: Seconds of one round of load.
_LOAD_S = 0.5


@cache
def _points() -> dict[str, dict[str, list[tuple[str, str]]]]:
    return plugins.found(("targets", "synchronisers"))


def _preparers(kind: str) -> tuple[str, ...]:
    """Our module that prepares a kind of target; a stranger's may do anything when it is imported, and is left to the process's own turn."""
    modules = (value.partition(":")[0] for value, _ in _points()["targets"].get(kind, []))
    return tuple(module for module in modules if module.startswith("ridgeline."))


def is_command(version: Version) -> bool:
    """Whether every call of it is a process of its own."""
    return version.spec.kind in {"command", "script"}


def _worker(version: Version, preload: str = "") -> Worker:
    environment = {**worker_environment(version.spec), **version.environment}
    return Worker(limits=Limits(wall_s=_LONGEST_S), environment=environment, directory=version.directory, preload=preload)


class FreshProcess:
    """One process of a version, started now and measured at its turn."""

    def __init__(self, version: Version) -> None:
        self._version, self._left = version, False
        self._worker = _worker(version, ",".join((_AGENT, *_preparers(version.spec.kind))))

    def wait_until_ready(self) -> None:
        """Wait until it sleeps."""
        self._worker.wait_until_ready()

    def measure(self, plan: ProcessPlan, gathered: Gathered) -> float:
        """Measure it; what it took so far is kept whatever happens. Returns seconds that were not calls.

        Raises:
            RidgelineError: the target is wrong, failed or ended.
        """
        pieces: list[Piece] = []
        start_ns = time.monotonic_ns()

        def hear(plain: Any) -> None:
            pieces.append(from_builtins(plain, Piece))

        try:
            given = {"spec": self._version.spec, "plan": plan, "points": _points(), "described": gathered.target is not None}
            found = self._worker.call(_AGENT + ":run_process", given, ProcessReport, on_report=hear)
        except (RidgelineError, KeyboardInterrupt) as error:
            self._worker.kill()
            failure = str(error) if isinstance(error, RidgelineError) else "interrupted"
            if pieces or isinstance(error, RidgelineError):
                gathered.add(columns_of(pieces), start_ns=start_ns, first_s=None, load_s=None, failure=failure)
            raise
        gathered.target, gathered.input_names = gathered.target or found.info, found.input_names
        columns = columns_of(found.pieces, found.batches, found.device)
        gathered.add(
            columns,
            start_ns=start_ns,
            first_s=found.first_s,
            load_s=found.load_s,
            overhead=found.overhead,
            cautions=found.warnings,
            stages=found.stages,
        )
        return found.load_s + (found.first_s or 0.0)

    def leave(self) -> None:
        """Ask it to end by itself: what the target does at exit (temporary files) is its business."""
        self._left = True
        self._worker.leave()

    def close(self) -> None:
        """Wait until it has ended by itself."""
        self._worker.close()

    def end(self) -> None:
        """End it at once, unless it was asked to leave."""
        if not self._left:
            self._worker.kill()


class CommandRuns:
    """All runs of one command: a worker that starts them, one after the other."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._worker: Worker | None = None
        self._prepared: PreparedCommand | None = None

    def run(self, gathered: Gathered) -> None:
        """Make the next run; one before the first has warmed the file caches.

        Raises:
            RidgelineError: it cannot be started, or ends badly.
        """
        start_ns = time.monotonic_ns()
        try:
            if self._worker is None:
                self._worker = _worker(self._version)
                self._prepared = self._worker.call(_RUNS + ":prepare_command", {"spec": self._version.spec}, PreparedCommand)
                gathered.target = self._prepared.info
            sample = self._worker.call(_RUNS + ":run_command", {}, CommandSample)
        except RidgelineError as error:
            gathered.add(columns_of([]), start_ns=start_ns, first_s=None, load_s=None, failure=str(error))
            self.end()
            raise
        assert self._prepared is not None
        # The run that preparing made came first, when the file caches were as they were.
        first_s = self._prepared.first_s if gathered.processes == 0 else None
        gathered.add(columns_of_run(start_ns, sample), start_ns=start_ns, first_s=first_s, load_s=None, cautions=self._prepared.warnings)

    def end(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


class SoakingProcess:
    """A process that only loads the machine with calls of a version; a context manager."""

    def __init__(self, version: Version) -> None:
        self._worker = _worker(version)
        self._version = version

    def __enter__(self) -> SoakingProcess:
        self._worker.call(_RUNS + ":prepare_load", {"spec": self._version.spec}, bool)
        return self

    def __exit__(self, *exc: object) -> None:
        self._worker.kill()

    def round(self) -> float:
        """Some calls; the median seconds of one."""
        return self._worker.call(_RUNS + ":load", {"seconds": _LOAD_S}, float)
