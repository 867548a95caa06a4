"""Which changes are tried, in which order, and what is said of the rest."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from ridgeline.core import Action
from ridgeline.flows.trying import candidates
from ridgeline.targets.changes import Change, registry
from ridgeline.targets.changes.testing import FakeChange, fake_situation


def action(name: str, identity: str = "a1", combines: tuple[str, ...] = ()) -> Action:
    return Action(id=identity, action=name, on="", because="", metric="latency", speedup=(1.5, 2.0), median_after_s=(0.1, 0.2), combines=combines)


class Fuse(FakeChange):
    name = "fuser"


class Refused(FakeChange):
    name = "refused"
    carries_out = ("batch",)

    def why_not(self, situation):
        return "not today"


class Broken(FakeChange):
    name = "broken"
    carries_out = ("pad",)

    def why_not(self, situation):
        raise ValueError("oh")


class Warm(Change):
    name = "warm"
    carries_out = ("pre-warm",)
    cold = True


def controls(count: int) -> list[Change]:
    return [type(f"C{index}", (Change,), {"name": f"c{index}", "control": True})() for index in range(count)]


def test_what_the_diagnosis_proposes_comes_first_then_a_few_controls():
    chosen, untried = candidates([action("fuse")], [*controls(5), Fuse()], fake_situation(), controls=2)
    assert [(one.change.name, one.control) for one in chosen] == [("fuser", False), ("c0", True), ("c1", True)]
    assert untried == ()


def test_every_action_that_is_not_tried_says_why():
    actions = [action("vectorise"), action("batch", "a2"), action("fix-environment", "a3"), action("pad", "a4"), action("x", "a5", ("a1", "a2"))]
    chosen, untried = candidates(actions, [Refused(), Broken()], fake_situation())
    assert chosen == ()
    reasons = {other.action: other.reason for other in untried}
    assert "change of the code" in reasons["vectorise"]
    assert reasons["batch"] == "not today"
    assert "machine" in reasons["fix-environment"]
    assert "ValueError: oh" in reasons["pad"]
    assert "x" not in reasons


def test_a_change_that_carries_out_two_actions_is_tried_once():
    both = Fuse()
    both.carries_out = ("fuse", "compile-graph")
    chosen, untried = candidates([action("fuse"), action("compile-graph", "a2")], [both], fake_situation())
    assert [one.change.name for one in chosen] == ["fuser"]
    assert untried == ()


def test_where_each_start_serves_one_call_only_the_cold_start_is_tried():
    situation = fake_situation()
    once = msgspec.structs.replace(situation.spec, use="once")
    situation = replace(situation, spec=once)
    chosen, untried = candidates([action("pre-warm"), action("fuse", "a2")], [Warm(), Fuse(), *controls(2)], situation)
    assert [one.change.name for one in chosen] == ["warm"]
    assert [(other.action, "one call" in other.reason) for other in untried] == [("fuse", True)]
    assert [other.action for other in untried] == ["fuse"]


def test_a_cold_start_that_is_not_proposed_says_why_it_is_not_tried():
    situation = fake_situation()
    once = replace(situation, spec=msgspec.structs.replace(situation.spec, use="once"))
    chosen, untried = candidates([action("fuse")], [Warm(), Fuse()], once)
    assert chosen == ()
    assert {other.action: other.change for other in untried} == {"fuse": "fuser", "pre-warm": "warm"}
    assert "not far dearer" in untried[-1].reason
    # It is about nothing else where a start serves many calls.
    assert [other.action for other in candidates([action("fuse")], [Warm()], situation)[1]] == ["fuse"]


def test_a_likely_control_goes_before_the_others():
    made = controls(5)
    made[4].likely = True
    chosen, _ = candidates([], made, fake_situation(), controls=2)
    assert [one.change.name for one in chosen] == ["c4", "c0"]


@pytest.mark.parametrize("kind", ["onnx", "torch", "python"])
def test_one_thread_is_among_the_controls_where_threads_do_something(kind):
    changes, _ = registry()
    threaded = replace(fake_situation(kind), other_threads=0.4)
    assert "one-thread" in [one.change.name for one in candidates([], changes, threaded)[0]]


@pytest.mark.parametrize(("action_name", "kind"), [("batch", "torch"), ("batch", "python"), ("reuse-buffers", "python"), ("reuse-buffers", "torch")])
def test_what_only_the_code_can_do_to_a_kind_of_target_is_said(action_name, kind):
    changes, _ = registry()
    chosen, untried = candidates([action(action_name)], changes, fake_situation(kind), controls=0)
    assert chosen == ()
    (other,) = untried
    assert "change of the code" in other.reason
    assert kind in other.reason
