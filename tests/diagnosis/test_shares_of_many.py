"""A share of many operators is told as that, and not as the share of the largest of them."""

import msgspec
import pytest

from ridgeline.diagnosis import next as diagnose
from ridgeline.reporting.diagnosis_page import page
from support.facts_by_hand import buffer, dispatch, facts, row, samples, split


def _text(found):
    return str(msgspec.to_builtins(page(found)))


def _near_peak(name, seconds):
    return row(name, seconds, group="matmul", engine="fma", flop=0.9 * 128e9 * seconds)


def _far(name, seconds, f_c=0.01):
    return row(name, seconds, group="convolution", engine="fma", flop=f_c * 128e9 * seconds)


def test_the_headline_counts_whose_share_it_is():
    found = diagnose(facts([_far("a", 0.004), _far("b", 0.003), _far("c", 0.002)]))
    assert found.bottleneck.cause == "unknown"
    assert found.bottleneck.operators == 3
    assert found.headline.startswith("Inconclusive: a (net.py:7) and 2 more operators take 9")
    assert "the largest of 3 operators that the share is of" in _text(found)


def test_operators_near_their_ceiling_are_counted():
    found = diagnose(facts([_near_peak("a", 0.005), _near_peak("b", 0.004)]))
    assert found.headline.startswith("a (net.py:7) and 1 more operator already run near their ceilings")


def test_one_operator_is_named_alone():
    found = diagnose(facts([_far("a", 0.009)]))
    assert found.headline.startswith("Inconclusive: a (net.py:7) takes 9")
    assert "the largest of" not in _text(found)


def test_what_a_count_of_operators_costs_is_that_of_all_of_them():
    tiny = [row(name, 0.001, calls=calls, group="elementwise", reads=(buffer(1, 64),)) for name, calls in (("aten::to", 200.0), ("aten::add", 100.0))]
    given = {"wall_s": 0.003, "dispatch": dispatch(300, 3.6e-6), "samples": samples(0.0012), "wall_split": split(interpreter=0.3)}
    found = diagnose(facts(tiny, **given))
    assert (found.bottleneck.cause, found.bottleneck.operators, found.bottleneck.where.operator) == ("dispatch", 300, "aten::to")
    assert found.headline.startswith("300 operators, most often aten::to (net.py:7): latency bound, dispatch")
    assert {action.on for action in found.actions if action.action in ("fuse", "compile-graph", "batch")} == {"300 operators"}
    (where,) = [pair for pair in page(found).sections[0].blocks[0].rows if pair.label == "where"]
    assert (where.cell.value, where.note) == ("300 operators", "most often aten::to, in f at net.py:7")


@pytest.mark.parametrize(("f_c", "said"), [(0.1, "8.5× under"), (1e-5, "more than 100× under")])
def test_a_distance_from_the_roof_has_no_more_digits_than_meaning(f_c, said):
    assert said in diagnose(facts([_far("a", 0.009, f_c)])).headline


def test_a_call_of_unknown_work_is_not_far_from_a_ceiling():
    opaque = row("reader", 0.009, group="other", kind="package.read", flop=None, reads=(buffer(1, 1000),), writes=(buffer(2, 1000),))
    found = diagnose(facts([msgspec.structs.replace(opaque, reason="no formula for package.read")]))
    assert found.operators[0].bound == "inconclusive"
    assert "what is computed there is not known" in found.headline
    assert "no formula for package.read" in found.missing[0]


def test_operators_of_one_name_are_told_apart_by_what_they_work_on():
    given = [msgspec.structs.replace(_far("aten::addmm@net.py:7", 0.004), shapes=f"f32[14,{wide}]") for wide in (384, 1536)]
    text = _text(diagnose(facts(given)))
    assert "aten::addmm f32[14,384]" in text
    assert "aten::addmm f32[14,1536]" in text
    assert "aten::addmm f32" not in _text(diagnose(facts(given[:1])))
