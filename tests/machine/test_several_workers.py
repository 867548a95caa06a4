"""Several workers: each outcome once, lost ones replaced, what is a piece's own fault not tried again, and nothing left running."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ridgeline.core import UsageError
from ridgeline.core.executor import Executor, Piece, Surroundings
from ridgeline.machine import Limits, ProcessEnded, Workers

PATHS = [{"PYTHONPATH": os.path.dirname(__file__)}]


def echo(value: int) -> Piece:
    return Piece("in_child:echo", {"value": value})


def test_each_piece_has_one_outcome() -> None:
    with Workers(2, environments=PATHS) as workers:
        asked: Executor = workers
        found = sorted(asked.run([echo(number) for number in range(7)], int))
    assert [(each.number, each.value, each.failure) for each in found] == [(number, number, None) for number in range(7)]


def test_a_piece_is_taken_when_there_is_room() -> None:
    ended: list[int] = []

    def pieces() -> Iterator[Piece]:
        for number in range(6):
            assert number - len(ended) < 2
            yield echo(number)

    with Workers(2, environments=PATHS) as workers:
        for outcome in workers.run(pieces(), int):
            ended.append(outcome.number)
    assert sorted(ended) == list(range(6))


def test_a_crash_is_the_pieces_own_fault() -> None:
    with Workers(environments=PATHS) as workers:
        crash, after = workers.run([Piece("in_child:segfault", {}), echo(1)], int)
    assert isinstance(crash.failure, ProcessEnded)
    assert crash.failure.status == -signal.SIGSEGV
    assert after.value == 1


def test_a_lost_worker_is_replaced_and_its_piece_given_once_more(tmp_path: Path) -> None:
    with Workers(environments=PATHS) as workers:
        once, always, after = workers.run(
            [
                Piece("in_child:killed", {"folder": str(tmp_path), "times": 1}),
                Piece("in_child:killed", {"folder": str(tmp_path), "times": 9}),
                echo(1),
            ],
            int,
        )
    assert once.value == 1
    assert isinstance(always.failure, ProcessEnded)
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "2", "3"]
    assert after.value == 1


def test_a_piece_that_hangs_is_ended_and_not_tried_again() -> None:
    with Workers(environments=PATHS, limits=Limits(wall_s=0.4)) as workers:
        hang, after = workers.run([Piece("in_child:sleep", {}), echo(1)], int)
    assert isinstance(hang.failure, ProcessEnded)
    assert hang.failure.status is None
    assert 0.3 < hang.spent_s < 30.0
    assert after.value == 1


def test_the_last_report_comes_with_the_outcome() -> None:
    with Workers(environments=PATHS) as workers:
        (found,) = workers.run([Piece("in_child:crash_after_reports", {"reports": ["build", "run"]})], int)
    assert found.reported == "run"


def test_pieces_of_like_surroundings_share_a_process() -> None:
    one, other = Surroundings({"A": "1"}), Surroundings({"A": "2"})
    alone = Surroundings({"A": "1"}, alone=True)
    with Workers(environments=PATHS) as workers:
        pieces = [Piece("in_child:process_and_variable", {"name": "A"}, within) for within in (one, one, other, one, alone, alone, one)]
        found = [outcome.value or [] for outcome in workers.run(pieces, list)]
    assert [variable for _, variable in found] == ["1", "1", "2", "1", "1", "1", "1"]
    processes = [process for process, _ in found]
    assert processes[0] == processes[1]
    assert len(set(processes)) == 6


def test_processes_of_other_surroundings_are_kept() -> None:
    one, other, third = (Surroundings({"A": str(number)}) for number in range(3))
    alone = Surroundings({"A": "0"}, alone=True)
    with Workers(environments=PATHS, kept=2) as workers:
        pieces = [
            Piece("in_child:process_and_variable", {"name": "A"}, within) for within in (one, other, one, other, alone, other, third, one, third)
        ]
        processes, variables = zip(*((outcome.value or [])[:2] for outcome in workers.run(pieces, list)), strict=True)
    assert variables == ("0", "1", "0", "1", "0", "1", "2", "0", "2")
    # The one that was used last longest ago makes room.
    assert processes[:2] == processes[2:4]
    assert processes[5] == processes[1]
    assert processes[8] == processes[6]
    assert len(set(processes)) == 5


def test_a_process_that_ended_is_not_kept() -> None:
    within = Surroundings({"A": "0"})
    with Workers(environments=PATHS, kept=2) as workers:
        pieces = [
            Piece("in_child:remember", {"name": "a"}, within),
            Piece("in_child:segfault", {}, within),
            Piece("in_child:remember", {"name": "a"}, within),
        ]
        assert [each.value for each in workers.run(pieces, int)] == [1, None, 1]


def test_each_process_begins_with_a_piece() -> None:
    first = Piece("in_child:remember", {"name": "a"})
    with Workers(environments=PATHS, first=first, spoiled=lambda value: value == 3) as workers:
        found = [each.value for each in workers.run([Piece("in_child:remember", {"name": "a"})] * 3, int)]
    assert found == [2, 3, 2]


def test_a_spoiled_process_is_not_used_again() -> None:
    with Workers(environments=PATHS, spoiled=lambda value: value == 2) as workers:
        found = [each.value for each in workers.run([Piece("in_child:remember", {"name": "a"})] * 4, int)]
    assert found == [1, 2, 1, 2]


def test_each_worker_has_its_environment() -> None:
    environments = [{**PATHS[0], "A": str(number)} for number in range(2)]
    with Workers(2, environments=environments) as workers:
        pieces = [Piece("in_child:process_and_variable", {"name": "A"}) for _ in range(8)]
        found = {(outcome.value or [None, None])[1] for outcome in workers.run(pieces, list)}
    assert found <= {"0", "1"}


def test_who_stops_listening_leaves_nothing_running() -> None:
    with Workers(2, environments=PATHS) as workers:
        outcomes = workers.run([echo(1), *(Piece("in_child:sleep", {}) for _ in range(2))], int)
        next(outcomes)
        outcomes.close()  # type: ignore[attr-defined]
        assert [each.value for each in workers.run([echo(3)], int)] == [3]
    assert not [thread for thread in threading.enumerate() if thread.name == "ridgeline-worker"]


def test_an_interrupt_ends_what_is_running() -> None:
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    started = time.monotonic()
    with Workers(environments=PATHS) as workers:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            list(workers.run([Piece("in_child:sleep", {})], int))
    assert time.monotonic() - started < 30.0


@pytest.mark.parametrize(("count", "environments"), [(0, []), (3, [{}, {}])])
def test_numbers_that_do_not_fit(count: int, environments: list[dict[str, str]]) -> None:
    with pytest.raises(UsageError, match="1 to 1024 workers"):
        Workers(count, environments=environments)
