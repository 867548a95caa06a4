"""Verdicts from facts made by hand: each cause from its tell, and its look-alike from a small change of the facts."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import Column, Diagnosis, Facts, Need, Samples, Sentinels, WaitTable
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import MB, around, buffer, dispatch, facts, lines, perturbed, row, samples, split


def diagnose(given: Facts) -> Diagnosis:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return step


def verdict(given: Facts) -> tuple[str, str]:
    found = diagnose(given).bottleneck
    return (found.bound, found.cause) if found else ("none", "healthy")


def gemm(seconds: float, **fields):
    return row("gemm", seconds, group="matmul", engine="fma", reads=(buffer(1, MB), buffer(2, MB)), writes=(buffer(3, MB),), **fields)


def chain(k: int, seconds_each: float, size: int, *, fresh: bool = False, threads: int = 4):
    # x → t1 → t2 → …: each reads the last result and writes a buffer of its own.
    return [
        row(
            f"op{i}",
            seconds_each,
            group="elementwise",
            engine="add",
            flop=size / 4,
            reads=(buffer(i, size),),
            writes=(buffer(i + 1, size, fresh=fresh),),
            after=(i - 1,) if i else (),
            threads=threads,
        )
        for i in range(k)
    ]


def test_dense_arithmetic_at_its_ceiling_is_near_peak_and_offers_lower_precision():
    given = facts([gemm(0.0095, flop=0.8 * 128e9 * 0.0095)])
    assert verdict(given) == ("compute", "near-peak")
    found = diagnose(given)
    assert found.actions[0].action == "lower-precision"
    # int8 is 4× fp32 on this device, and a kernel at 0.8 of its ceiling may be followed by one at the whole of it; bounded by Amdahl on 95 %.
    assert found.actions[0].speedup[1] == pytest.approx(1 / (0.05 + 0.95 / (4 / 0.8)), rel=0.02)
    f_c = next(e.quantity for e in found.bottleneck.evidence if e.name == "f_c")
    assert f_c.value == pytest.approx(0.8, rel=0.01)


def test_fp64_is_held_against_the_fp64_ceiling():
    given = facts([gemm(0.0095, flop=0.8 * 64e9 * 0.0095, precision="fp64")])
    assert verdict(given) == ("compute", "near-peak")
    assert diagnose(given).operators[0].f_c.value == pytest.approx(0.8, rel=0.01)


def test_one_thread_is_held_against_one_thread_and_the_idle_cores_stand_beside():
    vector = row(
        "gemv", 0.0095, group="matmul", engine="fma", flop=2 * 14 * MB, threads=1,
        reads=(buffer(1, 56 * MB), buffer(2, 4000)), writes=(buffer(3, 4000),),
    )  # fmt: skip
    found = diagnose(facts([vector]))
    assert (found.bottleneck.bound, found.bottleneck.cause) == ("bandwidth", "weight-traffic")
    # 56 MB in 9.5 ms is 5.9 GB/s of the 6 GB/s that one thread streams (the working set of 56 MB lies between the two measured points).
    assert found.operators[0].f_b.low < 1.0
    assert "low-parallelism" in [r.cause for r in found.runners_up]
    assert any(a.action == "parallelise" for a in found.actions)


def test_a_threaded_matrix_vector_has_no_idle_cores_beside_it():
    vector = row(
        "gemv", 0.0095, group="matmul", engine="fma", flop=2 * 28 * MB, reads=(buffer(1, 112 * MB), buffer(2, 4000)), writes=(buffer(3, 4000),)
    )
    found = diagnose(facts([vector]))
    assert found.bottleneck.cause == "weight-traffic"
    assert "low-parallelism" not in [r.cause for r in found.runners_up]


def test_a_chain_on_kept_buffers_is_traffic_and_on_fresh_ones_is_allocation():
    # The method's case: 117.4 MB in 9.3 ms at 13 GB/s is 97 % of what the device streams.
    rows = chain(7, 0.00133, 8_390_000)
    assert verdict(facts(rows)) == ("bandwidth", "elementwise-chain")
    fresh = chain(7, 0.00133, 8_390_000, fresh=True)
    slow = facts(fresh, wall_split=split(system=0.6), samples=samples(0.01, minor_faults=14_000.0))
    assert verdict(slow) == ("latency", "allocation")
    assert "reuse-buffers" in {action.action for action in diagnose(slow).actions}


def test_fault_counts_alone_are_not_allocation():
    given = facts(chain(7, 0.00133, 8_390_000, fresh=True), wall_split=split(system=0.03), samples=samples(0.01, minor_faults=14_000.0))
    assert verdict(given) == ("bandwidth", "elementwise-chain")


def test_fusing_promises_the_traffic_that_it_saves():
    found = diagnose(facts(chain(4, 0.0025, 15 * MB)))
    fuse = found.actions[0]
    assert fuse.action == "fuse"
    # Four operations move 8N, fused 2N: 4× on the chain at best.
    moved = {e.name: e.quantity.value for e in found.bottleneck.evidence}
    assert moved["bytes moved"] / moved["bytes fused"] == pytest.approx(4.0)
    # At the best the fused kernel streams at the full 13 GB/s, where the separate ones reach 12.
    assert fuse.speedup[1] == pytest.approx(1 / (0.005 + 30e6 / 13e9 / 0.01), rel=0.02)


def test_tanh_in_cache_is_its_own_ceiling_and_not_latency():
    special = row(
        "tanh",
        0.0095,
        group="elementwise",
        engine="tanh",
        flop=0.9 * 4e9 * 0.0095,
        reads=(buffer(1, MB),),
        writes=(buffer(2, MB),),
        kind="aten::tanh",
    )
    assert verdict(facts([special])) == ("compute", "special-functions")


def test_transposes_are_layout_and_clones_are_copies():
    def moved(group):
        return row("move", 0.008, group=group, reads=(buffer(1, 50 * MB),), writes=(buffer(2, 50 * MB),))

    assert verdict(facts([moved("movement")]))[1] == "layout-conversion"
    assert verdict(facts([moved("copy")]))[1] == "copy"


def test_one_pass_over_memory_is_streaming():
    assert verdict(facts([row("sum", 0.0095, group="reduction", engine="reduce", reads=(buffer(1, 120 * MB),), writes=())])) == (
        "bandwidth",
        "streaming",
    )


def test_many_tiny_operators_are_dispatch_although_the_profile_is_perturbed():
    rows = [row("add", 0.003, calls=300.0, group="elementwise", engine="add", reads=(buffer(1, 64),), writes=(buffer(2, 64),))]
    given = facts(rows, wall_s=0.003, levels=perturbed(), dispatch=dispatch(300, 3.6e-6), samples=samples(0.0012), wall_split=split(interpreter=0.3))
    assert verdict(given) == ("latency", "dispatch")
    found = diagnose(given)
    # A perturbed level loses its times and shares and keeps its counts.
    assert found.operators[0].total_s is None
    assert found.operators[0].share is None
    assert found.operators[0].calls == 300


def test_a_python_loop_beside_a_small_network_is_the_interpreter():
    rows = [row("linear", 0.0002, calls=10.0, group="matmul", engine="fma", flop=1e5, reads=(buffer(1, 64),), writes=(buffer(2, 64),))]
    given = facts(rows, wall_split=split(interpreter=0.9), dispatch=dispatch(10, 4e-6), hot_spots=lines(41))
    assert verdict(given) == ("latency", "interpreter")
    assert diagnose(given).bottleneck.where.line == 41


def test_sleeping_is_input_output_with_its_line():
    given = facts([], wall_split=split(blocked=0.8), hot_spots=lines(12, "blocked"))
    found = diagnose(given)
    assert (found.bottleneck.bound, found.bottleneck.cause, found.bottleneck.where.line) == ("latency", "input-output", 12)


def test_a_busy_neighbour_is_interference_and_not_a_slow_kernel():
    busy = Sentinels(fma_ratio=around(0.5, "1"), run_queue_share=0.45, steal_share=0.0, other_load=2.0)
    given = facts([gemm(0.0095, flop=0.3 * 128e9 * 0.0095)], sentinels=busy)
    assert verdict(given)[1] == "interference"


def test_a_program_that_waits_for_its_own_threads_is_not_disturbed():
    """Three busy threads on two CPUs queue for each other; others kept 0.05 CPUs busy, so that they took 5 % of its time at the most."""
    crowded = Sentinels(fma_ratio=around(1.0, "1"), run_queue_share=0.45, steal_share=0.0, other_load=0.05)
    found = diagnose(facts([gemm(0.0095, flop=0.9 * 128e9 * 0.0095)], sentinels=crowded))
    assert found.bottleneck is None or found.bottleneck.cause != "interference"
    unknown = msgspec.structs.replace(crowded, other_load=None)
    assert verdict(facts([gemm(0.0095, flop=0.9 * 128e9 * 0.0095)], sentinels=unknown))[1] == "interference"


def test_far_from_every_ceiling_is_said_to_be_inconclusive_and_promises_nothing():
    found = diagnose(facts([gemm(0.0095, flop=0.2 * 128e9 * 0.0095)]))
    assert (found.bottleneck.bound, found.bottleneck.cause) == ("inconclusive", "unknown")
    assert found.actions == ()


def test_at_the_lowest_precision_near_the_roof_there_is_nothing_to_name():
    found = diagnose(facts([gemm(0.0098, flop=0.9 * 512e9 * 0.0098, precision="int8")]))
    assert found.bottleneck is None
    assert found.bound == "none"
    assert found.actions == ()


def test_above_a_ceiling_is_a_fault_that_is_reported():
    found = diagnose(facts([gemm(0.0095, flop=1.5 * 128e9 * 0.0095)]))
    assert "above-ceiling" in {w.code for w in found.warnings}


def test_asks_top_down_and_never_twice_for_what_cannot_be_had():
    given = facts([], samples=None, device=None, wall_split=None, operators=None, cannot={})
    asked = []
    while isinstance(step := next_step(given), Need):
        asked.append((step.level, step.instrument))
        given = msgspec.structs.replace(given, cannot={**given.cannot, step.instrument: "not here"})
        if len(asked) > 20:
            break
    assert asked[:2] == [(4, "device"), (1, "samples")]
    assert len(asked) == len(set(asked))


def test_a_stored_diagnosis_replays_to_the_same():
    given = facts(chain(7, 0.00133, 8_390_000))
    assert diagnose(given) == diagnose(given)


def test_promises_stay_under_amdahl_and_every_interval_is_ordered():
    found = diagnose(facts([*chain(4, 0.001, 6 * MB), gemm(0.005, flop=0.8 * 128e9 * 0.005)]))
    for action in found.actions:
        low, high = action.speedup
        assert 1.0 <= low <= high
        after = action.median_after_s
        assert after[0] <= after[1] <= found.ground_truth.median_s * 1.0001
    combined = [a for a in found.actions if a.combines]
    assert combined
    singles = {a.id: a for a in found.actions}
    assert combined[0].speedup[1] >= max(singles[i].speedup[1] for i in combined[0].combines)


def test_f_c_that_straddles_a_threshold_names_both_sides():
    wobbly = gemm(0.0095, flop=0.6 * 128e9 * 0.0095)
    wobbly = msgspec.structs.replace(wobbly, total_s=around(0.0095, "s", 0.2))
    assert "straddles-threshold" in {w.code for w in diagnose(facts([wobbly])).warnings}


def test_system_time_without_memory_behind_it_is_input_output():
    given = facts([], wall_split=split(system=0.7), samples=samples(0.01, minor_faults=2.0), hot_spots=lines(30))
    assert verdict(given) == ("latency", "input-output")


def test_in_place_work_is_held_against_a_stream_that_fetches_nothing_it_writes():
    # 30 MB read and written where they stand: 60 MB move for 60 named. The probe's copy moves 90 for 60 named, so that in place
    # 1.5 × its rate is attainable.
    apart = row("scale", 0.01, group="elementwise", engine="add", reads=(buffer(1, 30 * MB),), writes=(buffer(2, 30 * MB),))
    in_place = row("scale", 0.01, group="elementwise", engine="add", reads=(buffer(1, 30 * MB),), writes=(buffer(1, 30 * MB),))
    first, second = (diagnose(facts([r])).operators[0].f_b.value for r in (apart, in_place))
    assert first == pytest.approx(1.5 * second)


def timed(course: np.ndarray) -> Samples:
    base = samples(0.01, len(course))
    return msgspec.structs.replace(base, wall_s=Column(0.01 * course, "s"))


@pytest.mark.parametrize(
    ("course", "code"),
    [
        (np.linspace(1.0, 1.5, 300), "never-steady"),
        (np.repeat([1.0, 1.3, 1.0, 1.4, 1.2, 1.0, 1.4, 1.1, 1.4, 1.0, 1.4, 1.35], 25), "wandering"),
        (np.ones(300), None),
    ],
    ids=["drift", "up and down", "level"],
)
def test_only_times_that_go_somewhere_are_said_never_to_settle(course, code):
    given = facts([gemm(0.0095, flop=0.8 * 128e9 * 0.0095)], samples=timed(course), steady=code is None)
    codes = {caution.code for caution in diagnose(given).warnings} & {"never-steady", "wandering"}
    assert codes == ({code} if code else set())


def test_what_ran_beside_other_work_is_not_judged():
    busy = Sentinels(fma_ratio=around(0.5, "1"), run_queue_share=0.45, steal_share=0.0, other_load=2.0)
    page = diagnose(facts([gemm(0.0095, flop=0.9 * 128e9 * 0.0095)], sentinels=busy))
    assert page.bottleneck.cause == "interference"
    assert [(operator.bound, operator.reason) for operator in page.operators] == [("inconclusive", "measured beside other work: not judged")]
    quiet = diagnose(facts([gemm(0.0095, flop=0.9 * 128e9 * 0.0095)]))
    assert [operator.bound for operator in quiet.operators] == ["compute"]


@pytest.mark.parametrize("seconds", [0.0095, 0.0003], ids=["far from every ceiling", "hardly any operator"])
def test_an_open_verdict_says_what_is_missing(seconds):
    given = facts([gemm(seconds, flop=0.2 * 128e9 * seconds)], cannot={})
    given = msgspec.structs.replace(given, hot_spots=lines(3, "native"), waits=WaitTable(waits=(), wall_s=around(0.01, "s"), instrument="by hand"))
    page = diagnose(given)
    assert (page.bound, page.actions) == ("inconclusive", ())
    assert page.missing


def test_the_headroom_of_what_nothing_explains_is_against_the_nearer_roof():
    # 0.33 of the bandwidth and a hundredth of the arithmetic: 0.85 ÷ 0.33 under its roof, not 85 times.
    size = int(0.33 * 13e9 * 0.0095 / 2)
    rows = [row("far", 0.0095, group="reduction", engine="add", flop=0.01 * 128e9 * 0.0095, reads=(buffer(1, size),), writes=(buffer(2, size),))]
    rows[0] = msgspec.structs.replace(rows[0], engine="fma")
    found = diagnose(facts(rows))
    assert found.bottleneck.cause == "unknown"
    f_b = found.operators[0].f_b.value
    assert found.operators[0].f_c.value < f_b < 0.4
    assert f"{0.85 / f_b:.1f}× under the practical ceiling of bandwidth" in found.bottleneck.summary


def tiny(operators: int, each_s: float, fitted_s: float, wall_s: float) -> Facts:
    rows = [row("tiny", each_s * operators, calls=float(operators), group="elementwise")]
    return facts(rows, wall_s=wall_s, dispatch=dispatch(operators, fitted_s))


def test_what_is_left_by_tiny_work_is_said_to_be_that_and_reaches_down_to_the_fit():
    # 300 × 271 ns are 64.5 % of 126 µs; the work is next to nothing, so that all of the wall may be dispatch.
    found = diagnose(tiny(300, 0.4e-6, 271e-9, 126e-6))
    assert found.bottleneck.cause == "dispatch"
    share = next(e for e in found.bottleneck.evidence if "wall" in e.name)
    assert "leaves" in share.name
    assert "lower end" in share.quantity.origin
    assert share.quantity.value == pytest.approx(1.0)
    assert share.quantity.low == pytest.approx(300 * 271e-9 * 0.98 / 126e-6, rel=1e-3)
    # The careful end of a promise is half of what the fit explains.
    fuse = next(action for action in found.actions if action.metric == "latency")
    assert fuse.speedup[0] == pytest.approx(1 / (1 - share.quantity.low / 2), rel=1e-3)
    assert "64%" in found.bottleneck.summary or "65%" in found.bottleneck.summary


def test_a_fit_that_explains_the_wall_is_the_product_that_its_label_says():
    found = diagnose(tiny(300, 0.4e-6, 420e-9, 126e-6))
    share = next(e for e in found.bottleneck.evidence if "wall" in e.name)
    assert (share.name, share.quantity.value) == ("dispatch share of the wall", 1.0)
    assert share.quantity.origin.startswith("operators × cost of one ÷ wall")
