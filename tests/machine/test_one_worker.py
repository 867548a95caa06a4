"""The executor of this machine: pieces in order, failures told, a lost worker replaced once."""

from __future__ import annotations

import os
from pathlib import Path

from ridgeline.core.executor import Executor, Piece
from ridgeline.machine import OneWorker

HERE = "tests.machine.test_one_worker"


def doubled(number: int) -> int:
    return 2 * number


def refused(number: int) -> int:
    raise ValueError(f"not {number}")


def lost_once(folder: str) -> int:
    """Kills its process the first time."""
    mark = Path(folder) / "was here"
    if not mark.exists():
        mark.write_text("")
        os.kill(os.getpid(), 9)
    return 7


def lost_always() -> int:
    os.kill(os.getpid(), 9)
    return 0


def test_pieces_in_order() -> None:
    with OneWorker() as workers:
        asked: Executor = workers
        found = list(asked.run([Piece(f"{HERE}:doubled", {"number": number}) for number in range(4)], int))
    assert [(each.number, each.value, each.failure) for each in found] == [(0, 0, None), (1, 2, None), (2, 4, None), (3, 6, None)]


def test_a_failure_is_told_and_the_rest_goes_on() -> None:
    with OneWorker() as workers:
        first, second = workers.run([Piece(f"{HERE}:refused", {"number": 3}), Piece(f"{HERE}:doubled", {"number": 3})], int)
    assert first.value is None and "not 3" in str(first.failure)
    assert second.value == 6


def test_a_lost_worker_is_replaced_and_its_piece_asked_once_more(tmp_path: Path) -> None:
    pieces = [Piece(f"{HERE}:lost_once", {"folder": str(tmp_path)}), Piece(f"{HERE}:lost_always", {}), Piece(f"{HERE}:doubled", {"number": 1})]
    with OneWorker() as workers:
        once, always, after = workers.run(pieces, int)
    assert once.value == 7
    assert always.value is None and always.failure is not None
    assert after.value == 2


def test_pieces_are_taken_one_by_one() -> None:
    """What is asked next may depend on what came."""
    seen: list[int] = []

    def pieces() -> object:
        for number in range(3):
            assert len(seen) == number
            yield Piece(f"{HERE}:doubled", {"number": number})

    with OneWorker() as workers:
        for outcome in workers.run(pieces(), int):  # type: ignore[arg-type]
            seen.append(outcome.value or 0)
    assert seen == [0, 2, 4]
