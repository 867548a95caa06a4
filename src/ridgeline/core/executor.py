"""`Executor`: where pieces of work that do not depend on each other are run, whatever runs them.

A piece is a function by name with plain arguments, as a `Worker` takes them: so that it can run in a process here, or on another machine of the same
kind. Results come as pieces end; a piece whose worker was lost is given to another one, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from .errors import RidgelineError

__all__ = ["Executor", "Outcome", "Piece", "Surroundings"]

T = TypeVar("T")


class Surroundings(NamedTuple):
    """The process in which a piece is run.

    Attributes:
        variables: of its environment, on top of what the executor gives; cpus: logical CPUs that it may run on, all if null.
        alone: whether nothing else may have run in it before, or may run in it after.
    """

    variables: Mapping[str, str] = {}
    cpus: tuple[int, ...] | None = None
    alone: bool = False


class Piece(NamedTuple):
    """`function`: `package.module:name`; `arguments`: by name, plain values or msgspec structs; `within`: which process, any if null."""

    function: str
    arguments: Mapping[str, Any]
    within: Surroundings | None = None


class Outcome(NamedTuple, Generic[T]):
    """What became of a piece: its number, its value or why there is none, seconds from its start to its end, and what it reported last."""

    number: int
    value: T | None
    failure: RidgelineError | None
    spent_s: float = 0.0
    reported: Any = None


class Executor(Protocol):
    """Runs pieces."""

    def run(self, pieces: Iterable[Piece], returns: type[T]) -> Iterator[Outcome[T]]:
        """Outcomes as pieces end, each once. Pieces are taken from the iterable when there is room for them, so that it may depend on outcomes."""
        ...
