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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

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
        preload: modules that each imports before it is ready; first: a piece that each process runs before all others.
        spoiled: told a value, whether its process is to be replaced before the next piece.
        kept: processes of different surroundings that each worker keeps: pieces that come and go between two of them start none.
        limit_after: as of `Worker.call`.
    """

    def __init__(
        self,
        count: int = 1,
        *,
        limits: Limits | None = None,
        environments: Sequence[Mapping[str, str]] = (),
        preload: str = "",
        first: Piece | None = None,
        spoiled: Callable[[Any], bool] = lambda value: False,
        kept: int = 1,
        limit_after: Callable[[Any], float | None] | None = None,
    ) -> None:
        if not 1 <= count <= 1024 or len(environments) not in (0, 1, count):
            found = f"{count} workers, {len(environments)} environments"
            raise UsageError("1 to 1024 workers, and an environment for each, or one", found=found, remedy="change the numbers")
        given = list(environments) or [{}]
        made = _Making(limits or Limits(), preload, first, spoiled, kept, limit_after)
        self._slots = [_Slot(made, given[place % len(given)]) for place in range(count)]

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


class _Making(NamedTuple):
    """How processes are made and kept, as of `Workers`."""

    limits: Limits
    preload: str
    first: Piece | None
    spoiled: Callable[[Any], bool]
    kept: int
    limit_after: Callable[[Any], float | None] | None


class _Slot:
    """One worker, the thread that waits for it, and those that replace it."""

    def __init__(self, made: _Making, environment: Mapping[str, str]) -> None:
        self._made, self._environment = made, environment
        #: By what they were started with, the one that was used last at the end.
        self._kept: dict[Hashable, Worker] = {}
        self._worker: Worker | None = None
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
        within = piece.within or Surroundings()
        started = time.monotonic()
        try:
            worker = self._started(within)
            # Starting a process is no part of the piece.
            started = time.monotonic()
            value = worker.call(piece.function, piece.arguments, returns, on_report=reports.append, limit_after=self._made.limit_after)
            if within.alone or self._made.spoiled(value):
                self._drop(worker)
            return Outcome(number, value, None, time.monotonic() - started, reports[-1] if reports else None)
        except RidgelineError as error:
            if within.alone and self._worker is not None:
                self._drop(self._worker)
            return Outcome(number, None, error, time.monotonic() - started, reports[-1] if reports else None)

    def _started(self, within: Surroundings) -> Worker:
        key = _key(within)
        worker = self._kept.pop(key, None)
        if worker is not None and (within.alone or not worker.alive):
            worker.close()
            worker = None
        if worker is None:
            while len(self._kept) >= self._made.kept:
                self._drop(next(iter(self._kept.values())))
            limits = self._made.limits if within.cpus is None else msgspec.structs.replace(self._made.limits, cpus=within.cpus)
            worker = Worker(limits=limits, environment={**self._environment, **within.variables}, preload=self._made.preload)
            self._begin(worker, key)
        self._kept[key] = self._worker = worker
        return worker

    def _begin(self, worker: Worker, key: Hashable) -> None:
        self._kept[key] = self._worker = worker
        worker.wait_until_ready()
        if self._made.first is not None:
            worker.call(self._made.first.function, self._made.first.arguments, Any)

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

    def _drop(self, worker: Worker) -> None:
        worker.close()
        self._kept = {key: each for key, each in self._kept.items() if each is not worker}

    def close(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self.abandon()
        for worker in tuple(self._kept.values()):
            self._drop(worker)


def _key(within: Surroundings) -> Hashable:
    return frozenset(within.variables.items()), within.cpus, within.alone


def _lost(failure: RidgelineError | None) -> bool:
    return isinstance(failure, ProcessEnded) and failure.status in _FROM_OUTSIDE and not cpu_limit_reached(failure.status or 0)
