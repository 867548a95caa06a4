"""The parts of the onnxruntime profile that need no runtime: runs, exclusive times, matching, origins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from ridgeline.core import Column, Timeline, Track
from ridgeline.measurement.operators.onnxruntime.match import align, matched
from ridgeline.measurement.operators.onnxruntime.origin import Origin, origins
from ridgeline.measurement.operators.onnxruntime.runs import HALF_TICK_S, run_events
from ridgeline.readers.onnxruntime import NodeEvent, Profile, Span, TensorType
from ridgeline.work.onnx import Value
from ridgeline.work.onnx.model import load
from ridgeline.work.onnx.nodes import Placed, contents, placed
from support.onnx_models import model, tensor, zeros

TICK = 1e-6


def event(name: str, start: int, duration: int, kind: str = "Add", inputs: tuple[TensorType, ...] = (), index: int = 0) -> NodeEvent:
    return NodeEvent(name=name, kind=kind, provider="CPUExecutionProvider", index=index, span=Span(start=start, duration=duration), inputs=inputs)


def profile(nodes: list[NodeEvent], runs: list[tuple[int, int]]) -> Profile:
    empty = Column([], "count", "int64")
    timeline = Timeline(tick_s=TICK, start_tick=empty, duration_tick=empty, name=empty, track=empty, strings=(), tracks=(Track(name="t"),))
    return Profile(nodes=tuple(nodes), runs=tuple(Span(start=s, duration=d) for s, d in runs), executors=(), session={}, timeline=timeline)


def test_events_go_to_their_run_and_only_the_last_runs_count() -> None:
    nodes = [event("a", 1, 5), event("a", 101, 6), event("a", 201, 7), event("stray", 190, 1)]
    found = run_events(profile(nodes, [(0, 10), (100, 10), (200, 10)]), 2)
    assert [[part.event.span.duration for part in run.executed] for run in found] == [[6], [7]]
    assert [run.wall_s for run in found] == pytest.approx([10 * TICK + HALF_TICK_S] * 2)


def test_a_holder_keeps_only_what_is_not_in_its_body() -> None:
    # Bodies come before their holder in the file: If (100 µs) holds two nodes (30, 20) and an inner If (40) with one node (25).
    nodes = [event("n1", 11, 30), event("n2", 42, 20), event("n3", 66, 25), event("inner", 65, 40, "If"), event("outer", 10, 100, "If")]
    nodes.append(event("z", 111, 5))
    run = run_events(profile(nodes, [(0, 200)]), 1)[0]
    own = {part.event.name: part.own_s for part in run.executed}
    half = HALF_TICK_S
    assert own["outer"] == pytest.approx(100 * TICK + half - (30 + 20 + 40) * TICK - 3 * half)
    assert own["inner"] == pytest.approx((40 - 25) * TICK)
    assert {part.event.name: part.path for part in run.executed}["n3"] == ("outer", "inner")
    # What is inside is not counted again in the union: 100 and 5 µs.
    assert run.union_s == pytest.approx(105 * TICK + 2 * half)
    assert sum(own.values()) == pytest.approx(run.union_s)


def test_a_neighbour_that_shares_the_last_tick_is_not_inside() -> None:
    nodes = [event("body", 10, 20), event("if", 10, 20, "If"), event("next", 30, 0)]
    run = run_events(profile(nodes, [(0, 50)]), 1)[0]
    assert {part.event.name: part.path for part in run.executed} == {"if": (), "body": ("if",), "next": ()}


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_own_times_of_a_chain_sum_to_the_union(durations: list[int]) -> None:
    starts = np.concatenate(([0], np.cumsum(np.array(durations) + 1)))
    nodes = [event(f"n{index}", int(starts[index]), duration) for index, duration in enumerate(durations)]
    run = run_events(profile(nodes, [(0, int(starts[-1]) + 1)]), 1)[0]
    assert sum(part.own_s for part in run.executed) == pytest.approx(run.union_s)
    assert run.union_s <= run.wall_s + HALF_TICK_S * len(durations)


def nodes_of(found: object) -> list[Placed]:
    loaded = load(found)
    known = contents(loaded)
    return placed(loaded, lambda name: known.get(name) or Value(name=name))


F = {shape: TensorType(dtype="float", shape=shape) for shape in [(1, 4), (4, 8), (8,), (1, 8), (8, 4)]}


def test_packed_weights_are_missing_from_the_event_and_are_put_back() -> None:
    layer = helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="g")
    gemm = nodes_of(model([layer], [tensor("x", 1, 4)], ["y"], {"w": zeros(4, 8), "b": zeros(8)}))[0]
    for listed in [(F[1, 4], F[4, 8], F[(8,)]), (F[1, 4], F[(8,)])]:
        inputs = align(event("g", 0, 1, "Gemm", listed), gemm)
        assert inputs is not None
        assert [one.shape if one else None for one in inputs] == [(1, 4), (4, 8), (8,)]


def test_inputs_that_cannot_be_the_nodes_are_not_forced() -> None:
    relu = nodes_of(model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", 1, 4)], ["y"]))[0]
    assert align(event("r", 0, 1, "Relu", (F[1, 4], F[1, 8])), relu) is None
    assert align(event("r", 0, 1, "Relu", ()), relu) is None


def test_nodes_without_a_name_are_matched_by_order_within_their_kind() -> None:
    chain = [helper.make_node("Sin", ["x"], ["a"]), helper.make_node("Cos", ["a"], ["b"]), helper.make_node("Sin", ["b"], ["y"])]
    nodes = nodes_of(model(chain, [tensor("x", 1, 4)], ["y"]))
    events = [event("Sin_7", 0, 1, "Sin", (F[1, 4],), 7), event("Cos_8", 2, 1, "Cos", (F[1, 4],), 8), event("Sin_9", 4, 1, "Sin", (F[1, 4],), 9)]
    run = run_events(profile(events, [(0, 9)]), 1)[0]
    found = matched(run.executed, [Placed(node=n.node, name=n.name, own_name=f"\1{n.own_name}") for n in nodes])
    assert [found[(), one.name, one.index].node.outputs[0].name for one in events] == ["a", "b", "y"]


def test_origins_of_fused_renamed_and_inserted_nodes() -> None:
    original = nodes_of(
        model(
            [
                helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
                helper.make_node("Relu", ["a"], ["b"], name="relu"),
                helper.make_node("Sigmoid", ["b"], ["c"], name="gate"),
                helper.make_node("Mul", ["b", "c"], ["y"], name="scale"),
            ],
            [tensor("x", 1, 3, 8, 8)],
            ["y"],
            {"w": zeros(4, 3, 3, 3)},
        )
    )
    ran = nodes_of(
        model(
            [
                helper.make_node("Conv", ["x", "w2"], ["r0"], name="conv_nchwc", domain="com.microsoft.nchwc"),
                helper.make_node("ReorderOutput", ["r0"], ["b"], name="ReorderOutput", domain="com.microsoft.nchwc"),
                helper.make_node("QuickGelu", ["b"], ["y"], name="scale/QuickGeluFusion/", domain="com.microsoft"),
            ],
            [tensor("x", 1, 3, 8, 8)],
            ["y"],
            {"w2": zeros(16, 3, 3, 3)},
        )
    )
    found = origins(original, ran)
    assert found["conv_nchwc"].nodes == ("conv", "relu")
    assert found["conv_nchwc"].label("conv_nchwc") == "conv (fused: conv+relu)"
    assert found["conv_nchwc"].weight is not None
    assert found["conv_nchwc"].weight.shape == (4, 3, 3, 3)
    assert found["ReorderOutput"] == Origin(inserted=True)
    assert found["scale/QuickGeluFusion/"].nodes == ("gate", "scale")


def test_a_conversion_at_the_edge_is_inserted_although_it_makes_the_models_tensor() -> None:
    original = nodes_of(model([helper.make_node("Relu", ["x"], ["y"], name="r")], [tensor("x", 1, 4)], ["y"]))
    ran = nodes_of(
        model(
            [
                helper.make_node("Cast", ["x"], ["c"], name="InsertedPrecisionFreeCast_x", to=1),
                helper.make_node("Relu", ["c"], ["d"], name="r"),
                helper.make_node("Cast", ["d"], ["y"], name="InsertedPrecisionFreeCast_y", to=10),
            ],
            [tensor("x", 1, 4)],
            ["y"],
        )
    )
    assert [origins(original, ran)[part.name].inserted for part in ran] == [True, False, True]


def test_a_fusion_is_named_after_its_product() -> None:
    chain = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], name="narrow"),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["i"], name="product"),
        helper.make_node("Cast", ["i"], ["f"], name="widen", to=1),
        helper.make_node("Mul", ["f", "s"], ["y"], name="scale"),
    ]
    original = nodes_of(model(chain, [tensor("x", 1, 4)], ["y"], {"w": np.zeros((4, 8), dtype=np.int8)}))
    fused = [helper.make_node("DynamicQuantizeMatMul", ["x", "w"], ["y"], name="", domain="com.microsoft")]
    ran = nodes_of(model(fused, [tensor("x", 1, 4)], ["y"], {"w": np.zeros((4, 8), dtype=np.int8)}))
    assert origins(original, ran)[ran[0].name].label("?") == "product (fused: narrow+product+scale)"
