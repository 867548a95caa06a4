"""What trials say: verdicts, promises, what is kept and what confirms a cause; pure, from trials made by hand."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Action, ChangeTrial, OutputCheck, Quantity, Sentinels, Untried
from ridgeline.core.documents import decode, encode
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.trials import action_for, confirms, judged_trials
from support.facts_by_hand import MB, buffer, facts, row, split


def gain(low: float, value: float, high: float) -> Quantity:
    return Quantity(value=value, low=low, high=high, confidence=0.95, unit="1", source="measured", origin="by hand")


def trial(speedup, *, tail=None, state="equal", actions=("fuse",), failure="", metric="latency", rounds=2) -> ChangeTrial:
    output = OutputCheck(state=state, difference=0.0 if state == "equal" else None, reason="" if state == "equal" else "because")
    return ChangeTrial(
        change="c",
        actions=actions,
        metric=metric,
        output=output,
        failure=failure,
        rounds=rounds,
        speedup=gain(*speedup) if speedup else None,
        tail=gain(*tail) if tail else None,
    )


def action(name="fuse", speedup=(1.5, 3.0), identity="a1", metric="latency", combines=()) -> Action:
    return Action(id=identity, action=name, on="", because="", metric=metric, speedup=speedup, median_after_s=(0.1, 0.2), combines=combines)


def judge(made, *actions):
    (found,) = judged_trials([made], actions)
    return found


@pytest.mark.parametrize(
    ("speedup", "verdict"),
    [
        ((1.5, 1.6, 1.7), "faster"),
        ((1.019, 1.1, 1.2), "inconclusive"),
        ((0.97, 1.0, 1.03), "same"),
        ((0.9, 1.0, 1.1), "inconclusive"),
        ((0.5, 0.6, 0.7), "slower"),
        ((1.39, 16.0, 206.0), "inconclusive"),
        (None, "inconclusive"),
    ],
)
def test_a_gain_counts_only_beyond_what_two_equal_processes_differ_by(speedup, verdict):
    assert judge(trial(speedup)).verdict == verdict


def test_a_change_that_makes_other_results_is_kept_only_where_those_may_differ():
    lossy = OutputCheck(state="equal", difference=0.0108, tolerance=5e-2)
    found = judge(msgspec.structs.replace(trial((1.5, 1.6, 1.7)), output=lossy))
    assert found.kept
    assert found.reason.startswith("keep it only if results may differ: by 0.011 of the largest value here, where 5e-02 is allowed")
    reordered = OutputCheck(state="equal", difference=1e-6, tolerance=1e-4)
    assert "differ" not in judge(msgspec.structs.replace(trial((1.5, 1.6, 1.7)), output=reordered)).reason


def test_an_interval_of_three_pairs_decides_nothing():
    unsure = msgspec.structs.replace(trial((1.5, 1.6, 1.7)), speedup=msgspec.structs.replace(gain(1.5, 1.6, 1.7), confidence=0.75))
    found = judge(unsure, action())
    assert (found.verdict, found.promise, found.kept) == ("inconclusive", "open", False)


@pytest.mark.parametrize(
    ("speedup", "promise"),
    [((1.4, 1.6, 1.8), "kept"), ((1.2, 1.4, 1.6), "open"), ((1.0, 1.1, 1.2), "refuted"), ((3.5, 4.0, 5.0), "refuted"), ((2.9, 3.1, 3.3), "open")],
)
def test_a_promise_is_kept_where_the_found_gain_lies_inside_it(speedup, promise):
    found = judge(trial(speedup), action())
    assert found.promise == promise
    assert found.promised == (1.5, 3.0)
    assert not found.control


def test_blocks_that_something_disturbed_neither_keep_a_promise_nor_refute_it():
    found = judge(trial((1.39, 2.0, 206.0)), action())
    assert (found.promise, found.kept) == ("open", False)
    assert "disturbed" in found.reason


def test_what_nobody_predicted_is_recommended_only_where_fresh_processes_showed_it_again():
    once = trial((1.5, 1.6, 1.7), rounds=1)
    assert judge(once, action()).kept
    unpredicted = judge(once)
    assert (unpredicted.verdict, unpredicted.kept) == ("faster", False)
    assert "one pair of processes" in unpredicted.reason
    assert judge(trial((1.5, 1.6, 1.7), rounds=2)).kept


def test_what_is_faster_is_kept_only_with_an_equal_output_and_a_tail_no_worse():
    assert judge(trial((1.5, 1.6, 1.7))).kept
    assert judge(trial((1.5, 1.6, 1.7), tail=(1.1, 1.4, 1.5))).kept
    assert not judge(trial((1.5, 1.6, 1.7), tail=(0.5, 0.6, 0.7))).kept
    assert not judge(trial((0.9, 1.0, 1.1))).kept
    for state in ("differs", "unknown"):
        found = judge(trial((1.5, 1.6, 1.7), state=state))
        assert not found.kept
        assert not found.output_ok
        assert "because" in found.reason


@pytest.mark.parametrize("speedup", [(0.5, 0.6, 0.7), (0.9, 1.0, 1.1), (1.5, 1.6, 1.7), (0.5, 5.0, 60.0)])
def test_an_output_that_changed_says_how_whatever_the_times_say(speedup):
    found = judge(trial(speedup, state="differs"))
    assert (found.output, found.kept, "because" in found.reason) == ("differs", False, True)


def test_what_is_equal_in_another_type_says_so():
    made = trial((1.5, 1.6, 1.7))
    narrow = msgspec.structs.replace(made, output=msgspec.structs.replace(made.output, reason="result is a Tensor of bfloat16"))
    found = judge(narrow)
    assert (found.kept, "bfloat16" in found.reason) == (True, True)


def test_beside_other_work_nothing_is_recommended():
    (found,) = judged_trials([trial((1.5, 1.6, 1.7))], [action()], disturbed=True)
    assert (found.verdict, found.promise, found.kept) == ("faster", "kept", False)
    assert "quiet machine" in found.reason


def test_a_failed_trial_has_a_reason_and_no_numbers():
    found = judge(trial(None, failure="it crashed"), action())
    assert (found.verdict, found.reason, found.speedup, found.promise, found.kept) == ("failed", "it crashed", None, None, False)
    assert found.promised == (1.5, 3.0)


def test_a_control_has_no_promise():
    found = judge(trial((1.5, 1.6, 1.7), actions=()), action())
    assert (found.control, found.promised, found.promise, found.action) == (True, None, None, "c")


def test_a_change_that_does_two_things_is_held_against_both_together():
    actions = (action("fuse"), action("compile-graph", identity="a2"), action("both", (2.0, 5.0), "a3", combines=("a1", "a2")))
    assert action_for(("fuse", "compile-graph"), "latency", actions).id == "a3"
    assert action_for(("compile-graph",), "latency", actions).id == "a2"
    assert action_for(("batch",), "latency", actions) is None
    assert action_for(("fuse",), "period", actions) is None


def test_only_a_kept_promise_of_its_own_action_confirms_a_cause():
    held = judge(trial((1.5, 1.6, 1.7)), action())
    assert confirms([held], {"fuse"})
    assert not confirms([held], {"batch"})
    assert not confirms([judge(trial((1.5, 1.6, 1.7), state="differs"), action())], {"fuse"})
    assert not confirms([judge(trial((1.1, 1.2, 1.3)), action())], {"fuse"})
    # Inside the promise, and not distinguishable from nothing.
    assert not confirms([judge(trial((0.9, 1.6, 1.9)), action())], {"fuse"})


def allocating():
    """Half of the wall in the kernel, for fresh results."""
    operator = row("add", 0.009, group="elementwise", engine="add", flop=1e6, reads=(buffer(1, 40 * MB),), writes=(buffer(2, 40 * MB, fresh=True),))
    return facts([operator], wall_split=split(system=0.5))


def test_a_trial_in_the_facts_confirms_the_cause_and_replays():
    before = next_step(allocating())
    assert before.bottleneck.cause == "allocation"
    assert not before.bottleneck.confirmed
    promised = next(made for made in before.actions if made.action == "change-allocator")
    middle = sum(promised.speedup) / 2
    held = trial((middle * 0.98, middle, middle * 1.02), actions=("change-allocator",))
    tried = msgspec.structs.replace(allocating(), trials=(held,), untried=(Untried(action="reuse-buffers", reason="in the code"),))
    after = next_step(tried)
    assert after.bottleneck.confirmed
    assert after.tried[0].id == promised.id
    assert after.tried[0].promised == promised.speedup
    assert after.untried[0].action == "reuse-buffers"
    unchanged = {made.id: made.speedup for made in before.actions if "reuse-buffers" not in made.action}
    assert {made.id: made.speedup for made in after.actions if made.id in unchanged} == unchanged
    first = next(made for made in after.actions if made.id == promised.id)
    assert (first.id, first.found, first.change) == (promised.id, (held.speedup.low, held.speedup.high), "c")
    stored = decode(encode(after), type(after))
    assert stored == after


def test_threads_are_promised_only_on_cpus_that_others_leave_free():
    made = facts([row("mm", 0.0095, group="matmul", engine="fma", flop=0.8 * 32e9 * 0.0095, threads=1)])

    def promised(load: float) -> list[float]:
        busy = msgspec.structs.replace(made, sentinels=Sentinels(run_queue_share=0.0, steal_share=0.0, other_load=load))
        return [action.speedup[1] for action in next_step(busy).actions if action.action == "parallelise"]

    alone, beside = promised(0.0), promised(2.0)
    assert alone[0] == pytest.approx(1 / (0.05 + 0.95 / 4), rel=0.01)
    assert beside[0] == pytest.approx(1 / (0.05 + 0.95 / 2), rel=0.01)
    assert promised(3.5) == []


def test_a_neighbour_that_stretches_all_of_a_call_does_not_shrink_what_keeping_memory_is_worth():
    operator = row("add", 0.009, group="elementwise", engine="add", flop=1e6, reads=(buffer(1, 40 * MB),), writes=(buffer(2, 40 * MB, fresh=True),))

    def promised(**shares: float) -> tuple[float, float]:
        made = facts([operator], wall_split=split(**shares))
        return next(action.speedup for action in next_step(made).actions if action.action == "change-allocator")

    # Half of the running time either way: alone, and with a tenth of the wall spent waiting for a CPU.
    assert promised(system=0.45, waiting=0.1) == pytest.approx(promised(system=0.5))
