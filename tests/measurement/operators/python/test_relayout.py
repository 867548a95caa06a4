"""Operations repeated on another layout: the operands they get, what they leave out. No time is asserted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ridgeline.measurement.operators.python import detailed_call, relayout, relayouts
from ridgeline.measurement.operators.python.iteration import Iteration, ordered
from ridgeline.measurement.operators.python.table import describe_shapes, name_of

SETUP = "import numpy as np\na = np.ones((256, 256))\nb = np.asfortranarray(np.ones((256, 256)))\nout = np.empty((256, 256))\n"


def seen_call(load: Any, body: str) -> tuple[Iteration, Any, dict[tuple[str, str], tuple[int, float, int]]]:
    """One call of a program, its places, and all of its rows as wanted."""
    source = SETUP + "def main():\n" + "\n".join("    " + line for line in body.splitlines())
    iteration, places = detailed_call(lambda transform: load(source, transform).main)
    wanted: dict[tuple[str, str], tuple[int, float, int]] = {}
    for event in ordered(iteration):
        assert event.seen is not None
        wanted.setdefault((name_of(event.site, event.seen.kind, places), describe_shapes(event.seen)), (len(wanted), 1.0, 0))
    return iteration, places, wanted


@pytest.fixture
def given_operands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the repeated operations were given, in order: as it is and changed in turn."""
    taken: list[tuple[Any, ...]] = []
    original = relayout._function

    def noted(kind: str) -> Any:
        function = original(kind)

        def call(*args: Any, **keywords: Any) -> Any:
            taken.append((*args, *keywords.values()))
            return function(*args, **keywords)

        return call

    monkeypatch.setattr(relayout, "_function", noted)
    return taken


def strides(operands: tuple[Any, ...]) -> list[tuple[int, ...]]:
    return [value.strides for value in operands if isinstance(value, np.ndarray)]


def test_operands_as_they_were_and_side_by_side(load: Any, given_operands: list[tuple[Any, ...]]) -> None:
    iteration, places, wanted = seen_call(load, "np.subtract(a, b, out=out)")
    found = relayouts(iteration, places, wanted, 0.01)
    assert [(one.operator, one.layout, one.executions) for one in found] == [(0, "side by side", 1)]
    assert strides(given_operands[0]) == [(2048, 8), (8, 2048), (2048, 8)]
    assert strides(given_operands[1]) == [(2048, 8)] * 3
    assert 0 < found[0].as_is_s.low <= found[0].as_is_s.value <= found[0].as_is_s.high


def test_columns_move_on_through_the_block_and_then_lie_side_by_side(load: Any, given_operands: list[tuple[Any, ...]]) -> None:
    iteration, places, wanted = seen_call(load, "for k in range(6):\n    a[:, k].sum()")
    assert relayouts(iteration, places, wanted, 0.01)[0].executions == 6
    first = [operands[0] for operands in given_operands[:12]]
    assert {array.strides for array in first[:6]} == {(2048,)}
    assert {array.strides for array in first[6:]} == {(8,)}
    assert len({array.__array_interface__["data"][0] for array in first[:6]}) == 6
    assert len({array.__array_interface__["data"][0] for array in first[6:]}) == 6


def test_the_axis_of_work_becomes_the_one_side_by_side(load: Any, given_operands: list[tuple[Any, ...]]) -> None:
    iteration, places, wanted = seen_call(load, "np.sort(a, axis=0)")
    relayouts(iteration, places, wanted, 0.01)
    assert strides(given_operands[0]) == [(2048, 8)]
    assert strides(given_operands[1]) == [(8, 2048)]


def test_tiles_are_one_small_part_as_often_as_it_takes(load: Any, given_operands: list[tuple[Any, ...]]) -> None:
    iteration, places, wanted = seen_call(load, "a.max()")
    tiled = {row: (index, calls, 64 * 2048) for row, (index, calls, _) in wanted.items()}
    found = relayouts(iteration, places, tiled, 0.01)
    assert found[0].layout == "in tiles"
    assert [operands[0].shape for operands in given_operands[:5]] == [(256, 256), *[(64, 256)] * 4]
    assert len({operands[0].__array_interface__["data"][0] for operands in given_operands[1:5]}) == 1
    assert relayouts(iteration, places, dict.fromkeys(wanted, (0, 1.0, 2048 * 200)), 0.01) == ()


@pytest.mark.parametrize(
    "body",
    [
        "np.concatenate([a, b])",  # arrays inside a list: where they were is not in the record
        "np.linalg.inv(a[:4, :4] + 9 * np.eye(4))",  # made-up numbers may have no inverse, or a wrong one
        "a.sum(axis=None, initial=None)",
        "np.array([object()] * 300)",
        "sorted(range(50000))",
    ],
)
def test_what_the_record_does_not_suffice_for_is_left_out_or_repeated_without_harm(load: Any, body: str) -> None:
    iteration, places, wanted = seen_call(load, body)
    assert all(one.as_is_s.value > 0 for one in relayouts(iteration, places, wanted, 0.01))


def test_a_row_that_is_not_there_is_left_out(load: Any) -> None:
    iteration, places, _ = seen_call(load, "a.max()")
    assert relayouts(iteration, places, {("numpy.min@elsewhere.py:3", "f64[3]"): (0, 1.0, 0)}, 0.01) == ()


def test_calls_are_scaled_to_one_call_of_the_target(load: Any) -> None:
    iteration, places, wanted = seen_call(load, "for k in range(6):\n    a[:, k].sum()")
    many = {row: (index, 6e6, 0) for row, (index, _, _) in wanted.items()}
    one, million = relayouts(iteration, places, wanted, 0.01)[0], relayouts(iteration, places, many, 0.01)[0]
    assert million.as_is_s.value > 1000 * one.as_is_s.value
