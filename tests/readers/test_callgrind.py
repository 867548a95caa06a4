"""callgrind's format: compression, several events, calls; and how calls become stacks without losing or inventing cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.stack_paths import paths
from ridgeline.core import Profile, ReadError
from ridgeline.readers import Source, read_profile
from ridgeline.readers.call_graph import LIGHT, CallGraph
from ridgeline.readers.callgrind import Callgrind
from ridgeline.readers.testing import ProfileReaderConformance

_PLAIN = """# callgrind format
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir Dr

fl=one.c
fn=main
16 20 2
cfn=first
calls=1 50
16 400 40
cfi=two.c
cfn=second
calls=3 20
16 400 4

fn=first
51 100 10
cfi=two.c
cfn=second
calls=2 20
51 300 30

fl=two.c
fn=second
20 700 34

totals: 820 46
"""
_COMPRESSED = """# callgrind format
events: Ir

ob=(1) /bin/app
fl=(1) one.c
fn=(1) main
16 20
cfn=(2) first
calls=1 50
* 400
cfi=(2) two.c
cfn=(3) second
calls=3 20
* *

fn=(2)
+35 -300
cfi=(2)
cfn=(3)
calls=2 20
* 300

fl=(2)
fn=(3)
-31 +400
"""
_CACHEGRIND = "desc: I1 cache: 32768 B\ncmd: ./app\nevents: Ir I1mr \nfl=a.c\nfn=main\n1 5 1\n2 7 0\nfn=work\n9 100 3\nsummary: 112 4\n"
_XDEBUG = """version: 1
creator: xdebug 3.0.2 (PHP 7.4.14)
cmd: /var/www/index.php
part: 1
positions: line

events: Time_(10ns) Memory_(bytes)

fl=(1) php:internal
fn=(1) php::strlen
0 5 32

fl=(2) /var/www/index.php
fn=(2) {main}
1 20 100
cfl=(1)
cfn=(1)
calls=1 0 0
3 5 32
"""


class TestCallgrind(ProfileReaderConformance):
    def reader(self) -> Callgrind:
        return Callgrind()

    def examples(self) -> Mapping[str, bytes]:
        files = {"plain": _PLAIN, "compressed": _COMPRESSED, "cachegrind": _CACHEGRIND, "xdebug": _XDEBUG}
        return {name: text.encode() for name, text in files.items()}


def _read(folder: Path, text: str) -> Profile:
    path = folder / "callgrind.out"
    path.write_text(text, encoding="utf-8")
    return read_profile(path)


_EXPECTED = {("main",): 20, ("main", "first"): 100, ("main", "first", "second"): 300, ("main", "second"): 400}


@pytest.mark.parametrize("text", [_PLAIN, _COMPRESSED])
def test_calls_become_stacks(tmp_path: Path, text: str) -> None:
    profile = _read(tmp_path, text)
    assert paths(profile.stacks[0]) == pytest.approx(_EXPECTED)
    assert [caution.code for caution in profile.warnings] == ["split-by-calls"]
    assert {frame.function: frame.file for frame in profile.stacks[0].frames} == {"main": "one.c", "first": "one.c", "second": "two.c"}


def test_each_event_is_a_measure(tmp_path: Path) -> None:
    _, reads = _read(tmp_path, _PLAIN).stacks
    assert (reads.measure, reads.unit) == ("Dr", "count")
    assert paths(reads) == pytest.approx({("main",): 2, ("main", "first"): 10, ("main", "first", "second"): 30, ("main", "second"): 4})


def test_cachegrind_has_no_calls(tmp_path: Path) -> None:
    profile = _read(tmp_path, _CACHEGRIND)
    assert paths(profile.stacks[0]) == {("main",): 12, ("work",): 100}
    assert (profile.tool, profile.warnings) == ("cachegrind", ())


def test_times_of_xdebug_are_seconds(tmp_path: Path) -> None:
    wall, memory = _read(tmp_path, _XDEBUG).stacks
    assert (wall.measure, wall.unit, memory.unit) == ("wall", "s", "B")
    assert paths(wall) == pytest.approx({("{main}",): 2e-7, ("{main}", "php::strlen"): 5e-8})


def test_a_file_of_another_callee_is_forgotten_after_its_call(tmp_path: Path) -> None:
    text = (
        "# callgrind format\nevents: Ir\n\nfl=a.c\nfn=main\n1 10\ncfl=b.c\ncfn=other\ncalls=1 1\n1 10\ncfn=leaf\ncalls=1 1\n1 5\n"
        "\nfn=leaf\n1 5\n\nfl=b.c\nfn=other\n1 10\n"
    )
    assert paths(_read(tmp_path, text).stacks[0]) == pytest.approx({("main",): 10, ("main", "other"): 10, ("main", "leaf"): 5})


def test_a_sum_that_is_missing_is_told(tmp_path: Path) -> None:
    profile = _read(tmp_path, _PLAIN.replace("20 700 34", ""))
    assert "sum-differs" in [caution.code for caution in profile.warnings]


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    profile = _read(tmp_path, _PLAIN.replace("51 100 10", "51 100 10 9 9").replace("20 700 34", "20 x7 34"))
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(2, "line 19")]
    with pytest.raises(ReadError, match="events line"):
        _read(tmp_path, "# callgrind format\nfn=main\n1 2\n")


def test_recursion_keeps_every_cost(tmp_path: Path) -> None:
    text = (
        "# callgrind format\nevents: Ir\n\nfn=main\n1 1\ncfn=even\ncalls=1 1\n1 90\n\nfn=even\n2 40\ncfn=odd\ncalls=9 1\n2 80\n"
        "\nfn=odd\n3 30\ncfn=even\ncalls=8 1\n3 70\ncfn=leaf\ncalls=8 1\n3 20\ncfn=odd\ncalls=2 2\n3 5\n\nfn=leaf\n9 20\n"
    )
    found = paths(_read(tmp_path, text).stacks[0])
    assert sum(found.values()) == pytest.approx(91)
    assert {path[-1]: weight for path, weight in found.items()} == pytest.approx({"main": 1, "even": 40, "odd": 30, "leaf": 20})
    assert ("main", "even", "odd", "leaf") in found


@st.composite
def _stacks_without_recursion(draw: st.DrawFn) -> dict[tuple[int, ...], int]:
    """Stacks of functions, each path in ascending order of functions so that nothing recurs."""
    path = st.lists(st.integers(0, 7), min_size=1, max_size=6, unique=True).map(lambda names: tuple(sorted(names)))
    return draw(st.dictionaries(path, st.integers(1, 1000), min_size=1, max_size=15))


@given(_stacks_without_recursion())
def test_own_costs_and_totals_are_those_of_the_stacks_that_the_calls_came_from(tmp_path_factory: pytest.TempPathFactory, stacks: dict) -> None:
    folder = tmp_path_factory.getbasetemp() / "graph"
    folder.write_bytes(b"x")
    graph = CallGraph(Source(folder), 1)
    for name in range(8):
        graph.function(graph.tree.frame(str(name)))
    own, total = defaultdict(float), defaultdict(float)
    for path, cost in stacks.items():
        graph.add_own(path[-1], [cost])
        own[str(path[-1])] += cost
        for name in path:
            total[str(name)] += cost
        for caller, callee in pairwise(path):
            graph.add_call(caller, callee, [cost])
    made = graph.stacks(0, name="Ir", unit="count")
    assert made is not None
    found = paths(made)
    for name in total:
        assert sum(cost for path, cost in found.items() if path[-1] == name) == pytest.approx(own[name])
        assert sum(cost for path, cost in found.items() if name in path) == pytest.approx(total[name])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 10**6)), max_size=60),
    st.lists(st.integers(0, 10**6), min_size=10, max_size=10),
)
def test_no_cost_is_lost_whatever_the_calls_say(tmp_path_factory: pytest.TempPathFactory, calls: list, owns: list[int]) -> None:
    folder = tmp_path_factory.getbasetemp() / "graph"
    folder.write_bytes(b"x")
    graph = CallGraph(Source(folder), 1)
    for name, cost in enumerate(owns):
        graph.add_own(graph.function(graph.tree.frame(str(name))), [cost])
    for caller, callee, cost in calls:
        graph.add_call(caller, callee, [cost])
    made = graph.stacks(0, name="Ir", unit="count")
    found = paths(made) if made is not None else {}
    for name, cost in enumerate(owns):
        assert sum(weight for path, weight in found.items() if path[-1] == str(name)) == pytest.approx(cost, rel=1e-9, abs=1e-3)


def test_light_paths_are_summed_by_function(tmp_path: Path) -> None:
    """A ladder of 40 steps with two calls each has 2⁴⁰ paths."""
    text = "# callgrind format\nevents: Ir\n"
    for step in range(40):
        text += f"\nfn=a{step}\n1 10\n"
        if step < 39:
            text += "".join(f"cfn={kind}{step + 1}\ncalls=1 1\n1 {(39 - step) * 10}\n" for kind in "ab")
            text += f"\nfn=b{step}\n1 10\n" + "".join(f"cfn={kind}{step + 1}\ncalls=1 1\n1 {(39 - step) * 10}\n" for kind in "ab")
    (stacks,) = _read(tmp_path, text).stacks
    assert len(stacks) < 50_000
    assert float(stacks.own.values.sum()) == pytest.approx(790, rel=1e-6)
    assert LIGHT in [frame.function for frame in stacks.frames]
