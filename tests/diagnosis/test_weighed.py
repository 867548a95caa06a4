"""Actions after trials: what speaks for one, what against, what is recommended by measurement alone."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Action, Tried
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.weighed import weighed
from support.facts_by_hand import facts, row

from .test_trials import action, trial


def tried(verdict="faster", speedup=(1.5, 1.7), *, kept=None, identity="a1", name="fuse", **fields) -> Tried:
    defaults = {
        "promised": (1.5, 3.0) if identity else None, "output_ok": True, "output": "equal", "change": "changer", "control": not identity,
        "promise": "kept" if identity else None, "found": speedup[0] if speedup else None, "tail": "same",
    }  # fmt: skip
    kept = verdict == "faster" if kept is None else kept
    return Tried(action=name, id=identity, verdict=verdict, speedup=speedup, kept=kept, **{**defaults, **fields})


def names(actions) -> list[str]:
    return [one.action for one in actions]


FUSE, BATCH = action("fuse"), action("batch", identity="a2")


def test_without_trials_nothing_moves():
    assert weighed((FUSE, BATCH), (), 1.0) == (FUSE, BATCH)


def test_a_gain_between_results_counts_a_third():
    """1.5× of a call is before 2.0× between results (1.26 by a third), and 1.2× of a call is not."""
    shorter, between = action("fuse", (1.5, 3.0)), action("pipeline", (2.0, 2.2), "a2", "period")
    little = action("reuse-buffers", (1.2, 3.0), "a3")
    assert names(weighed((little, between, shorter), (), 1.0)) == ["fuse", "pipeline", "reuse-buffers"]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (tried("same", (0.98, 1.03), promise="refuted"), "no faster"),
        (tried("slower", (0.5, 0.6), promise="refuted"), "slower"),
        (tried("inconclusive", (0.9, 1.1), promise="refuted"), "not known to be faster"),
        (tried("faster", kept=False, tail="slower"), "slow calls are slower"),
        (tried("faster", kept=False, output_ok=False, output="differs"), "its output differs"),
    ],
)
def test_what_a_trial_speaks_against_is_last_and_not_recommended(made, words):
    after = weighed((FUSE, BATCH), (made,), 1.0)
    assert names(after) == ["batch", "fuse"]
    assert [one.recommended for one in after] == [True, False]
    assert words in after[1].outcome
    assert "changer" in after[1].outcome
    assert after[1].found == made.speedup
    # Fields are only added: the promise stays what it was.
    assert msgspec.structs.replace(after[1], change="", found=None, recommended=True, outcome="", settled=False) == FUSE


@pytest.mark.parametrize(
    "made",
    [
        tried("failed", None, promise=None, output_ok=False, output="unknown"),
        tried("inconclusive", (0.9, 1.9), promise="open"),
        tried("faster", kept=False, output_ok=False, output="unknown", reason="returns nothing"),
    ],
)
def test_what_a_trial_leaves_open_stays_where_it_was(made):
    after = weighed((FUSE, BATCH), (made,), 1.0)
    assert names(after) == ["fuse", "batch"]
    assert after[0].recommended
    assert after[0].outcome


def test_what_was_found_faster_than_the_least_of_a_promise_comes_first():
    after = weighed((FUSE, BATCH), (tried(identity="a2", name="batch", speedup=(1.51, 1.7)),), 1.0)
    assert names(after) == ["batch", "fuse"]
    assert after[0].found == (1.51, 1.7)
    assert "as promised" in after[0].outcome


def test_the_least_that_is_known_of_each_decides_the_order():
    little, much, both = (
        action("change-allocator", (1.10, 1.44)),
        action("fuse", (1.16, 2.28), "a2"),
        action("x", (1.3, 3.0), "a3", combines=("a1", "a2")),
    )
    assert names(weighed((little, much, both), (), 1.0)) == ["fuse", "change-allocator", "x"]
    made = tried(speedup=(1.07, 1.16), name="change-allocator", promised=little.speedup)
    assert names(weighed((little, much, both), (made,), 1.0)) == ["fuse", "change-allocator", "x"]
    better = tried(speedup=(1.2, 1.3), name="change-allocator", promised=little.speedup)
    assert names(weighed((little, much, both), (better,), 1.0))[0] == "change-allocator"
    # A trial of all parts at once speaks for each of them.
    whole = tried(speedup=(1.4, 1.5), name="x", identity="a3", promised=both.speedup)
    assert {one.gain for one in weighed((little, much, both), (whole,), 1.0)} == {(1.4, 1.5)}


def test_a_quiet_machine_comes_before_what_was_measured_without_it():
    assert names(weighed((action("fuse", (2.0, 3.0)), action("fix-environment", (1.0, 1.2), "a2")), (), 1.0)) == ["fix-environment", "fuse"]


def test_what_a_settled_trial_found_stands_in_place_of_the_promise():
    (settled,) = weighed((FUSE,), (tried(speedup=(1.25, 1.5)),), 0.3)
    assert settled.gain == (1.25, 1.5)
    # FUSE promises at most 3.0 for 0.1 s, so that a call takes 0.3 s now.
    assert settled.after_s == (pytest.approx(0.2), pytest.approx(0.24))
    (open_still,) = weighed((FUSE,), (tried("inconclusive", (0.9, 1.9), promise="open"),), 0.3)
    assert (open_still.gain, open_still.after_s) == (FUSE.speedup, FUSE.median_after_s)


def test_one_of_two_changes_that_works_is_enough():
    after = weighed((FUSE,), (tried("slower", (0.5, 0.6)), tried(change="other")), 1.0)
    assert (after[0].recommended, after[0].change) == (True, "other")


def test_a_combination_falls_with_its_parts_and_a_part_with_its_combination():
    both = action("fuse + batch", (2.0, 5.0), "a3", combines=("a1", "a2"))
    after = {one.id: one for one in weighed((FUSE, BATCH, both), (tried("same", (0.98, 1.03)),), 1.0)}
    assert [after[identity].recommended for identity in ("a1", "a2", "a3")] == [False, True, False]
    assert "fuse" in after["a3"].outcome
    after = {one.id: one for one in weighed((FUSE, BATCH, both), (tried("same", (0.98, 1.03), identity="a3", name="fuse + batch"),), 1.0)}
    assert [after[identity].recommended for identity in ("a1", "a2", "a3")] == [False, False, False]


def test_a_trial_of_the_period_says_nothing_of_the_latency():
    after = weighed((FUSE,), (tried("same", (0.98, 1.03), metric="period"),), 1.0)
    assert after == (FUSE,)


@pytest.mark.parametrize("kept", [True, False])
def test_a_control_found_faster_is_shown_and_recommended_where_it_is_kept(kept):
    control = tried(identity="", name="one-thread", change="one-thread", speedup=(1.6, 2.0), kept=kept, reason="keep it: --threads 1")
    after = weighed((FUSE,), (control,), 1.0)
    made = next(one for one in after if one.basis == "measured")
    assert (made.outcome + made.because).count("keep it") == 1
    assert (made.action, made.speedup, made.recommended) == ("one-thread", (1.6, 2.0), kept)
    assert made.median_after_s == (pytest.approx(0.5), pytest.approx(0.625))
    assert names(after)[0] == ("one-thread" if kept else "fuse")


@pytest.mark.parametrize(
    "control",
    [
        tried("same", (0.99, 1.01), identity="", name="c"),
        tried("slower", (0.5, 0.6), identity="", name="c"),
        tried("faster", identity="", name="c", kept=False, output_ok=False, output="unknown"),
        tried("faster", identity="", name="c", kept=False, tail="slower"),
    ],
)
def test_no_other_control_becomes_an_action(control):
    assert weighed((FUSE,), (control,), 1.0) == (FUSE,)


def test_an_open_verdict_still_recommends_what_was_measured():
    nothing_known = facts([row("op", 0.009, group="other", engine="fma", flop=1e5)])
    before = next_step(nothing_known)
    assert (before.bound, before.actions) == ("inconclusive", ())
    found = msgspec.structs.replace(trial((1.5, 1.6, 1.7), tail=(1.2, 1.4, 1.6), actions=()), change="one-thread")
    after = next_step(msgspec.structs.replace(nothing_known, trials=(found,)))
    assert [(one.action, one.basis, one.recommended) for one in after.actions] == [("one-thread", "measured", True)]
    assert "one-thread 1.50–1.70×" in after.headline
    assert isinstance(after.actions[0], Action)


def test_a_healthy_verdict_does_not_deny_what_was_found_faster():
    near_peak = facts([row("gemm", 0.0098, group="matmul", engine="fma", flop=0.9 * 512e9 * 0.0098, precision="int8")])
    before = next_step(near_peak)
    assert before.bound == "none"
    found = msgspec.structs.replace(trial((1.5, 1.6, 1.7), actions=()), change="one-thread", rounds=2)
    after = next_step(msgspec.structs.replace(near_peak, trials=(found,)))
    assert after.bound == before.bound
    assert "one-thread 1.50–1.70×" in after.headline
    assert "Nothing here is worth a change" not in after.headline
