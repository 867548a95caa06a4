"""Cold start: named where each start serves one call, with the promise of a warm process; never for a target that is used again and again."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import ColdStart, Diagnosis, Need, Sentinels
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import around, exact, facts, row


def given(first_s: float, use: str = "once", **fields):
    made = facts([row("gemm", 0.0095, group="matmul", engine="fma", flop=0.8 * 128e9 * 0.0095)], first_s=first_s)
    target = msgspec.structs.replace(made.target, use=use)
    cold = ColdStart(load_s=exact(0.2, "s"), first_s=around(first_s, "s", 0.1), process_s=exact(0.02, "s"), starts=3)
    return msgspec.structs.replace(made, target=target, cold=cold, **fields)


def diagnosed(made) -> Diagnosis:
    step = next_step(made)
    assert isinstance(step, Diagnosis), step
    return step


def test_a_first_call_a_hundred_times_dearer_is_the_bottleneck_of_a_single_use():
    found = diagnosed(given(1.0))
    assert found.bottleneck.cause == "cold-start"
    assert found.bottleneck.share == pytest.approx(0.99, abs=0.002)
    first = found.actions[0]
    assert first.action == "pre-warm"
    # First call 0.9–1.1 s over a steady call of 10 ms ± 1.3 %, and a fifth to spare for the few starts.
    assert first.speedup == (pytest.approx(90 / 1.2, rel=0.02), pytest.approx(110 * 1.2, rel=0.02))
    assert first.median_after_s[0] == pytest.approx(1.0 / first.speedup[1])
    # Gains on steady calls are none where each start serves one call.
    assert [action.action for action in found.actions] == ["pre-warm"]


def test_a_busy_machine_comes_first_only_where_it_could_explain_the_first_call():
    busy = Sentinels(run_queue_share=0.3, steal_share=0.0, other_load=1.0)
    assert diagnosed(given(1.0, sentinels=busy)).bottleneck.cause == "cold-start"
    assert diagnosed(given(0.04, sentinels=busy)).bottleneck.cause == "interference"


def test_a_first_call_like_the_others_is_no_cold_start():
    assert diagnosed(given(0.012)).bottleneck.cause != "cold-start"


def test_a_target_that_is_used_again_and_again_is_not_accused_and_not_even_measured():
    made = msgspec.structs.replace(given(1.0, use="repeated"), cold=None)
    found = diagnosed(made)
    assert "cold-start" not in [found.bottleneck.cause, *(other.cause for other in found.runners_up)]
    assert "cold-first-call" in [warning.code for warning in found.warnings]
    assert "cold-first-call" not in [warning.code for warning in diagnosed(msgspec.structs.replace(made, first_s=0.4)).warnings]
    # Nor where noise keeps the times from settling.
    unsteady = diagnosed(msgspec.structs.replace(made, steady=False))
    assert unsteady.bottleneck.cause != "cold-start"


def test_a_single_use_asks_for_fresh_processes_first():
    step = next_step(msgspec.structs.replace(given(1.0), cold=None))
    assert isinstance(step, Need)
    assert step.instrument == "cold-start"


def test_a_budget_of_one_call_is_held_against_first_calls():
    def held(budget: str, *, use: str = "once", kind: str = "onnx", cold: bool = True):
        made = given(0.3, use=use)
        made = msgspec.structs.replace(made, target=msgspec.structs.replace(made.target, budget=budget, kind=kind))
        if not cold:
            made = msgspec.structs.replace(made, cold=None, cannot={**made.cannot, "cold-start": "no"})
        return diagnosed(made).budget_state

    missed = held("100ms")
    assert (missed.state, missed.of, missed.samples, missed.value_s) == ("missed", "first calls", 3, 0.3)
    assert [way.kind for way in missed.shrink] == ["call"]
    assert missed.because.startswith("first calls of 3 fresh processes")
    assert held("400ms").state == "met"
    # The same calls where each start serves many.
    assert (held("100ms", use="repeated").state, held("100ms", use="repeated").of) == ("met", "steady calls")
    # A tail of three starts is not known, unless their median alone misses it.
    assert held("400ms@p99").state == "undecided"
    assert held("100ms@p99").state == "missed"
    # Nothing is taken from steady calls where no fresh process was timed; a script is one in every call.
    assert (held("100ms", cold=False).state, held("100ms", cold=False).value_s) == ("undecided", None)
    assert held("100ms", cold=False, kind="script").state == "met"
