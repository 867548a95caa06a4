"""Where the interpreter's time is, on a program whose busiest line is a library at work."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Diagnosis, Facts, HotSpot, HotSpots, Quantity, Site
from ridgeline.diagnosis import next as next_step
from ridgeline.laws import speedup
from support.facts_by_hand import facts, row, split

_NOT_HERE = dict.fromkeys(("dispatch", "waits"), "not needed here")


def spots(*lines: tuple[int, str, int]) -> HotSpots:
    found = tuple(HotSpot(site=Site(file="net.py", line=line, function=name), samples=n, state="interpreter") for line, name, n in lines)
    return HotSpots(spots=found, samples=sum(n for _, _, n in lines), interval_s=0.002, instrument="by hand")


def place(given: Facts) -> tuple[str | None, int | None]:
    found = next_step(given)
    assert isinstance(found, Diagnosis)
    assert found.bottleneck is not None
    assert found.bottleneck.cause == "interpreter"
    return found.bottleneck.where.function, found.bottleneck.where.line


def test_a_line_that_calls_a_library_is_not_the_interpreters():
    # Half of the wall is a model run at line 51, the other half a loop spread over lines 27 and 28.
    model = row("run", 0.005, group="other", site=Site(file="net.py", line=51, function="classify"))
    sampled = spots((51, "classify", 500), (28, "entropy", 280), (27, "entropy", 200), (52, "classify", 20))
    assert place(facts([model], wall_split=split(interpreter=0.5), hot_spots=sampled, cannot=_NOT_HERE)) == ("entropy", 28)


def test_a_row_that_is_python_takes_nothing_from_its_line():
    callback = row("sum", 0.005, group="python", reason="it calls back into Python code", site=Site(file="net.py", line=51, function="classify"))
    sampled = spots((51, "classify", 500), (28, "entropy", 280), (27, "entropy", 200))
    assert place(facts([callback], wall_split=split(interpreter=0.9), hot_spots=sampled, cannot=_NOT_HERE)) == ("classify", 51)


def test_without_operators_the_samples_stand_as_they_are():
    sampled = spots((51, "classify", 300), (28, "entropy", 280), (27, "entropy", 200))
    assert place(facts([], wall_split=split(interpreter=0.9), hot_spots=sampled, cannot=_NOT_HERE)) == ("entropy", 28)


def test_the_promise_has_the_interval_of_the_share():
    wide = Quantity(value=0.45, low=0.37, high=0.54, confidence=0.95, unit="1", source="measured")
    walls = msgspec.structs.replace(split(interpreter=0.45), interpreter=wide)
    found = next_step(facts([], wall_split=walls, hot_spots=spots((28, "entropy", 480)), cannot=_NOT_HERE))
    assert isinstance(found, Diagnosis)
    action = found.actions[0]
    assert action.action == "vectorise"
    assert action.speedup[0] == pytest.approx(speedup(share=0.37, local_speedup=4))
    # All of the share that the function holds can go: a loop's native counterpart takes next to nothing.
    assert action.speedup[1] == pytest.approx(speedup(share=0.54, local_speedup=200))


def test_without_a_sampled_line_none_is_spoken_of_and_half_is_not_promised():
    found = next_step(facts([], wall_split=split(interpreter=0.8), cannot={**_NOT_HERE, "hot-spots": "no"}))
    assert isinstance(found, Diagnosis)
    assert found.bottleneck is not None
    assert "no line of it was sampled" in found.bottleneck.summary
    assert "sampled lines in this function" not in [evidence.name for evidence in found.bottleneck.evidence]
    low = split(interpreter=0.8).interpreter.low
    assert found.actions[0].speedup[0] == pytest.approx(speedup(share=0.5 * low, local_speedup=4))


def test_lines_that_are_all_asleep_are_no_lines_of_the_interpreter():
    asleep = HotSpots(
        spots=(HotSpot(site=Site(file="net.py", line=9), samples=10, state="blocked"),), samples=10, interval_s=0.002, instrument="hand"
    )
    found = next_step(facts([], wall_split=split(interpreter=0.8), hot_spots=asleep, cannot=_NOT_HERE))
    assert isinstance(found, Diagnosis)
    assert found.bottleneck is not None
    assert "100%" not in found.bottleneck.summary


def repeated(again: str, wall_s: float) -> Diagnosis:
    """The verdict on a program that is the interpreter's, whose lines are come to again in that way."""
    seen = HotSpot(site=Site(file="net.py", line=3, function="work"), samples=300, state="interpreter", again=again)
    spots = HotSpots(spots=(seen,), samples=300, interval_s=0.002, instrument="by hand")
    found = next_step(facts([], wall_s=wall_s, wall_split=split(interpreter=0.65), hot_spots=spots, cannot=_NOT_HERE))
    assert isinstance(found, Diagnosis)
    return found


def test_a_loop_is_replaced_by_native_code_and_a_recursion_is_compiled():
    assert [(action.action, action.because.split()[-1]) for action in repeated("loop", 0.01).actions] == [("vectorise", "items"), ("compile", "code")]
    assert [(action.action, action.because) for action in repeated("recursion", 0.01).actions] == [("compile", "the same recursion as compiled code")]


@pytest.mark.parametrize("wall_s", [300e-9, 0.01], ids=["short", "long"])
def test_where_no_loop_is_none_is_spoken_of_and_nothing_replaces_it(wall_s):
    page = repeated("no", wall_s)
    assert "no loop" in page.bottleneck.summary
    assert not {action.action for action in page.actions} & {"vectorise", "compile"}
    assert not any("same loop" in action.because for action in page.actions)


def test_a_short_call_without_a_loop_may_be_shared_by_more_items_and_that_may_be_worth_nothing():
    page = repeated("no", 300e-9)
    assert (page.bottleneck.cause, page.bottleneck.bound) == ("interpreter", "latency")
    assert [(action.action, action.metric, action.speedup[0]) for action in page.actions] == [("batch", "period", 1.0)]


def test_a_long_call_without_a_loop_leaves_the_verdict_open():
    page = repeated("no", 0.01)
    assert (page.bottleneck.cause, page.bound, page.actions) == ("unknown", "inconclusive", ())
    assert page.missing


def test_what_is_not_known_to_be_a_loop_is_not_called_one():
    assert repeated("", 0.01).actions[0].because.startswith("if it is a loop")
