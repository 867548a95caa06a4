"""Copies, constants that are written, and work that is done again: what the words and counts of each stand for."""

from __future__ import annotations

from ridgeline.core import Diagnosis, Facts, OperatorRow
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import MB, buffer, facts, row


def found(given: Facts) -> Diagnosis:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return step


def fill(seconds: float, size: int) -> OperatorRow:
    return row("numpy.copyto@net.py:4", seconds, kind="numpy.copyto", group="copy", reads=(), writes=(buffer(1, size),))


def copy(seconds: float, size: int, **fields) -> OperatorRow:
    return row("copy", seconds, group="copy", reads=(buffer(1, size),), writes=(buffer(2, size),), **fields)


def test_a_constant_that_is_written_is_a_stream_and_no_copy():
    page = found(facts([fill(0.0095, 60 * MB)]))
    assert (page.bottleneck.bound, page.bottleneck.cause) == ("bandwidth", "streaming")
    assert "a constant is written" in page.bottleneck.summary
    assert {"remove-copy", "batch"}.isdisjoint(action.action for action in page.actions)
    assert not any("copy" in other.cause for other in page.runners_up)


def test_a_copy_is_still_one():
    page = found(facts([copy(0.0095, 50 * MB)]))
    assert page.bottleneck.cause == "copy"
    assert "1 operator only moves data" in page.actions[0].because


def test_a_constant_far_from_the_stream_is_not_bandwidth_bound():
    page = found(facts([fill(0.0095, MB // 10)]))
    assert page.operators[0].bound != "bandwidth"
    assert "copy" not in {page.bottleneck.cause, *(other.cause for other in page.runners_up)}


def test_hardly_a_byte_is_no_bandwidth():
    page = found(facts([copy(0.0095, MB // 10)]))
    assert (page.bottleneck.cause, page.bound, page.actions) == ("unknown", "inconclusive", ())
    assert page.operators[0].bound == "inconclusive"
    assert "so few bytes" in page.bottleneck.summary
    assert page.missing[0].startswith("mechanism")


def test_the_first_touch_of_fresh_memory_is_named():
    asked = row("zeros", 0.0001, group="allocation", reads=None, writes=None)
    assert "page faults" in found(facts([asked, copy(0.0095, MB // 10, after=(0,))])).bottleneck.summary


def test_counts_and_share_of_repeated_work_are_of_the_same_operators():
    first = row("sha256@net.py:5", 0.006, kind="hashlib.sha256", group="python", reads=None, writes=None, calls=6.0, distinct=1.0)
    second = row("sha256@net.py:9", 0.003, kind="hashlib.sha256", group="python", reads=None, writes=None, calls=5.0, distinct=2.0)
    page = found(facts([first, second]))
    assert page.bottleneck.cause == "redundant-work"
    # 0.6 × 5/6 + 0.3 × 3/5
    assert abs(page.bottleneck.share - 0.68) < 1e-9
    assert "11 executions of 2 operators, 3 of them with inputs of their own: 68%" in page.bottleneck.summary
    assert page.bottleneck.operators == 2
    assert [e.quantity.value for e in page.bottleneck.evidence][:2] == [11.0, 3.0]
