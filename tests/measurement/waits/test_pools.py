"""Targets that send functions to other processes by name, under every instrument that loads them anew; from end to end, in the child."""

from __future__ import annotations

import textwrap

import pytest

from ridgeline.core import TargetFailed
from ridgeline.machine import Worker
from ridgeline.measurement.agent import OperatorsReport, WaitsReport
from ridgeline.targets import parse_target

POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

def work(number):
    return number * number

class Held:
    pool = None

def main():
    if Held.pool is None:
        Held.pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("{how}"))
    return sum(Held.pool.map(work, [1, 2, 3]))
"""

#: What looks at functions, classes and source, and would notice that they were made anew or are not what they were.
LOOKING = """
import dataclasses, functools, inspect, pickle, typing

@functools.singledispatch
def area(shape):
    return 0

@area.register
def _(shape: int):
    return shape * shape

@dataclasses.dataclass(frozen=True)
class Point:
    x: "float" = 1.0 + 1.0
    other: typing.Optional["Point"] = None

named = lambda x: x + 1
named.__qualname__ = "named"

def one(x): return x + 1
def two(x): return x + 1

def main():
    assert [pickle.loads(pickle.dumps(each)) for each in (area, Point, named, Point.__init__)] == [area, Point, named, Point.__init__]
    assert area(3) == 9 and area("3") == 0
    assert typing.get_type_hints(Point) == {"x": float, "other": typing.Optional[Point]}
    assert inspect.getsource(one) == "def one(x): return x + 1\\n"
    assert one.__code__ is one.__code__ and one.__code__.co_code == two.__code__.co_code and one.__code__ != two.__code__
    return 1
"""

FAILS_ANEW = """
import sys
seen = sys.__dict__.setdefault("loads_of_this_target", [])
seen.append(1)

def main():
    return 1 / (len(seen) < 2)
"""


@pytest.fixture
def asked(tmp_path):
    def ask(source, function, returns):
        path = tmp_path / "own_program.py"
        path.write_text(textwrap.dedent(source))
        with Worker() as worker:
            spec = parse_target(f"{path}:main")
            return worker.call(f"ridgeline.measurement.agent:{function}", {"spec": spec, "seconds": 0.05}, returns)

    return ask


@pytest.mark.parametrize("how", ["fork", "spawn"])
@pytest.mark.parametrize(("function", "returns"), [("timed_waits", WaitsReport), ("recorded_operators", OperatorsReport)])
def test_a_process_pool(asked, function, returns, how):
    assert asked(POOL.format(how=how), function, returns).ratio.value > 0


@pytest.mark.parametrize(("function", "returns"), [("timed_waits", WaitsReport), ("recorded_operators", OperatorsReport)])
def test_a_program_that_looks_at_its_own_functions(asked, function, returns):
    assert asked(LOOKING, function, returns).ratio.value > 0


@pytest.mark.parametrize(
    ("function", "suspect"), [("timed_waits", "the stopwatches are at fault"), ("recorded_operators", "the rewritten source is at fault")]
)
def test_what_fails_under_an_instrument_alone_is_not_said_to_be_the_programs_fault(asked, function, suspect):
    with pytest.raises(TargetFailed, match=r"ZeroDivisionError: .*own_program.py:7") as failed:
        asked(FAILS_ANEW, function, dict)
    assert failed.value.remedy.startswith(f"if it runs on its own, {suspect}")
