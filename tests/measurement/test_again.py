"""How a program comes to a line again: read off the frames of programs that note where they stand."""

from __future__ import annotations

import sys
import threading
from types import CodeType

import pytest

from ridgeline.core import Site
from ridgeline.measurement.again import Again
from ridgeline.measurement.one_call import OneCall
from ridgeline.measurement.stacks import Watcher

ways: list[str] = []


def note() -> int:
    ways.append(Again(_is_user, OneCall(_is_user)).by(sys._getframe(1)))
    return 1


def _is_user(code: CodeType) -> bool:
    return code.co_filename == __file__ and code.co_name not in ("note", "_is_user") and not code.co_name.startswith("test_")


def once() -> int:
    return note() + 1


def led_to() -> int:
    return once()


def in_a_loop() -> int:
    total = 0
    for _ in range(2):
        total += note()
    return total


def led_to_in_a_loop() -> list[int]:
    return [once() for _ in range(2)]


def beside_a_loop() -> int:
    total = note()
    while total < 5:
        total += 1
    return total


def made_in_a_loop() -> int:
    for _ in range(2):

        def inner() -> int:
            return note()

    return inner()


def recursing(depth: int = 3) -> int:
    return recursing(depth - 1) + 0 if depth else note()


def sorting() -> list[int]:
    return sorted([2, 1], key=rank)


def rank(number: int) -> int:
    return note()


def mapping() -> list[int]:
    return list(map(rank, [1, 2]))


def summing() -> int:
    return sum(note() for _ in range(2))


@pytest.mark.parametrize(
    ("program", "way"),
    [
        (once, "no"),
        (led_to, "no"),
        (in_a_loop, "loop"),
        (led_to_in_a_loop, "loop"),
        (beside_a_loop, "no"),
        (made_in_a_loop, "no"),
        (recursing, "recursion"),
        (sorting, ""),
        (mapping, ""),
        (summing, "loop"),
    ],
)
def test_the_way_back_to_a_line(program, way):
    ways.clear()
    program()
    assert ways
    assert set(ways) == {way}


def test_a_library_in_between_may_call_in_a_loop():
    code = compile("def call(f):\n    return f()\n", "<library>", "exec")
    names: dict[str, object] = {}
    exec(code, names)
    ways.clear()
    _through(names["call"])
    assert ways == [""]


def _through(call) -> int:
    return call(once)


def test_without_a_source_nothing_is_known():
    ways.clear()
    nowhere = lambda code: code.co_filename == "<nowhere>"  # noqa: E731
    look = Again(nowhere, OneCall(nowhere)).by
    names: dict[str, object] = {"sys": sys, "look": look}
    exec(compile("def f():\n    return look(sys._getframe())\nway = f()", "<nowhere>", "exec"), names)
    assert names["way"] == ""


def test_any_look_that_found_a_loop_makes_the_line_one():
    watcher = Watcher(threading.get_ident(), frozenset())
    site = Site(file="x.py", line=1, function="f")
    assert watcher.again_at(site) == ""
    watcher._came[site] = {"no"}
    assert watcher.again_at(site) == "no"
    watcher._came[site] = {"no", "loop", ""}
    assert watcher.again_at(site) == "loop"
    watcher._came[site] = {"no", ""}
    assert watcher.again_at(site) == ""
