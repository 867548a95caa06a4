"""Sampled lines of a real loop: the place is the function that loops, and a line inside it."""

from __future__ import annotations

from ridgeline.measurement.stacks import _line_before, sample_lines


def looping() -> int:
    total = 0
    for i in range(20_000):
        total += i * i % 7
    return total


def test_the_lines_of_a_loop_are_inside_it():
    found = sample_lines(looping, seconds=0.3, user_files=[__file__])
    first = looping.__code__.co_firstlineno
    assert found.samples > 0
    inside = sum(spot.samples for spot in found.spots if spot.site.function == "looping" and first < (spot.site.line or 0) <= first + 4)
    assert inside > 0.9 * found.samples


def test_an_instruction_without_a_line_takes_the_one_before_it():
    code = looping.__code__
    for start, end, _ in code.co_lines():
        assert code.co_firstlineno <= _line_before(code, start) <= code.co_firstlineno + 4
        assert end > start
