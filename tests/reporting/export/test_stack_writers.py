"""Writers of stacks: what they write loads again to the same weights, whatever the names."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Column, Frame, Profile, Stacks, Timeline
from ridgeline.readers import read_profile
from ridgeline.reporting.export.collapsed import collapsed
from ridgeline.reporting.export.speedscope import speedscope, speedscope_of_timeline
from ridgeline.timeline.call_tree import call_tree
from timeline.building import HOST, timeline_of

_KINDS = ["", "process", "python", "native", "kernel", "inlined", "runtime"]
_plain = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=";#/_[]()\\."), min_size=1, max_size=6)
_hostile = st.text(max_size=12) | st.sampled_from(["# a", "// b", "a 12", "a;b", "x\ny", "</script>", "", " ", "_[k]", "f (g.py:3)", "1e5 7"])


@st.composite
def _stacks(draw: st.DrawFn, names: st.SearchStrategy[str], unit: str = "count") -> Stacks:
    size = draw(st.integers(1, 15))
    count = draw(st.integers(1, 5))
    frames = tuple(
        Frame(function=draw(names), kind=draw(st.sampled_from(_KINDS)), file=draw(st.none() | st.just("a/b.py")), line=draw(st.none() | st.just(3)))
        for _ in range(count)
    )
    parent = [draw(st.integers(-1, node - 1)) for node in range(size)]
    own = [draw(st.integers(0, 2**50) | st.floats(0, 1e12)) for _ in range(size)]
    own[-1] = max(own[-1], 1)
    return Stacks(
        measure="m", unit=unit, frames=frames, parent=Column(parent, "count", "int64"),
        frame=Column([draw(st.integers(0, count - 1)) for _ in range(size)], "count", "int64"), own=Column(own, unit, "float64"),
    )  # fmt: skip


def _paths(stacks: Stacks) -> dict[tuple[str, ...], float]:
    found: list[tuple[str, ...]] = []
    weights: dict[tuple[str, ...], float] = defaultdict(float)
    for parent, frame, own in zip(stacks.parent.values, stacks.frame.values, stacks.own.values, strict=True):
        found.append((*(found[parent] if parent >= 0 else ()), stacks.frames[frame].function))
        weights[found[-1]] += float(own)
    return {path: pytest.approx(weight, rel=1e-12) for path, weight in weights.items() if weight}


def _again(folder: Path, data: bytes) -> Profile:
    path = folder / "written"
    path.write_bytes(data)
    return read_profile(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@given(_stacks(_plain))
def test_collapsed_loads_again_path_by_path(folder: Path, stacks: Stacks) -> None:
    (again,) = _again(folder, collapsed(stacks)).stacks
    assert {path: float(weight.expected) for path, weight in _paths(again).items()} == _paths(stacks)


@given(_stacks(_hostile))
def test_collapsed_keeps_all_weight_of_hostile_names(folder: Path, stacks: Stacks) -> None:
    profile = _again(folder, collapsed(stacks))
    assert not profile.excluded
    assert float(profile.stacks[0].own.values.sum()) == pytest.approx(float(stacks.own.values.sum()), rel=1e-12)


@given(_stacks(_hostile, "s"), _stacks(_plain, "B"))
def test_speedscope_loads_again_path_by_path(folder: Path, one: Stacks, two: Stacks) -> None:
    again = _again(folder, speedscope((one, two), name="x")).stacks
    assert [stacks.unit for stacks in again] == ["s", "B"]
    for before, after in zip((one, two), again, strict=True):
        named = {tuple(name or "[unknown]" for name in path): weight for path, weight in _paths(before).items()}
        if len(named) == len(_paths(before)):
            assert {path: float(weight.expected) for path, weight in _paths(after).items()} == named


_event = st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(0, 30))


def _timeline(rows: list[tuple[str, int, int]]) -> Timeline:
    return timeline_of([(HOST, "python", name, start, start + length) for name, start, length in rows])


@given(st.lists(_event, min_size=1, max_size=20))
def test_a_timeline_loads_again_event_by_event(folder: Path, rows: list[tuple[str, int, int]]) -> None:
    again = _again(folder, speedscope_of_timeline(_timeline(rows))).timeline
    assert again is not None
    found = zip(again.start_tick.values.tolist(), again.duration_tick.values.tolist(), again.name.values.tolist(), strict=True)
    assert sorted((again.strings[name], start, length) for start, length, name in found) == sorted(rows)


@given(st.lists(_event, min_size=1, max_size=20))
def test_a_call_tree_has_the_calls_and_the_own_time_of_its_timeline(rows: list[tuple[str, int, int]]) -> None:
    from ridgeline.timeline.nesting import own_ticks

    timeline = _timeline(rows)
    tree = call_tree(timeline)
    assert tree.calls is not None
    assert int(tree.calls.values.sum()) == len(rows)
    assert float(tree.own.values.sum()) == pytest.approx(int(own_ticks(timeline).sum()) * 1e-9)
    for name in "abc":
        chosen = [index for index, frame in enumerate(tree.frames) if frame.function == name]
        events = [index for index, text in enumerate(timeline.strings) if text == name]
        own = own_ticks(timeline)[[index for index in range(len(timeline)) if timeline.name.values[index] in events]].sum()
        assert sum(float(own) for frame, own in zip(tree.frame.values, tree.own.values, strict=True) if frame in chosen) == pytest.approx(own * 1e-9)


def test_nested_calls_by_hand() -> None:
    timeline = _timeline([("a", 0, 100), ("b", 10, 20), ("b", 40, 20), ("c", 45, 5), ("a", 200, 1)])
    tree = call_tree(timeline)
    assert {tuple(path[1:]): round(float(weight.expected) * 1e9) for path, weight in _paths(tree).items()} == {
        ("a",): 61, ("a", "b"): 35, ("a", "b", "c"): 5,
    }  # fmt: skip
