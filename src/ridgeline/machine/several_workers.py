"""The executor of this machine for several workers: pieces that do not disturb each other, devices of one kind with a process each, or one after the
other.

A worker that is lost is replaced. Its piece is given once more where a signal from outside ended it; a crash or a limit is the piece's own fault,
and a piece that hangs would hang again. Each worker is waited for by a thread of its own, which does nothing else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from ridgeline.core import RidgelineError, UsageError
from ridgeline.core.executor import Outcome, Piece, Surroundings

from .ending import ProcessEnded, cpu_limit_reached
from .worker import Limits, Worker

__all__ = ["Workers"]

T = TypeVar("T")
_JOIN_S = 5.0
#: Sent by the system when memory runs out, by a batch system, by a person: what ran is hardly to blame.
_FROM_OUTSIDE = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGINT})


class Workers:
    """Runs pieces in child processes, one at a time in each; use it as a context manager.

    Args:
        count: processes.
        limits: of each process, `wall_s` for each piece.
        environments: on top of this process's own; the n-th is that of the n-th worker, such as which device it sees. One for all if there is one.
        preload: modules that each imports before it is ready.
        spoiled: told a value, whether its process is to be replaced before the next piece.
        limit_after: as of `Worker.call`.
    """

    def __init__(
        self,
        count: int = 1,
        *,
        limits: Limits | None = None,
        environments: Sequence[Mapping[str, str]] = (),
        preload: str = "",
        spoiled: Callable[[Any], bool] = lambda value: False,
        limit_after: Callable[[Any], float | None] | None = None,
    ) -> None:
        if not 1 <= count <= 1024 or len(environments) not in (0, 1, count):
            found = f"{count} workers, {len(environments)} environments"
            raise UsageError("1 to 1024 workers, and an environment for each, or one", found=found, remedy="change the numbers")
        given = list(environments) or [{}]
        self._slots = [_Slot(limits or Limits(), given[place % len(given)], preload, spoiled, limit_after) for place in range(count)]

    def run(self, pieces: Iterable[Piece], returns: type[T]) -> Iterator[Outcome[T]]:
        """As `Executor.run`; a piece is taken when a worker is free."""
        ended: SimpleQueue[tuple[_Slot, Outcome[Any]]] = SimpleQueue()
        waiting, free, left = enumerate(pieces), list(self._slots), True
        try:
            while True:
                while free and left:
                    found = next(waiting, None)
                    if found is None:
                        left = False
                    else:
                        free.pop(0).begin(*found, returns, ended)
                if len(free) == len(self._slots):
                    return
                slot, outcome = ended.get()
                free.append(slot)
                yield outcome
        finally:
            # Nobody waits for what is still running: an interrupt, or a consumer that has enough.
            for slot in self._slots:
                if slot not in free:
                    slot.abandon()

    def close(self) -> None:
        """End the processes."""
        for slot in self._slots:
            slot.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Slot:
    """One worker, the thread that waits for it, and those that replace it."""

    def __init__(
        self, limits: Limits, environment: Mapping[str, str], preload: str, spoiled: Callable[[Any], bool],
        limit_after: Callable[[Any], float | None] | None,
    ) -> None:  # fmt: skip
        self._limits, self._environment, self._preload, self._spoiled, self._limit_after = limits, environment, preload, spoiled, limit_after
        self._worker: Worker | None = None
        self._within = Surroundings()
        self._thread: threading.Thread | None = None
        self._abandoned = False

    def begin(self, number: int, piece: Piece, returns: type[Any], ended: SimpleQueue[tuple[_Slot, Outcome[Any]]]) -> None:
        def work() -> None:
            try:
                outcome = self._once(number, piece, returns)
                if _lost(outcome.failure) and not self._abandoned:
                    outcome = self._once(number, piece, returns)
            except BaseException as error:
                failure = RidgelineError("a worker to be waited for", found=f"{type(error).__name__}: {error}", remedy="report this line")
                outcome = Outcome(number, None, failure)
            ended.put((self, outcome))

        self._abandoned = False
        self._thread = threading.Thread(target=work, name="ridgeline-worker", daemon=True)
        self._thread.start()

    def _once(self, number: int, piece: Piece, returns: type[Any]) -> Outcome[Any]:
        reports: list[Any] = []
        started = time.monotonic()
        try:
            worker = self._started(piece.within or Surroundings())
            # Starting a process is no part of the piece.
            started = time.monotonic()
            value = worker.call(piece.function, piece.arguments, returns, on_report=reports.append, limit_after=self._limit_after)
            if self._within.alone or self._spoiled(value):
                self._drop()
            return Outcome(number, value, None, time.monotonic() - started, reports[-1] if reports else None)
        except RidgelineError as error:
            if self._within.alone:
                self._drop()
            return Outcome(number, None, error, time.monotonic() - started, reports[-1] if reports else None)

    def _started(self, within: Surroundings) -> Worker:
        worker = self._worker
        if worker is None or not worker.alive or within != self._within or within.alone:
            self._drop()
            limits = self._limits if within.cpus is None else msgspec.structs.replace(self._limits, cpus=within.cpus)
            worker = Worker(limits=limits, environment={**self._environment, **within.variables}, preload=self._preload)
            self._worker, self._within = worker, within
        worker.wait_until_ready()
        return worker

    def abandon(self) -> None:
        """End what is running, and wait until its thread has seen that."""
        self._abandoned = True
        worker, thread = self._worker, self._thread
        if worker is not None and thread is not None and thread.is_alive():
            # Not `kill`: the worker is in the hands of its thread, which finds it ended.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(worker.pid, signal.SIGKILL)
        if thread is not None:
            thread.join(_JOIN_S)

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def close(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self.abandon()
        self._drop()


def _lost(failure: RidgelineError | None) -> bool:
    return isinstance(failure, ProcessEnded) and failure.status in _FROM_OUTSIDE and not cpu_limit_reached(failure.status or 0)
