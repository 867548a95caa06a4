"""The executor of this machine for measuring: one process, one piece after the other.

Two pieces at once would measure each other. A worker that is lost (a crash, a limit) is replaced, and its piece is given once more to the new one: a
second loss is the piece's own fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TypeVar

from ridgeline.core import RidgelineError
from ridgeline.core.executor import Outcome, Piece

from .worker import Limits, Worker

__all__ = ["OneWorker"]

T = TypeVar("T")


class OneWorker:
    """Runs pieces in one child process; use it as a context manager.

    Args:
        limits: of the process, `wall_s` for each piece; environment: on top of this process's own.
        preload: modules that the child imports before it is ready.
    """

    def __init__(self, *, limits: Limits | None = None, environment: Mapping[str, str] | None = None, preload: str = "") -> None:
        self._limits, self._environment, self._preload = limits, dict(environment or {}), preload
        self._worker: Worker | None = None

    def run(self, pieces: Iterable[Piece], returns: type[T]) -> Iterator[Outcome[T]]:
        """As `Executor.run`."""
        for number, piece in enumerate(pieces):
            outcome = self._once(number, piece, returns)
            if outcome.failure is not None and (self._worker is None or not self._worker.alive):
                outcome = self._once(number, piece, returns)
            yield outcome

    def _once(self, number: int, piece: Piece, returns: type[T]) -> Outcome[T]:
        if self._worker is None or not self._worker.alive:
            self.close()
            self._worker = Worker(limits=self._limits, environment=self._environment, preload=self._preload)
        try:
            return Outcome(number, self._worker.call(piece.function, piece.arguments, returns), None)
        except RidgelineError as error:
            return Outcome(number, None, error)

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def __enter__(self) -> OneWorker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
