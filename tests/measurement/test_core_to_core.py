"""How far apart CPUs are: the median of neighbours, and nothing where there is no neighbour."""

from __future__ import annotations

import pytest

from ridgeline.core import CoreToCore
from ridgeline.measurement.core_to_core import ALONE, NO_TURN, CoreToCoreWatch, core_to_core, core_to_core_here


class Pairs:
    """Passes that take as many tens of ns as the lower CPU has a number; none where it is among `busy`."""

    def __init__(self, *busy: int) -> None:
        self.busy, self.asked = busy, list[tuple[int, int]]()

    def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
        self.asked.append(cpus)
        return 0.0 if cpus[0] in self.busy else 1e-8 * (cpus[0] + 1)


def test_the_median_of_neighbours() -> None:
    assert core_to_core(Pairs(), (0, 1, 2, 3)) == pytest.approx(2e-8)
    assert core_to_core(Pairs(0), (0, 1, 2, 3)) == pytest.approx(2.5e-8)


@pytest.mark.parametrize("cpus", [(), (0,)])
def test_no_neighbour(cpus: tuple[int, ...]) -> None:
    assert core_to_core(Pairs(), cpus) == 0.0


def test_a_neighbour_that_leaves_no_turn() -> None:
    assert core_to_core(Pairs(0, 1), (0, 1)) == 0.0


def test_a_turn_that_comes_later_is_waited_for() -> None:
    class Later(Pairs):
        def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
            seconds = super().core_to_core(cpus, chunks)
            return seconds if len(self.asked) > 2 else 0.0

    assert core_to_core(Later(), (0, 1)) == pytest.approx(1e-8)


def test_a_large_machine_is_sampled_along_its_whole_length() -> None:
    pairs = Pairs()
    core_to_core(pairs, range(128))
    assert len(pairs.asked) == 4
    assert max(low for low, _ in pairs.asked) > 80


def test_this_machine() -> None:
    assert 0 <= core_to_core_here() < 1e-3


class Timed(Pairs):
    """A look takes `cost_s` of a clock that stands still otherwise."""

    def __init__(self, *busy: int, cost_s: float = 0.001) -> None:
        super().__init__(*busy)
        self.now, self.cost_s = 0.0, cost_s

    def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
        self.now += self.cost_s
        return super().core_to_core(cpus, chunks)

    def clock(self) -> float:
        return self.now


def test_looks_take_a_small_part_of_the_time() -> None:
    """Beside a busy program a look takes tens of milliseconds, and a process is measured for a tenth of a second."""
    native = Timed(cost_s=0.05)
    watch = CoreToCoreWatch(native, (0, 1), native.clock)
    for _ in range(1000):
        watch.look()
        native.now += 0.01
    assert len(native.asked) * native.cost_s < 0.06 * native.now
    assert len(native.asked) > 2, "and yet it looks again"


def test_what_was_seen_since_is_handed_over_once() -> None:
    native = Timed()
    watch = CoreToCoreWatch(native, (0, 1), native.clock)
    assert watch.taken() == CoreToCore(), "nobody has tried"
    for _ in range(2):
        watch.look()
        native.now += 1.0
    assert watch.taken() == CoreToCore(looks_s=(1e-8, 1e-8))
    assert watch.taken() == CoreToCore()


def test_one_cpu_alone_is_a_reason_and_costs_nothing() -> None:
    native = Timed()
    watch = CoreToCoreWatch(native, (3,), native.clock)
    watch.look()
    assert watch.taken() == CoreToCore(missing=ALONE)
    assert native.asked == []


def test_neighbours_that_leave_no_turn_are_a_reason_and_not_waited_for() -> None:
    native = Timed(0)
    watch = CoreToCoreWatch(native, (0, 1), native.clock)
    watch.look()
    assert watch.taken() == CoreToCore(missing=NO_TURN)
    assert len(native.asked) == 2
    native.busy, native.now = (), 10.0
    watch.look()
    assert watch.taken() == CoreToCore(looks_s=(1e-8,))


@pytest.mark.parametrize("error", [OSError("no more threads"), ValueError("a thread cannot be pinned to CPU 0 or 1")])
def test_what_cannot_be_measured_costs_no_benchmark(error: Exception) -> None:
    class Refusing(Timed):
        def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
            super().core_to_core(cpus, chunks)
            raise error

    native = Refusing()
    watch = CoreToCoreWatch(native, (0, 1), native.clock)
    for _ in range(3):
        watch.look()
        native.now += 10.0
    assert watch.taken() == CoreToCore(missing=str(error))
    assert len(native.asked) == 1


def test_looks_of_several_parts_are_one_after_the_other() -> None:
    parts = [None, CoreToCore(missing=NO_TURN), CoreToCore(looks_s=(1e-8,)), CoreToCore(looks_s=(3e-8, 2e-8))]
    assert CoreToCore.joined(parts) == CoreToCore(looks_s=(1e-8, 3e-8, 2e-8))
    assert CoreToCore.joined(parts[:2]) == CoreToCore(missing=NO_TURN)
    assert CoreToCore.joined([None]) is None
    assert CoreToCore().typical_s is None
