"""What a flame graph draws: the heaviest paths, and the rest in a sentence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Column, Frame, Stacks
from ridgeline.reporting.flame import drawn, flame_block


def _stacks(parent: list[int], frame: list[int], own: list[float], frames: tuple[Frame, ...]) -> Stacks:
    columns = {"parent": Column(parent, "count", "int64"), "frame": Column(frame, "count", "int64"), "own": Column(own, "count", "float64")}
    return Stacks(measure="samples", unit="count", frames=frames, **columns)


def test_lines_of_one_function_are_one_bar() -> None:
    frames = (Frame(function="f", file="f.py", line=1), Frame(function="f", file="f.py", line=2), Frame(function="g"))
    shown = drawn(_stacks([-1, -1, 0, 1], [0, 1, 2, 2], [1, 2, 3, 4], frames))
    assert (shown.names, shown.total, shown.own, shown.parent) == (["f", "g"], [10, 7], [3, 7], [-1, 0])


def test_what_is_not_drawn_is_said() -> None:
    wide = _stacks([-1, *([0] * 200)], [0, *range(1, 201)], [0, *([5.0] * 200)], tuple(Frame(function=f"f{index}") for index in range(201)))
    shown = drawn(wide, most=51)
    assert (len(shown.parent), shown.left_out, shown.left_out_weight, shown.whole) == (51, 150, 750, 1000)
    assert "150 paths" in flame_block(wide, most=51)
    assert "75.0% of the weight ends in them" in flame_block(wide, most=51)


def test_nothing_has_a_word() -> None:
    assert "No stack has a weight" in flame_block(_stacks([-1], [0], [0], (Frame(function="f"),)))


def test_a_large_tree_stays_small() -> None:
    size = 60_000
    parent = [-1, *(index // 2 for index in range(size - 1))]
    frames = tuple(Frame(function=f"a_function_with_a_name_{index % 5000}", file=f"/src/{index % 5000}.c") for index in range(5000))
    block = flame_block(_stacks(parent, [index % 5000 for index in range(size)], [1.0] * size, frames))
    assert len(block.encode()) < 1_500_000


@given(st.data())
def test_a_tree_drawn_whole_keeps_its_sums(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 30))
    parent = [data.draw(st.integers(-1, node - 1)) for node in range(size)]
    own = [float(data.draw(st.integers(0, 100))) for _ in range(size)]
    shown = drawn(_stacks(parent, [data.draw(st.integers(0, 3)) for _ in range(size)], own, tuple(Frame(function=str(index)) for index in range(4))))
    assert sum(shown.own) == shown.whole == sum(own)
    assert all(up < node for node, up in enumerate(shown.parent))
    for node, total in enumerate(shown.total):
        below = sum(each for child, each in enumerate(shown.total) if shown.parent[child] == node)
        assert total == shown.own[node] + below
