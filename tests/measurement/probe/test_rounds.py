from collections.abc import Callable

import pytest

from ridgeline.measurement.probe.items import CostOf, Item, RateOf, Reading, best_window
from ridgeline.measurement.probe.rounds import Effort, take_readings
from support.computed_machine import Clock

EFFORT = Effort(rounds=3, costly_rounds=2, seconds=1.0, budget_s=1000.0)


def rate(read: Reading, *, costly: bool = False) -> Item:
    return Item(goal=RateOf(engine="fma", precision="fp32", threads=1), read=read, origin="", costly=costly)


def logged(log: list[str], name: str, clock: Clock, value: Callable[[int], float] = lambda _number: 1.0) -> Reading:
    def read(seconds: float, number: int) -> float:
        log.append(f"{name}{number}")
        clock.now += seconds
        return value(number)

    return read


def test_readings_are_taken_in_turn_and_costly_ones_less_often() -> None:
    log: list[str] = []
    clock = Clock()
    taken = take_readings([rate(logged(log, "a", clock)), rate(logged(log, "b", clock), costly=True)], EFFORT, clock=clock)
    assert log == ["a0", "b0", "a1", "b1", "a2"]
    assert taken.values == [[1.0] * 3, [1.0] * 2]


def test_what_does_not_agree_gets_more_and_what_agrees_does_not() -> None:
    log: list[str] = []
    clock = Clock()
    restless = logged(log, "r", clock, lambda number: 1.0 if number < 3 else 1.3)
    wild = logged(log, "w", clock, lambda number: 2.0**number)
    taken = take_readings([rate(logged(log, "a", clock)), rate(wild), rate(restless)], EFFORT, clock=clock)
    assert len(taken.values[0]) == 3
    assert len(taken.values[1]) == 6  # gives up at twice the plan
    assert len(taken.values[2]) == 3


def test_a_number_that_settles_is_left_alone() -> None:
    log: list[str] = []
    clock = Clock()
    settles = logged(log, "s", clock, lambda number: [1.0, 2.0, 3.0, 3.0, 3.0, 3.0][number])
    taken = take_readings([rate(settles)], EFFORT, clock=clock)
    assert taken.values[0] == [1.0, 2.0, 3.0, 3.0, 3.0]  # the better half of five is 3, 3, 3; of four it still began at 2


def test_when_the_time_is_over_two_rounds_stand_and_it_is_said() -> None:
    log: list[str] = []
    clock = Clock()
    effort = Effort(rounds=50, costly_rounds=50, seconds=1.0, budget_s=0.5)
    taken = take_readings([rate(logged(log, "a", clock)), rate(logged(log, "b", clock))], effort, clock=clock)
    assert [len(values) for values in taken.values] == [2, 2]
    assert taken.cut_short


def test_a_failure_ends_one_number_only() -> None:
    def fail(_seconds: float, _number: int) -> float:
        raise MemoryError("no room")

    log: list[str] = []
    clock = Clock()
    taken = take_readings([rate(fail), rate(logged(log, "a", clock))], EFFORT, clock=clock)
    assert taken.values == [[], [1.0] * 3]
    assert taken.failures == {0: "MemoryError: no room"}


def test_what_is_no_reading_is_not_kept() -> None:
    log: list[str] = []
    clock = Clock()
    odd = logged(log, "o", clock, lambda number: [-1.0, float("nan"), 0.0, float("inf"), 5.0, 5.0][number])
    assert take_readings([rate(odd)], EFFORT, clock=clock).values == [[5.0, 5.0]]


def test_progress_never_runs_backwards_and_stays_below_the_end() -> None:
    log: list[str] = []
    clock = Clock()
    seen: list[float] = []
    items = [rate(logged(log, "a", clock)), rate(logged(log, "w", clock, lambda number: 2.0**number))]
    take_readings(items, EFFORT, clock=clock, report=lambda _label, fraction: seen.append(fraction))
    assert seen == sorted(seen)
    assert seen[0] == 0.0
    assert seen[-1] <= 1.0


def test_the_best_window_is_the_highest_rate_or_the_lowest_time() -> None:
    asked: list[float] = []
    values = iter([3.0, 9.0, 5.0] * 2)

    def read(seconds: float, _number: int) -> float:
        asked.append(seconds)
        return next(values)

    assert best_window(read)(0.009, 0) == 9.0
    assert best_window(read, min)(0.009, 0) == 3.0
    assert asked == pytest.approx([0.003] * 6)


def test_labels_name_what_is_measured() -> None:
    stream = RateOf(engine="triad", precision="any", threads=2, level="L3", working_set_bytes=8 << 20)
    assert Item(goal=stream, read=lambda _s, _n: 1.0, origin="").label == "triad L3 8 MiB 2 threads"
    assert Item(goal=CostOf(name="dispatch", library="torch"), read=lambda _s, _n: 1.0, origin="").label == "dispatch torch"
