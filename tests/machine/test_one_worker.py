"""The executor of this machine: pieces in order, failures told, a lost worker replaced once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ridgeline.core.executor import Executor, Piece
from ridgeline.machine import OneWorker

PATHS = {"PYTHONPATH": os.path.dirname(__file__)}


def echo(value: int) -> Piece:
    return Piece("in_child:echo", {"value": value})


def test_pieces_in_order() -> None:
    with OneWorker(environment=PATHS) as workers:
        asked: Executor = workers
        found = list(asked.run([echo(number) for number in (3, 1, 2)], int))
    assert [(each.number, each.value, each.failure) for each in found] == [(0, 3, None), (1, 1, None), (2, 2, None)]


def test_a_failure_is_told_and_the_rest_goes_on_in_the_same_process() -> None:
    with OneWorker(environment=PATHS) as workers:
        before, failed, after = workers.run([Piece("in_child:remember", {"name": "a"}), Piece("in_child:raise_value_error", {}),
                                             Piece("in_child:remember", {"name": "a"})], int)  # fmt: skip
    assert failed.value is None
    assert "ValueError" in str(failed.failure)
    assert (before.value, after.value) == (1, 2)


def test_a_lost_worker_is_replaced_and_its_piece_asked_once_more(tmp_path: Path) -> None:
    pieces = [Piece("in_child:crash_once", {"folder": str(tmp_path)}), Piece("in_child:segfault", {}), echo(1)]
    with OneWorker(environment=PATHS) as workers:
        once, always, after = workers.run(pieces, int)
    assert once.value == 7
    assert always.value is None
    assert always.failure is not None
    assert after.value == 1


def test_pieces_are_taken_one_by_one() -> None:
    """What is asked next may depend on what came."""
    seen: list[int] = []

    def pieces() -> Iterator[Piece]:
        for number in range(3):
            assert len(seen) == number
            yield echo(10 * number + len(seen))

    with OneWorker(environment=PATHS) as workers:
        for outcome in workers.run(pieces(), int):
            seen.append(outcome.value or 0)
    assert seen == [0, 11, 22]
