"""Level 2 in the diagnosis, from facts made by hand: serialisation and its look-alikes, the stage of a place, and what a budget asks of whom."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Diagnosis, Facts, LevelRecord, Need, Sentinels, Site, Stage, StageLine, StageTable, TargetInfo, Where
from ridgeline.core.documents import from_builtins, to_builtins
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.causes.pipeline import pipelined
from ridgeline.diagnosis.stages import stage_of
from support.facts_by_hand import around, exact, facts, row, samples, split


def stage(name: str, ms: float, *, calls: float = 1.0, busy: float | None = 1.0, interpreter: float | None = 0.0, **fields) -> Stage:
    seconds = exact(ms / 1e3, "s")
    return Stage(name=name, calls=calls, total_s=seconds, own_s=seconds, busy_cpus=busy, interpreter=interpreter, **fields)


def table(*stages: Stage, wall_ms: float | None = None, automatic: bool = False) -> StageTable:
    top = sum(part.total_s.value for part in stages if part.parent is None)
    wall = wall_ms / 1e3 if wall_ms is not None else top
    return StageTable(
        stages=stages, wall_s=exact(wall, "s"), covered_s=exact(min(top, wall), "s"), instrument="by hand", iterations=9, automatic=automatic
    )


def with_stages(stages: StageTable, **fields) -> Facts:
    wall = stages.wall_s.value
    # One dull operator far from every ceiling: no other cause has anything to say.
    return facts([row("dull", wall, flop=1e3, engine="add", group="other")], wall_s=wall, stages=stages, **fields)


def diagnose(given: Facts) -> Diagnosis:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return step


def cause(given: Facts) -> str | None:
    found = diagnose(given).bottleneck
    return found.cause if found else None


def test_the_methods_pipeline():
    """14 ms of preprocessing and 9 of inference: the frame takes the sum, a pipeline one per 14 ms."""
    given = with_stages(table(stage("preprocess", 14), stage("infer", 9)))
    found = diagnose(given)
    assert (found.bottleneck.cause, found.bottleneck.where.stage) == ("serialisation", "preprocess + infer")
    pipeline = next(action for action in found.actions if action.action == "pipeline")
    assert pipeline.metric == "period"
    assert pipeline.speedup[1] == pytest.approx(23 / 14, rel=0.01)
    assert 1.0 < pipeline.speedup[0] < pipeline.speedup[1]


def test_items_inside_a_call_fill_and_drain_the_pipeline():
    ideal = pipelined(table(stage("a", 80, calls=8), stage("b", 80, calls=8)), cores=4)
    # Eight items of 10 + 10 ms: the first takes 20, every further one 10.
    assert ideal.bound_s + ideal.fill_s == pytest.approx(0.090)
    assert ideal.speedup[1] == pytest.approx(160 / 90)


@pytest.mark.parametrize(
    ("stages", "why"),
    [
        (table(stage("only", 20)), "one stage"),
        (table(stage("a", 10, overlapped_s=0.009), stage("b", 10, overlapped_s=0.009), wall_ms=11), "they overlap already"),
        (table(stage("a", 10, busy=4.0), stage("b", 10, busy=4.0)), "both fill all CPUs"),
        (table(stage("big", 95), stage("small", 5)), "one stage is nearly all"),
        (table(stage("frame", 20), stage("a", 10, parent=0), stage("b", 10, parent=0)), "nested in the only one"),
        (table(stage("model: net", 10), stage("model: head", 10), automatic=True), "found by ridgeline itself"),
        (table(stage("a", 1), stage("b", 1), wall_ms=100), "hardly any of the time is in stages"),
        (
            table(stage("a", 10, device_s=exact(0.01, "s")), stage("b", 10, device_s=exact(0.01, "s"))),
            "both are on one device",
        ),
        (table(stage("set up", 10), stage("work", 10, calls=50)), "one of them is no item's"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_pipeline_where_none_would_help(stages, why):
    assert cause(with_stages(stages)) != "serialisation"


def test_two_stages_of_pure_python_need_processes():
    ideal = pipelined(table(stage("a", 10, interpreter=1.0), stage("b", 10, interpreter=1.0)), cores=4)
    assert ideal.processes
    assert ideal.speedup[1] == pytest.approx(2.0)
    threads = pipelined(table(stage("a", 10), stage("b", 10)), cores=4)
    assert not threads.processes
    # Items must be handed over between processes: less is promised at the least.
    assert ideal.speedup[0] < threads.speedup[0]
    action = next(a for a in diagnose(with_stages(table(stage("a", 10, interpreter=1.0), stage("b", 10, interpreter=1.0)))).actions)
    assert "in processes" in action.because


def test_the_cpus_bound_what_threads_can_do():
    two = pipelined(table(stage("a", 10), stage("b", 10), stage("c", 10)), cores=2)
    assert two.speedup[1] == pytest.approx(2.0)
    assert two.limit == "the CPUs"
    waiting = pipelined(table(stage("disk", 10, busy=0.0), stage("b", 10), stage("c", 10)), cores=2)
    assert waiting.speedup[1] == pytest.approx(3.0)
    one = pipelined(table(stage("a", 10), stage("b", 10)), cores=1)
    assert one.speedup == pytest.approx((1.0, 1.0))


#: Twelve items through stages that sleep, as a run recorded them: seconds of each stage, and the median of a call before and after its three
#: stages had been given threads of their own with queues of two items between them.
_RECORDED = table(
    stage("read", 132, calls=12, busy=0.02), stage("infer", 84, calls=12, busy=0.02), stage("write", 46.7, calls=12, busy=0.02), wall_ms=263.0
)
_SERIAL_S, _THREADED_S = 0.274, 0.152


@pytest.mark.parametrize("other_load", [0.0, 3.9, 4.0])
def test_what_threads_really_gave_lies_in_the_promise(other_load):
    seen = Sentinels(fma_ratio=around(1.0, "1"), run_queue_share=0.0, steal_share=0.0, other_load=other_load)
    action = next(a for a in diagnose(with_stages(_RECORDED, sentinels=seen)).actions if a.action == "pipeline")
    low, high = action.speedup
    assert low <= _SERIAL_S / _THREADED_S <= high
    # Neither everything nor nothing: it could have been wrong.
    assert (low, high) == (pytest.approx(1.38, abs=0.05), pytest.approx(1.84, abs=0.05))
    assert "in threads, or in tasks" in action.because
    busy = next(a for a in diagnose(with_stages(table(stage("a", 10), stage("b", 10)))).actions if a.action == "pipeline")
    assert "tasks" not in busy.because


def test_cpus_that_others_keep_busy_promise_nothing():
    stages = table(stage("a", 10, busy=0.5), stage("b", 10, busy=0.5))
    assert pipelined(stages, cores=0.4).speedup == pytest.approx((1.0, 1.0))
    busy = Sentinels(fma_ratio=around(1.0, "1"), run_queue_share=0.0, steal_share=0.0, other_load=3.6)
    assert cause(with_stages(stages)) == "serialisation"
    assert cause(with_stages(stages, sentinels=busy)) != "serialisation"


def test_a_script_whose_stages_run_once_has_no_next_item():
    stages = table(stage("load", 10), stage("train", 10))
    assert cause(with_stages(stages, target=TargetInfo(spec="run.py", kind="script", name="run.py"))) != "serialisation"
    again = table(stage("load", 10, calls=9), stage("train", 10, calls=9))
    assert cause(with_stages(again, target=TargetInfo(spec="run.py", kind="script", name="run.py"))) == "serialisation"


def test_the_start_of_a_scripts_process_is_in_the_share():
    script = TargetInfo(spec="run.py", kind="script", name="run.py")
    given = with_stages(table(stage("a", 10, calls=5), stage("b", 10, calls=5)), target=script)
    given = msgspec.structs.replace(given, samples=samples(0.080))
    assert [part.share for part in diagnose(given).stages] == pytest.approx([0.125, 0.125], rel=0.02)


def test_a_cause_inside_the_largest_stage_wins():
    given = with_stages(table(stage("search", 88), stage("load", 12)), wall_split=split(interpreter=0.85))
    found = diagnose(given)
    assert found.bottleneck.cause == "interpreter"


def test_a_perturbed_level_loses_its_stages():
    record = LevelRecord(level=2, instrument="by hand", ratio_to_ground_truth=around(1.5, "1"), perturbed=True)
    found = diagnose(with_stages(table(stage("a", 10), stage("b", 10)), levels=(record,)))
    assert found.stages == ()
    assert found.bottleneck.cause != "serialisation"


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(1, 100), st.floats(0, 4), st.floats(0, 1), st.integers(1, 9)), min_size=2, max_size=6),
    st.integers(1, 8),
    st.floats(1.0, 2.0),
)
def test_no_promise_beats_the_longest_stage_or_the_cpus(parts, cores, outside):
    stages = [stage(str(index), ms, busy=busy, interpreter=min(held, busy), calls=9.0) for index, (ms, busy, held, _) in enumerate(parts)]
    total = sum(ms for ms, *_ in parts)
    found = pipelined(table(*stages, wall_ms=outside * total), cores)
    if found is None:
        return
    low, high = found.speedup
    longest = max(part.total_s.value for part in stages if part.total_s.value >= 0.03 * outside * total / 1e3)
    assert 1.0 - 1e-9 <= low <= high
    assert high <= outside * total / 1e3 / longest + 1e-9
    assert high <= len(parts) + 1 + 1e-9


def test_where_the_bottleneck_lies():
    line = StageLine(site=Site(file="net.py", line=7, function="f"), samples=40)
    stray = StageLine(site=Site(file="net.py", line=7, function="f"), samples=2)
    stages = table(stage("frame", 10), stage("infer", 8, parent=0, lines=(line,)), stage("pack", 2, lines=(stray,)))
    given = with_stages(stages, wall_split=split(interpreter=0.0))
    assert stage_of(given, Where(file="net.py", line=7)) == "frame / infer"
    assert stage_of(given, Where(file="net.py", line=99, function="f")) == "frame / infer"
    assert stage_of(given, Where(file="other.py", line=7, function="f")) is None
    assert stage_of(given, Where(operator="conv")) is None
    assert diagnose(given).bottleneck.where.stage == "frame / infer"


def test_models_inside_stages_change_nothing_but_what_is_said_of_them():
    model = {"model": True, "interpreter": None}
    parts = [stage("read", 14), stage("infer", 9)]
    plain = table(*parts)
    inside = (stage("model: a", 5, parent=1, **model), stage("model: b", 3, parent=1, **model), stage("model: c", 2, **model))
    watched = table(
        *(msgspec.structs.replace(part, models_s=exact(s, "s")) for part, s in zip(parts, (0.0, 0.008), strict=True)), *inside, wall_ms=23
    )
    watched = msgspec.structs.replace(watched, models_s=exact(0.010, "s"))
    assert pipelined(watched, cores=4).speedup == pipelined(plain, cores=4).speedup
    one, other = diagnose(with_stages(plain)), diagnose(with_stages(watched))
    assert (other.bottleneck, other.actions) == (one.bottleneck, one.actions)
    assert (one.models_share, other.models_share) == (None, pytest.approx(10 / 23))
    assert [(part.model, part.models_share) for part in other.stages] == [
        (False, 0.0), (False, pytest.approx(8 / 9)), (True, None), (True, None), (True, None),
    ]  # fmt: skip
    assert [way.name for way in budgeted("20ms", watched, wall_s=0.023).budget_state.shrink] == ["the whole call", "read", "infer"]


def test_a_place_in_a_model_lies_in_the_stage_around_it():
    net, other = (StageLine(site=Site(file="net.py", line=line, function="f"), samples=40) for line in (7, 8))
    parts = (stage("infer", 8), stage("model: Net", 7, parent=0, model=True, lines=(net,)), stage("model: Late", 2, model=True, lines=(other,)))
    given = with_stages(table(*parts, wall_ms=10))
    assert stage_of(given, Where(file="net.py", line=7)) == "infer"
    assert stage_of(given, Where(file="net.py", line=8)) is None
    alone = with_stages(table(stage("model: Net", 8, model=True, lines=(net,)), automatic=True))
    assert stage_of(alone, Where(file="net.py", line=7)) == "model: Net"


def test_cpus_known_within_bounds_promise_the_least_at_the_low_end_and_the_most_at_the_high():
    def roughly(*ranges):
        return table(*(stage(str(index), 10, busy=None, busy_range=bounds) for index, bounds in enumerate(ranges)))

    def known(busy):
        return table(stage("0", 10, busy=busy), stage("1", 10, busy=busy))

    rough = roughly((0.5, 2.0), (0.5, 2.0))
    assert pipelined(rough, cores=2).speedup == pipelined(known(2.0), cores=2).speedup == pytest.approx((1.0, 1.0))
    assert pipelined(rough, cores=2, hopeful=True).speedup == pipelined(known(0.5), cores=2).speedup
    assert pipelined(roughly(None, None), cores=2).speedup == pipelined(known(1.0), cores=2).speedup


def test_stages_are_asked_for_only_where_there_are_marks():
    given = msgspec.structs.replace(facts([row("dull", 0.01)]), target=TargetInfo(spec="x", kind="python", name="x"))
    assert not isinstance(next_step(given), Need)
    marked = msgspec.structs.replace(given, target=TargetInfo(spec="x", kind="python", name="x", marks=("ridgeline.stage",)))
    step = next_step(marked)
    assert isinstance(step, Need)
    assert (step.level, step.instrument) == (2, "stages")
    assert not isinstance(next_step(msgspec.structs.replace(marked, stages=table())), Need)
    assert not isinstance(next_step(msgspec.structs.replace(marked, cannot={**marked.cannot, "stages": "no"})), Need)


@pytest.mark.parametrize(
    ("fields", "code", "said"),
    [
        ({"unfinished": {"decode": 3, "wait": 1}}, "open-stages", "entered and not left when the call ended: decode (3), wait"),
        (
            {"unfinished": dict.fromkeys("abcdef", 1)},
            "open-stages",
            "entered and not left when the call ended: a, b, c, d, 2 more names",
        ),
        ({"missed": 1}, "missed-stages", "1 entry of stages did not fit into the recording"),
        ({"merged": 904.0}, "merged-stages", "904 entries a call in the row (other stages): the program makes up more than 4,096 names"),
        ({"left_out": 4033}, "left-out-stages", "4,033 stages beyond the largest 2 are not in the table"),
        ({"child_processes": 1}, "child-processes", "the call had at least 1 child process, whose stages are not seen"),
    ],
)
def test_what_is_not_in_the_table_is_said(fields, code, said):
    stages = table(stage("decode", 12), stage("infer", 28))
    assert not [warning for warning in diagnose(with_stages(stages)).warnings if warning.code.endswith(("stages", "processes"))]
    found = diagnose(with_stages(msgspec.structs.replace(stages, **fields)))
    (warning,) = [warning for warning in found.warnings if warning.code.endswith(("stages", "processes"))]
    assert (warning.code, warning.message) == (code, said)
    assert warning.effect


def test_child_processes_are_a_word_only_where_somebody_marks_stages():
    given = with_stages(msgspec.structs.replace(table(wall_ms=10), child_processes=2))
    assert not any(warning.code == "child-processes" for warning in diagnose(given).warnings)
    marked = msgspec.structs.replace(given.target, marks=("ridgeline.stage",))
    assert any(warning.code == "child-processes" for warning in diagnose(msgspec.structs.replace(given, target=marked)).warnings)


def budgeted(budget: str, stages: StageTable | None = None, n: int = 500, wall_s: float = 0.040) -> Diagnosis:
    target = TargetInfo(spec="net.py:f", kind="python", name="f", threads=4, budget=budget)
    given = facts([row("dull", wall_s, flop=1e3, engine="add")], wall_s=wall_s, stages=stages, target=target, samples=samples(wall_s, n))
    return diagnose(given)


def test_a_missed_budget_says_what_must_shrink():
    found = budgeted("36ms", table(stage("decode", 12), stage("model: net", 26), stage("note", 2))).budget_state
    assert found.state == "missed"
    assert found.excess_s == pytest.approx(0.004, rel=0.05)
    ways = {way.name: way for way in found.shrink}
    assert ways["decode"].now_s == pytest.approx(0.012, rel=0.05)
    assert ways["decode"].target_s == pytest.approx(0.008, rel=0.1)
    assert ways["model: net"].part == pytest.approx(4 / 26, rel=0.1)
    assert ways["note"].target_s is None
    assert ways["the whole call"].part == pytest.approx(0.1, rel=0.1)
    assert "decode must go from 12.0 ms to 8.0" in found.because


def test_every_way_to_shrink_meets_the_budget():
    found = budgeted("30ms@p99", table(stage("a", 15), stage("b", 14), stage("c", 11))).budget_state
    assert found.state == "missed"
    for way in found.shrink:
        if way.target_s is not None:
            assert found.value_s - (way.now_s - way.target_s) == pytest.approx(found.limit_s)


def test_overlapped_stages_shrink_only_at_the_longest():
    stages = table(stage("a", 39, overlapped_s=0.03), stage("b", 30, overlapped_s=0.03), wall_ms=40)
    assert [way.name for way in budgeted("36ms", stages).budget_state.shrink] == ["the whole call", "a"]
    assert [way.name for way in budgeted("20ms", stages).budget_state.shrink] == ["the whole call"]


def test_a_tail_without_enough_samples_is_undecided_and_says_how_many():
    found = budgeted("50ms@p99", n=298).budget_state
    assert (found.state, found.value_s, found.samples, found.samples_needed) == ("undecided", None, 298, 299)
    assert "needs 299 samples, there are 298" in found.because
    assert budgeted("50ms@p99", n=299).budget_state.state == "met"


def test_a_median_over_the_limit_misses_the_tail_as_well():
    found = budgeted("30ms@p99", n=50).budget_state
    assert (found.state, found.value_s) == ("missed", None)
    assert "at least 10" in found.because
    assert found.because.startswith("the median alone is 40")
    # A tail that was never known is said to be unknown, and how to know it.
    assert "p99 needs 299 samples, there are 50" in found.because
    assert "--samples" in found.because


def test_a_met_budget_has_slack_and_nothing_to_shrink():
    found = budgeted("50ms").budget_state
    assert (found.state, found.shrink, found.excess_s) == ("met", (), None)
    assert found.slack_s == pytest.approx(0.010, rel=0.05)
    assert budgeted("").budget_state is None


def test_the_document_keeps_stages_and_budget():
    found = budgeted("36ms", table(stage("decode", 12, lanes=("main",)), stage("infer", 28)))
    document = to_builtins(found)
    assert [(part["name"], part["median_s"]) for part in document["stages"]] == [("decode", 0.012), ("infer", 0.028)]
    assert document["budget_state"]["state"] == "missed"
    assert from_builtins(document, Diagnosis) == found
