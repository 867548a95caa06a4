"""How far apart CPUs are: the median of neighbours, and nothing where there is no neighbour."""

from __future__ import annotations

import pytest

from ridgeline.measurement.core_to_core import core_to_core, core_to_core_here


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
