"""Which executions do the same work again: by operation, by what they are given, and by who wrote it since."""

from __future__ import annotations

from ridgeline.work.numbering import Numbering, View

A, B, C = View(1, "all"), View(2, "all"), View(3, "all")


def test_the_same_operation_on_the_same_value_repeats() -> None:
    numbering = Numbering()
    assert [numbering.repeats("inv", [A], [View(2)]) for _ in range(3)] == [False, True, True]
    assert not numbering.repeats("det", [A])
    assert not numbering.repeats("inv", [View(1, "a part")])


def test_a_write_in_between_makes_another_value() -> None:
    numbering = Numbering()
    assert not numbering.repeats("sum", [A])
    numbering.wrote(1)
    assert not numbering.repeats("sum", [A])
    assert numbering.repeats("sum", [A])


def test_a_result_that_is_computed_again_has_the_same_value_wherever_it_lies() -> None:
    numbering = Numbering()
    assert not numbering.repeats("inv", [A], [View(2)])
    assert not numbering.repeats("sum", [B])
    assert numbering.repeats("inv", [A], [View(3)])
    assert numbering.repeats("sum", [C])


def test_a_loop_that_feeds_itself_never_repeats() -> None:
    numbering = Numbering()
    assert not any(numbering.repeats("step", [A], [View(1)]) for _ in range(5))


def test_a_write_to_a_part_keeps_what_the_rest_holds() -> None:
    numbering = Numbering()
    assert not numbering.repeats("fill", [B], [View(1, "left")])
    assert not numbering.repeats("sum", [A])
    assert not numbering.repeats("fill", [C], [View(1, "right")])
    assert not numbering.repeats("sum", [A])
    # All of it written over by the same as at first: what was there before does not matter.
    assert not numbering.repeats("copy", [B], [View(1)])
    assert not numbering.repeats("sum", [A])
    assert numbering.repeats("copy", [B], [View(1)])
    assert numbering.repeats("sum", [A])


def test_what_is_not_known_never_repeats_and_its_results_are_new() -> None:
    numbering = Numbering()
    assert not numbering.repeats(None, [A], [View(2)])
    assert not numbering.repeats("sum", [B])
    assert not numbering.repeats(None, [A], [View(2)])
    assert not numbering.repeats("sum", [B])


def test_other_contents_are_another_value_even_if_nobody_was_seen_to_write() -> None:
    numbering = Numbering()
    assert not numbering.repeats("sum", [View(1, "all", "print 1")])
    assert not numbering.repeats("sum", [View(1, "all", "print 2")])
    assert numbering.repeats("sum", [View(1, "all", "print 1")])
