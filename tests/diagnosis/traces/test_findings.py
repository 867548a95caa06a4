"""Findings from reports written by hand: the cause, its share as a quotient, promises bounded by Amdahl and the path, silence where all is well."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import (
    CriticalPath,
    DeviceUse,
    Figure,
    FrameUse,
    Gap,
    IterationReport,
    LaneUse,
    OperatorUse,
    PartitionReport,
    Pause,
    ProfileRow,
    ProfileTable,
    ReadReport,
    SerialPair,
    TraceOverhead,
)
from ridgeline.diagnosis.traces import findings_of


def device(name: str = "GPU 0", *, window_s: float = 1.0, busy_s: float = 1.0, **more: object) -> DeviceUse:
    fields = {
        "events": 100, "sum_s": busy_s, "start_s": 0.0, "idle_s": window_s - busy_s, "idle_share": (window_s - busy_s) / window_s,
        "compute_s": busy_s, "communication_s": 0.0, "copy_s": 0.0, "fill_s": 0.0, "exposed_communication_s": 0.0, "exposed_copy_s": 0.0,
        "overlapped_s": 0.0, **more,
    }  # fmt: skip
    return DeviceUse(name=name, window_s=window_s, busy_s=busy_s, **fields)


def report(**fields: object) -> ReadReport:
    return ReadReport(files=("trace.json",), format="chrome", **{"window_s": 1.0, **fields})


def idling(because: str, idle_s: float = 0.4, *, gap_s: float = 5e-4, **more: object) -> ReadReport:
    gap = Gap(device="GPU 0", start_s=0.1, duration_s=gap_s, after="k", waiting_for="host", because=because)
    return report(devices=(device(busy_s=1 - idle_s, idle_because_s={because: idle_s}),), gaps=(gap,), gap_count=1, **more)


def causes(found: ReadReport) -> list[str]:
    return [one.cause for one in findings_of(found)[0]]


@pytest.mark.parametrize(
    ("because", "cause"),
    [
        ("launch-bound", "dispatch"), ("operator", "dispatch"), ("synchronisation", "synchronisation"), ("python", "interpreter"),
        ("copy", "transfer"), ("data loading", "input-output"),
    ],
)  # fmt: skip
def test_what_fills_the_gaps_names_the_cause_and_its_share_is_a_quotient(because: str, cause: str) -> None:
    findings, healthy = findings_of(idling(because))
    assert [one.cause for one in findings] == [cause]
    assert healthy is False
    found = findings[0]
    assert found.share == pytest.approx(0.4)
    assert found.confirmed is False
    shares = [item.quantity for item in found.evidence if item.quantity.unit == "1"]
    assert shares[0].value == pytest.approx(0.4)
    assert "400 ms of 1.00 s" in shares[0].origin
    assert found.actions


def test_promises_keep_to_the_law_of_amdahl() -> None:
    findings, _ = findings_of(idling("synchronisation"))
    (action,) = findings[0].actions
    # Nothing can give more than the share: 1 ÷ (1 − 0.4).
    assert action.speedup[1] == pytest.approx(1 / 0.6)
    assert action.speedup[0] == pytest.approx(1 / (1 - 0.4 * 0.3))
    assert action.median_after_s == (pytest.approx(0.6), pytest.approx(1 - 0.4 * 0.3))


def test_the_critical_path_bounds_the_promise() -> None:
    path = CriticalPath(length_s=1.0, window_s=1.0, covered_share=1.0, pieces=(), by_label={"compute": 0.9, "wait": 0.1})
    findings, _ = findings_of(idling("synchronisation", critical_path=path))
    assert findings[0].actions[0].speedup[1] == pytest.approx(1 / 0.9)
    unknown = msgspec.structs.replace(path, covered_share=0.2)
    findings, _ = findings_of(idling("synchronisation", critical_path=unknown))
    assert findings[0].actions[0].speedup[1] == pytest.approx(1 / 0.6)


def test_a_promise_is_about_a_steady_iteration_where_there_are_any() -> None:
    steps = IterationReport(how="marks", name="step", spans_s=((0.0, 0.1),) * 10, median_s=0.1)
    findings, _ = findings_of(idling("synchronisation", iterations=steps))
    assert findings[0].actions[0].median_after_s[0] == pytest.approx(0.06)


def test_one_process_that_loads_ahead_hides_no_more_than_there_is_work() -> None:
    findings, _ = findings_of(idling("data loading", 0.8))
    (action,) = findings[0].actions
    # 0.2 s of work hide 0.2 of 0.8 s of loading, half of that at the least; more processes load the rest.
    assert action.speedup == pytest.approx((1.0 / 0.9, 1.0 / 0.2))
    assert action.metric == "period"


@pytest.mark.parametrize("because", ["launch-bound", "synchronisation", "nothing known", "data loading", "copy", "python"])
def test_a_per_cent_of_idle_time_is_healthy(because: str) -> None:
    assert findings_of(idling(because, 0.01)) == ((), True)


def test_idle_time_that_nothing_explains_is_neither_healthy_nor_a_finding() -> None:
    assert findings_of(idling("nothing known", 0.5)) == ((), None)


def test_a_report_of_nothing_cannot_be_told() -> None:
    assert findings_of(report(window_s=None)) == ((), None)


def test_shares_over_several_devices_add_numerators_and_denominators() -> None:
    devices = (device("GPU 0", busy_s=0.5, idle_because_s={"launch-bound": 0.5}), device("GPU 1", window_s=3.0, busy_s=3.0))
    findings, _ = findings_of(report(devices=devices, window_s=3.0))
    assert findings[0].share == pytest.approx(0.5 / 4.0)
    assert findings[0].where.lane == "GPU 0"


def test_exposed_copies_and_communication() -> None:
    found = report(devices=(device(exposed_copy_s=0.3, exposed_communication_s=0.2),))
    assert [(one.cause, pytest.approx(one.share)) for one in findings_of(found)[0]] == [("transfer", 0.3), ("transfer", 0.2)]


def test_uneven_devices_are_rebalanced_towards_the_mean() -> None:
    devices = (device("GPU 0", compute_s=0.9), device("GPU 1", compute_s=0.3))
    (found,) = findings_of(report(devices=devices))[0]
    assert (found.cause, found.where.lane) == ("low-parallelism", "GPU 0")
    assert found.share == pytest.approx(0.9 - 0.6)
    assert causes(report(devices=(device("GPU 0", compute_s=0.9), device("GPU 1", compute_s=0.85)))) == []


def operator(name: str, *, calls: int = 1000, own_s: float = 0.5, **more: object) -> OperatorUse:
    return OperatorUse(name=name, kind="operator", calls=calls, total_s=own_s, own_s=own_s, share=own_s, **more)


def test_a_host_between_many_operators_is_bound_by_issuing_them() -> None:
    overhead = TraceOverhead(window_s=1.0, operators_s=0.6, gap_s=0.4, gap_share=0.4)
    assert causes(report(overhead=overhead, operators=(operator("Add"),))) == ["dispatch"]
    # Few and far between: something else happens there, and nothing tells what.
    assert findings_of(report(overhead=overhead, operators=(operator("Add", calls=60),))) == ((), None)
    filled = TraceOverhead(window_s=1.0, operators_s=0.97, gap_s=0.03, gap_share=0.03)
    assert findings_of(report(overhead=filled, operators=(operator("Add"),))) == ((), True)


def test_a_long_pause_is_not_what_issuing_operators_costs() -> None:
    pause = Pause(start_s=0.2, duration_s=0.3, after="SGD", during="sleep")
    overhead = TraceOverhead(window_s=1.0, operators_s=0.5, gap_s=0.5, gap_share=0.5, pauses_s=0.3, pauses=(pause,), calls=500)
    findings, healthy = findings_of(report(overhead=overhead, operators=(operator("Add"),)))
    assert [(one.cause, pytest.approx(one.share), len(one.actions) > 0) for one in findings] == [("dispatch", 0.2, True), ("unknown", 0.3, False)]
    assert healthy is False
    # 0.2 s over the 500 operators that they lie between.
    assert [item.quantity.value for item in findings[0].evidence][-1] == pytest.approx(4e-4)
    assert "after SGD" in findings[1].summary
    assert "in sleep" in findings[1].summary
    # Without the pause too little is left for issuing to be worth a word.
    alone = msgspec.structs.replace(overhead, operators_s=0.65, gap_s=0.35)
    assert causes(report(overhead=alone, operators=(operator("Add"),))) == ["unknown"]


def test_iterations_decide_what_is_overhead() -> None:
    overhead = TraceOverhead(window_s=10.0, operators_s=1.0, gap_s=9.0, gap_share=0.9, iterations=((1.0, 0.02), (1.0, 0.02)))
    assert causes(report(overhead=overhead, operators=(operator("Add"),), window_s=10.0)) == []


def test_lanes_that_take_turns_give_the_sum_less_the_larger() -> None:
    pair = SerialPair(first="load", second="infer", first_s=0.014, second_s=0.009, overlapped_s=0.0, saved_s=0.009, steps=20)
    steps = IterationReport(how="marks", name="frame", spans_s=((0.0, 0.023),) * 20, median_s=0.023)
    (found,) = findings_of(report(serial=(pair,), iterations=steps))[0]
    (action,) = found.actions
    # The worked example of the method: 14 plus 9 ms turn into 14 ms between results.
    assert found.cause == "serialisation"
    assert action.metric == "period"
    assert action.speedup[1] == pytest.approx(23 / 14)
    assert action.median_after_s[0] == pytest.approx(0.014)


def converting(kind: str, where: str, part_s: float, whole_s: float) -> Figure:
    return Figure(
        name=f"{kind} conversions on {where}", value=part_s / whole_s, numerator=part_s, denominator=whole_s, unit="s",
        numerator_of="union of 7 events such as Reorder", denominator_of="busy",
    )  # fmt: skip


def test_conversions_are_a_part_of_what_devices_or_the_host_did() -> None:
    (found,) = findings_of(report(figures=(converting("layout", "host", 0.2, 1.0), converting("cast", "host", 0.1, 1.0))))[0]
    assert (found.cause, found.where.operator, found.where.lane) == ("layout-conversion", "Reorder", "host")
    assert found.share == pytest.approx(0.3)
    # Of two devices one converts a fifth of its time: a tenth of what both did.
    (found,) = findings_of(report(figures=(converting("layout", "GPU 0", 0.2, 1.0),), devices=(device("GPU 0"), device("GPU 1"))))[0]
    assert found.share == pytest.approx(0.1)
    assert causes(report(figures=(converting("layout", "GPU 0", 0.04, 1.0),), devices=(device(),))) == []


def test_a_thread_that_asks_again_and_again_spins() -> None:
    asking = Figure(
        name="polling on thread 7: cudaEventQuery", value=0.5, numerator=0.5, denominator=1.0, unit="s", numerator_of="900 calls in 3 rows",
        denominator_of="window",
    )  # fmt: skip
    (found,) = findings_of(report(figures=(asking,)))[0]
    assert (found.cause, found.where.lane, found.where.function) == ("spin-wait", "thread 7", "cudaEventQuery")


@pytest.mark.parametrize("name", ["ConvTranspose", "broadcast", "Toeplitz", "topk", "Tongue"])
def test_names_that_only_look_like_conversions_are_left_alone(name: str) -> None:
    rows = (ProfileRow(name="a", kind=name, total_s=0.003), ProfileRow(name="b", kind="Conv", total_s=0.007))
    assert causes(report(window_s=None, tables=(ProfileTable(rows=rows),))) == []


def test_conversions_in_a_table_of_layers() -> None:
    rows = (ProfileRow(name="a", kind="Transpose", total_s=0.003), ProfileRow(name="b", kind="Conv", total_s=0.007))
    (found,) = findings_of(report(window_s=None, tables=(ProfileTable(rows=rows, of="layers"),)))[0]
    assert found.share == pytest.approx(0.3)


def partitions(**more: object) -> PartitionReport:
    fields = {"count": 4, "runs": 7, "nodes": 100, "delegated": 95, "handoffs": 6, "handoff_s": None, "fallbacks": {"ArgMax": 1, "Resize": 1}, **more}
    return PartitionReport(**fields)


def test_handoffs_with_a_price_promise_what_one_partition_gives() -> None:
    # The second case of the method: 21 ms in seven partitions, 8 ms in one.
    found = partitions(handoff_s=0.011, providers={"NPU": 0.008, "CPU": 0.002}, without_s=(0.008, 0.009))
    (finding,) = findings_of(report(window_s=None, partitions=found))[0]
    (action,) = finding.actions
    assert finding.cause == "partition-handoff"
    assert action.speedup == (pytest.approx(21 / 9), pytest.approx(21 / 8))
    assert action.median_after_s == (pytest.approx(0.008), pytest.approx(0.009))


def test_handoffs_without_a_price_promise_nothing() -> None:
    (finding,) = findings_of(report(window_s=None, partitions=partitions()))[0]
    assert (finding.cause, finding.bound, finding.actions) == ("partition-handoff", "inconclusive", ())


def test_one_partition_with_nearly_all_nodes_is_healthy() -> None:
    one = partitions(count=1, runs=1, handoffs=0, delegated=100, fallbacks={})
    assert findings_of(report(window_s=None, partitions=one)) == ((), True)
    assert (
        causes(report(window_s=None, partitions=partitions(count=1, runs=3, handoffs=2, delegated=96, handoff_s=0.001, providers={"NPU": 0.01})))
        == []
    )


def test_first_iterations_are_told_only_where_nothing_steady_stands() -> None:
    steps = IterationReport(how="marks", name="step", spans_s=((0.0, 0.55), (0.55, 0.05), (0.6, 0.06)), first=1)
    (found,) = findings_of(report(devices=(device(),), iterations=steps))[0]
    assert found.cause == "cold-start"
    assert found.share == pytest.approx(0.5)
    assert found.actions[0].median_after_s[0] == pytest.approx(0.5)
    assert causes(idling("synchronisation", iterations=steps)) == ["synchronisation"]
    steady = msgspec.structs.replace(steps, spans_s=((0.0, 0.55), *((0.55 + 0.05 * i, 0.05) for i in range(9))), median_s=0.05)
    assert findings_of(report(devices=(device(),), iterations=steady)) == ((), True)


def test_long_gaps_are_not_what_issuing_work_costs() -> None:
    def stopped(activity: str) -> ReadReport:
        found = idling("launch-bound", gap_s=0.4)
        return msgspec.structs.replace(found, gaps=tuple(msgspec.structs.replace(gap, activity=activity, covered_share=0.9) for gap in found.gaps))

    (memory,) = findings_of(stopped("cudaMalloc"))[0]
    assert (memory.cause, memory.actions[0].action) == ("allocation", "reuse-buffers")
    (other,) = findings_of(stopped("cuModuleLoadData"))[0]
    assert (other.cause, other.bound, other.actions) == ("unknown", "inconclusive", ())


def test_where_only_long_gaps_are_listed_nothing_is_said_of_the_others() -> None:
    found = idling("launch-bound", gap_s=0.01)
    gap = msgspec.structs.replace(found.gaps[0], activity="aten::lstm", covered_share=0.9)
    assert causes(msgspec.structs.replace(found, gaps=(gap,), gap_count=5000)) == []
    assert causes(msgspec.structs.replace(found, gaps=(gap,), gap_count=1)) == ["dispatch"]


def test_rows_that_fill_the_wall_of_a_call_are_healthy() -> None:
    rows = tuple(ProfileRow(name=str(index), kind="Conv", total_s=0.0096) for index in range(10))
    table = ProfileTable(rows=rows, per_call=True, wall_s=0.1)
    assert findings_of(report(window_s=None, tables=(table,))) == ((), True)
    assert findings_of(report(window_s=None, tables=(msgspec.structs.replace(table, wall_s=0.2),))) == ((), None)


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        ("pthread_spin_lock", "spin-wait"), ("gomp_team_barrier_wait_end", "spin-wait"), ("_int_malloc", "allocation"), ("free", "allocation"),
        ("__memcpy_avx_unaligned_erms", "copy"), ("_PyEval_EvalFrameDefault", "interpreter"), ("__GI___pthread_mutex_lock", "lock-contention"),
    ],
)  # fmt: skip
def test_names_of_functions_tell_what_the_time_goes_to(function: str, cause: str) -> None:
    frames = (
        FrameUse(function=function, own=3, total=3, own_share=0.3, total_share=0.3),
        FrameUse(function="f", own=7, total=7, own_share=0.7, total_share=1),
    )
    found = report(window_s=None, frames=frames, measure="cpu-clock", unit="count")
    assert causes(found) == [cause]
    assert causes(msgspec.structs.replace(found, measure="allocated")) == []
    assert causes(msgspec.structs.replace(found, frames=frames[1:])) == []


@pytest.mark.parametrize("function", ["freeze", "matrix_free_solver", "my_malloc_statistics", "memory_copy_plan", "decompress"])
def test_functions_that_only_sound_alike_are_left_alone(function: str) -> None:
    frames = (FrameUse(function=function, own=9, total=9, own_share=0.9, total_share=0.9),)
    assert causes(report(window_s=None, frames=frames, measure="cpu", unit="s")) == []


_PARTS = st.floats(0.0, 1.0)


@settings(deadline=None)
@given(
    idle=st.dictionaries(st.sampled_from(["launch-bound", "synchronisation", "copy", "python", "data loading", "nothing known"]), _PARTS, max_size=4),
    exposed=_PARTS, busy_s=_PARTS, path=_PARTS,
)  # fmt: skip
def test_whatever_is_promised_is_finite_ordered_and_under_the_share(idle: dict[str, float], exposed: float, busy_s: float, path: float) -> None:
    window_s = busy_s + sum(idle.values()) + 1e-6
    used = device(window_s=window_s, busy_s=busy_s, idle_because_s=idle, exposed_copy_s=exposed * busy_s)
    along = CriticalPath(length_s=window_s, window_s=window_s, covered_share=path, pieces=(), by_label={"compute": window_s * path})
    findings, healthy = findings_of(report(devices=(used,), window_s=window_s, critical_path=along))
    assert healthy is (False if findings else healthy)
    ids = [action.id for one in findings for action in one.actions]
    assert len(ids) == len(set(ids))
    for one in findings:
        assert 0.05 <= one.share <= 1.0
        for action in one.actions:
            low, high = action.speedup
            assert 1.0 <= low <= high
            assert high <= 1 / (1 - min(one.share, 0.99)) * (1 + 1e-9)
            assert 0 < action.median_after_s[0] <= action.median_after_s[1] <= window_s * (1 + 1e-9)


def test_threads_that_issue_work_to_one_device_need_not_run_side_by_side() -> None:
    pair = SerialPair(first="main", second="autograd", first_s=0.5, second_s=0.4, overlapped_s=0.0, saved_s=0.4)
    lanes = tuple(LaneUse(name=name, device="", role="thread", events=9, sum_s=0.5, busy_s=0.5, window_s=1.0) for name in ("main", "autograd"))
    assert causes(report(serial=(pair,), lanes=lanes)) == ["serialisation"]
    assert causes(report(serial=(pair,), lanes=lanes, devices=(device(),))) == []


def test_what_lies_beside_the_path_is_no_finding() -> None:
    path = CriticalPath(length_s=1.0, window_s=1.0, covered_share=1.0, pieces=(), by_label={"compute": 1.0})
    assert causes(idling("synchronisation", critical_path=path)) == []


def test_queues_of_one_device_share_what_it_has() -> None:
    pair = SerialPair(first="GPU 0 stream 7", second="GPU 0 stream 9", first_s=0.5, second_s=0.4, overlapped_s=0.0, saved_s=0.4)
    lanes = tuple(
        LaneUse(name=name, device="GPU 0", role="queue", events=9, sum_s=0.5, busy_s=0.5, window_s=1.0) for name in (pair.first, pair.second)
    )
    assert causes(report(serial=(pair,), lanes=lanes, devices=(device(),))) == []
    other = msgspec.structs.replace(pair, second="preprocess")
    assert causes(report(serial=(other,), lanes=lanes, devices=(device(),))) == ["serialisation"]


def frame(name: str, share: float, file: str | None = None, **more: object) -> FrameUse:
    return FrameUse(function=name, own=2.0 * share, total=2.0 * share, own_share=share, total_share=share, file=file, **more)


def profiled(*frames: FrameUse, measure: str = "wall", unit: str = "s") -> ReadReport:
    return report(window_s=None, frames=frames, measure=measure, unit=unit)


def test_python_functions_that_take_most_are_the_interpreter_and_nothing_of_it_is_sure() -> None:
    (found,) = findings_of(profiled(frame("work", 0.7, "app.py", line=3), frame("<built-in method builtins.sum>", 0.3)))[0]
    assert (found.cause, found.where.function, found.where.file, found.where.line) == ("interpreter", "work", "app.py", 3)
    assert found.share == pytest.approx(0.7)
    assert "1.40 s" in found.summary
    assert all(action.speedup[0] == 1.0 for action in found.actions)
    assert max(action.speedup[1] for action in found.actions) <= 1 / 0.3
    assert found.actions[0].median_after_s[1] == pytest.approx(2.0)
    # A sampler of Python alone does not tell the function from the native code that it calls.
    (sampled,) = findings_of(profiled(frame("work", 0.7, "app.py"), frame("load", 0.3, "app.py"), measure="samples", unit="count"))[0]
    assert "100.0% of the sampled time goes to Python functions and the native code that they call" in sampled.summary
    assert sampled.actions[0].median_after_s is None
    # What every program in Python has is none.
    assert causes(profiled(frame("work", 0.3, "app.py"), frame("<built-in method builtins.sum>", 0.7))) == []
    # Frames of the interpreter itself say it better.
    assert causes(profiled(frame("_PyEval_EvalFrameDefault", 0.4), frame("work", 0.6, "app.py"))) == ["interpreter"]


def test_functions_that_wait_are_input_and_output_of_what_calls_them() -> None:
    sleeping = profiled(frame("<built-in method time.sleep>", 0.6, caller="wait"), frame("wait", 0.0, "app.py", line=6), frame("f", 0.4))
    (found,) = findings_of(sleeping)[0]
    assert (found.cause, found.where.function, found.where.file, found.where.line) == ("input-output", "wait", "app.py", 6)
    assert "called by wait (app.py:6)" in found.summary
    assert {action.action for action in found.actions} == {"block-instead", "prefetch"}
    # 0.4 of other work hides as much of the waiting.
    prefetch = next(action for action in found.actions if action.action == "prefetch")
    assert prefetch.speedup == (1.0, pytest.approx(1 / 0.6))
    reading = findings_of(profiled(frame("<method 'recv' of '_socket.socket' objects>", 0.6), frame("f", 0.4)))[0]
    assert next(action.action for action in reading[0].actions) in {"cache", "prefetch"}
    # On a CPU nothing sleeps, and samples of an unknown clock may be of one.
    assert causes(profiled(frame("read", 0.6), frame("f", 0.4), measure="cpu-clock")) == []
    assert causes(profiled(frame("read", 0.6), frame("f", 0.4), measure="samples", unit="count")) == []
    assert causes(profiled(frame("f", 1.0), frame("<built-in method time.sleep>", 0.05))) == []


def test_what_a_program_reads_while_it_starts_is_not_what_it_sleeps_for() -> None:
    def actions(*frames: FrameUse) -> set[str]:
        (found,) = findings_of(profiled(*frames))[0]
        return {action.action for action in found.actions}

    sleeping, reading = frame("<built-in method time.sleep>", 0.6, caller="wait"), "<method 'read' of '_io.BufferedReader' objects>"
    assert "block-instead" in actions(sleeping, frame(reading, 0.01), frame("f", 0.39))
    assert "cache" in actions(sleeping, frame(reading, 0.2), frame("f", 0.2))


def test_one_partition_that_leaves_much_of_the_wall_to_something_else_is_not_healthy() -> None:
    one = partitions(count=1, runs=1, handoffs=0, delegated=100, fallbacks={})
    table = ProfileTable(rows=(ProfileRow(name="a", kind="GEMM", total_s=0.083),), per_call=True, wall_s=0.1)
    assert findings_of(report(window_s=None, partitions=one, tables=(table,))) == ((), None)
    assert findings_of(report(window_s=None, partitions=one, tables=(msgspec.structs.replace(table, wall_s=0.085),))) == ((), True)


def test_a_call_that_blocks_in_a_gap_is_no_python_that_runs() -> None:
    found = idling("python", gap_s=0.4)
    gap = msgspec.structs.replace(found.gaps[0], activity="<built-in function sleep>", covered_share=1.0)
    assert causes(found) == ["interpreter"]
    assert causes(msgspec.structs.replace(found, gaps=(gap,))) == []


def test_the_time_of_a_device_that_is_a_part_of_the_window_is_said() -> None:
    found = idling("synchronisation")
    assert "40.0% of its time (400 ms)" in findings_of(found)[0][0].summary
    assert "40.0% of the 1.00 s from its first work to its last (400 ms)" in findings_of(msgspec.structs.replace(found, window_s=3.0))[0][0].summary
    two = msgspec.structs.replace(found, window_s=3.0, devices=(*found.devices, msgspec.structs.replace(found.devices[0], name="GPU 1")))
    assert "40.0% of the 1.00 s each from their first work to their last (800 ms)" in findings_of(two)[0][0].summary


def test_the_whole_is_named_with_its_seconds() -> None:
    (found,) = findings_of(idling("synchronisation"))[0]
    assert "of the window (1.00 s) can go" in found.actions[0].because


@settings(deadline=None)
@given(
    because=st.sampled_from(["launch-bound", "synchronisation", "copy", "python", "data loading"]),
    idle=st.floats(0.06, 1.0),
    part=st.floats(0.01, 1.0),
)
def test_no_promise_is_above_what_the_devices_had_of_the_whole(because: str, idle: float, part: float) -> None:
    used = device(window_s=part, busy_s=part * (1 - idle), idle_because_s={because: part * idle}, exposed_copy_s=part * (1 - idle) / 2)
    findings, _ = findings_of(report(devices=(used,), window_s=1.0))
    for found in findings:
        for action in found.actions:
            assert action.speedup[1] <= 1 / (1 - min(0.99, found.share * part)) * (1 + 1e-9)
            assert action.median_after_s is not None
            assert action.median_after_s[1] * action.speedup[0] == pytest.approx(1.0)
