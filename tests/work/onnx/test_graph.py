"""Whole graphs: binding, bodies, functions, constants, views."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from ridgeline.core import Graph, Op, UsageError
from ridgeline.work.onnx import graph
from support.onnx_models import model, tensor, zeros


def by_kind(found: Graph, kind: str) -> list[Op]:
    return [op for op in found.ops if op.kind == kind]


def int64(*numbers: int) -> np.ndarray[Any, Any]:
    return np.array(numbers, dtype=np.int64)


def network(batch: int | str) -> onnx.ModelProto:
    """Conv → Relu → flatten by a computed shape → Gemm."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Shape", ["b"], ["s"], name="shape"),
        helper.make_node("Gather", ["s", "zero"], ["n"], name="pick"),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"], name="row"),
        helper.make_node("Concat", ["n1", "rest"], ["shape2"], axis=0, name="join"),
        helper.make_node("Reshape", ["b", "shape2"], ["c"], name="flat"),
        helper.make_node("Gemm", ["c", "v"], ["y"], name="gemm"),
    ]
    constants = {"w": zeros(4, 3, 3, 3), "v": zeros(4 * 36, 10), "zero": np.array(0), "axes": int64(0), "rest": int64(-1)}
    return model(nodes, [tensor("x", batch, 3, 8, 8)], [tensor("y", batch, 10)], constants)


def test_a_dynamic_axis_is_bound_by_its_symbol_or_by_the_inputs_shape() -> None:
    by_symbol = graph(network("N"), {"N": 5})
    by_shape = graph(network("N"), {"x": (5, 3, 8, 8)})
    assert by_symbol == by_shape == graph(network(5))
    assert by_symbol.unknown == ()
    assert by_symbol.flop == 5 * (2 * 27 * 4 * 36 + 2 * 144 * 10)


def test_what_is_not_bound_is_unknown_and_named() -> None:
    found = graph(network("N"))
    assert {"conv", "relu", "gemm"} <= set(found.unknown)
    assert "N" in by_kind(found, "Conv")[0].reason
    assert found.tensor("x").shape == ("N", 3, 8, 8)


@given(st.integers(1, 9))
def test_batch_scales_flops_and_activations_not_weights(k: int) -> None:
    one, many = graph(network(1)), graph(network(k))
    assert many.flop == k * one.flop
    for kind in ("Conv", "Gemm"):
        first, second = by_kind(one, kind)[0], by_kind(many, kind)[0]
        weight = {"Conv": 4 * 27 * 4, "Gemm": 144 * 10 * 4}[kind]
        assert (second.read_bytes or 0) - weight == k * ((first.read_bytes or 0) - weight)
        assert second.write_bytes == k * (first.write_bytes or 0)


@pytest.mark.parametrize(
    ("kind", "more", "attributes"), [("GroupNormalization", {"s": zeros(8), "b": zeros(8)}, {"num_groups": 2}), ("MeanVarianceNormalization", {}, {})]
)
def test_shapes_are_followed_past_what_the_inference_does_not_know(kind: str, more: dict[str, Any], attributes: dict[str, Any]) -> None:
    nodes = [
        helper.make_node(kind, ["x", *more], ["n"], name="norm", **attributes),
        helper.make_node("Conv", ["n", "w"], ["y"], name="conv"),
    ]
    found = graph(model(nodes, [tensor("x", 2, 8, 6, 6)], ["y"], {**more, "w": zeros(4, 8, 1, 1)}))
    norm, conv = found.ops
    assert (norm.kind, norm.engine, norm.write_bytes) == (kind, "reduce", 2 * 8 * 36 * 4)
    assert conv.flop == 2 * 2 * 4 * 8 * 36
    assert not found.unknown


def test_a_view_shares_its_storage_and_costs_nothing() -> None:
    found = graph(network(2))
    flat = by_kind(found, "Reshape")[0]
    assert (flat.read_bytes, flat.write_bytes, flat.flop) == (0, 0, 0.0)
    assert found.tensor("c").storage == "b"
    assert found.tensor("w").constant
    assert not found.tensor("a").constant
    assert found.inputs == ("x",)
    assert found.outputs == ("y",)


def branches(condition: str, constants: dict[str, np.ndarray[Any, Any]]) -> onnx.ModelProto:
    """If: three products in one branch, one in the other."""
    then = helper.make_graph(
        [helper.make_node("MatMul", [before, "w"], [after]) for before, after in [("x", "t1"), ("t1", "t2"), ("t2", "t")]],
        "then", [], [helper.make_tensor_value_info("t", 1, None)],
    )  # fmt: skip
    other = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["e"])], "else", [], [helper.make_tensor_value_info("e", 1, None)])
    choose = helper.make_node("If", [condition], ["y"], name="choose", then_branch=then, else_branch=other)
    inputs = [tensor("x", 4, 4)] + ([tensor("c", dtype="bool")] if condition == "c" else [])
    return model([choose], inputs, ["y"], {"w": zeros(4, 4), **constants})


def test_both_branches_of_an_open_if_are_listed_half_and_marked() -> None:
    found = graph(branches("c", {}))
    products = by_kind(found, "MatMul")
    assert len(products) == 4
    assert {(op.trips.count, op.trips.known) for op in products} == {(0.5, "assumed")}
    assert all("assumed" in op.reason for op in products)
    assert found.flop == 0.5 * 4 * 2 * 64


@pytest.mark.parametrize(("truth", "count"), [(True, 3), (False, 1)])
def test_a_decided_if_lists_the_branch_that_is_taken(truth: bool, count: int) -> None:
    found = graph(branches("k", {"k": np.array(truth)}))
    assert len(by_kind(found, "MatMul")) == count
    assert {op.trips.known for op in found.ops} == {"exact"}
    assert found.flop == count * 2 * 64
    assert found.tensor("y").shape == (4, 4)


def loop(trips: np.ndarray[Any, Any] | None) -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", "w"], ["s2"], name="product"), helper.make_node("Identity", ["go"], ["go2"])],
        "body",
        [tensor("i", dtype="int64"), tensor("go", dtype="bool"), tensor("s", 4, 4)],
        [tensor("go2", dtype="bool"), tensor("s2", 4, 4)],
    )
    inputs = [tensor("x", 4, 4)] + ([] if trips is not None else [tensor("m", dtype="int64")])
    node = helper.make_node("Loop", ["m", "", "x"], ["y"], name="loop", body=body)
    return model([node], inputs, ["y"], {"w": zeros(4, 4), **({"m": trips} if trips is not None else {})})


def test_a_loop_with_a_constant_limit_runs_exactly_that_often() -> None:
    found = graph(loop(np.array(7)))
    product = by_kind(found, "MatMul")[0]
    assert (product.trips.count, product.trips.known) == (7, "exact")
    assert found.flop == 7 * 2 * 64


def ended(found: onnx.ModelProto, *how: onnx.NodeProto) -> onnx.ModelProto:
    """The loop with another end of its body, which makes `go2`."""
    nodes = found.graph.node[0].attribute[0].g.node
    del nodes[1:]
    nodes.extend(how)
    return found


CONSTANT = {truth: helper.make_node("Constant", [], ["go2"], value=onnx.numpy_helper.from_array(np.array(truth))) for truth in (True, False)}


@pytest.mark.parametrize(
    ("limit", "first", "end", "count", "known"),
    [
        (7, True, None, 7, "exact"),  # the condition is handed on
        (7, True, CONSTANT[True], 7, "exact"),
        (7, True, CONSTANT[False], 1, "exact"),
        (7, False, None, 0, "exact"),
        (7, False, CONSTANT[True], 0, "exact"),
        (0, True, helper.make_node("Not", ["go"], ["go2"]), 0, "exact"),
        (-2, True, CONSTANT[True], 0, "exact"),
        (7, True, helper.make_node("Not", ["go"], ["go2"]), 1, "assumed"),  # the body decides itself: how often is data
        (None, True, CONSTANT[True], 1, "assumed"),
        (None, True, CONSTANT[False], 1, "exact"),
        (None, False, None, 0, "exact"),
    ],
)
def test_a_condition_ends_a_loop_or_does_not(limit: int | None, first: bool, end: onnx.NodeProto | None, count: int, known: str) -> None:
    found = loop(None if limit is None else np.array(limit))
    found.graph.node[0].input[1] = "c"
    found.graph.initializer.append(onnx.numpy_helper.from_array(np.array(first), "c"))
    product = by_kind(graph(found if end is None else ended(found, end)), "MatMul")[0]
    assert (product.trips.count, product.trips.known) == (count, known)
    assert ("at most 7 times" in product.reason) == (known == "assumed" and limit == 7)


def test_loops_inside_loops_multiply_and_one_that_is_assumed_marks_all_inside() -> None:
    """3 turns of 5 are 15; where the outer loop's turn is the inner one's limit (0 + 1 + 2), that is data."""
    for limit, count, known in (("five", 15, "exact"), ("turn", 3, "assumed")):
        inner = loop(np.array(5)).graph.node[0]
        inner.input[:] = [limit, "", "state"]
        inner.output[:] = ["after"]
        body = helper.make_graph(
            [inner, helper.make_node("Identity", ["on"], ["on2"])],
            "outer",
            [tensor("turn", dtype="int64"), tensor("on", dtype="bool"), tensor("state", 4, 4)],
            [tensor("on2", dtype="bool"), tensor("after", 4, 4)],
        )
        node = helper.make_node("Loop", ["three", "", "x"], ["y"], name="outer", body=body)
        found = graph(model([node], [tensor("x", 4, 4)], ["y"], {"w": zeros(4, 4), "three": np.array(3), "five": np.array(5)}))
        product = by_kind(found, "MatMul")[0]
        assert (product.trips.count, product.trips.known) == (count, known)
        assert found.flop == count * 2 * 64


def test_a_loop_without_one_is_assumed_to_run_once() -> None:
    product = by_kind(graph(loop(None)), "MatMul")[0]
    assert (product.trips.count, product.trips.known) == (1, "assumed")
    assert "Loop" in product.reason


def test_a_scan_runs_once_for_each_element() -> None:
    body = helper.make_graph([helper.make_node("MatMul", ["row", "w"], ["out"])], "body", [tensor("row", 1, 4)], [tensor("out", 1, 4)])
    scan = helper.make_node("Scan", ["x"], ["y"], num_scan_inputs=1, body=body)
    found = graph(model([scan], [tensor("x", 9, 1, 4)], ["y"], {"w": zeros(4, 4)}))
    assert found.flop == 9 * 2 * 16


def test_functions_of_the_model_are_inlined() -> None:
    function = helper.make_function("local", "Twice", ["a", "b"], ["r"], [
        helper.make_node("MatMul", ["a", "b"], ["t"]), helper.make_node("MatMul", ["t", "b"], ["r"]),
    ], [helper.make_opsetid("", 17)])  # fmt: skip
    call = helper.make_node("Twice", ["x", "w"], ["y"], domain="local")
    found = model([call], [tensor("x", 4, 4)], ["y"], {"w": zeros(4, 4)}, functions=[function])
    found.opset_import.append(helper.make_opsetid("local", 1))
    listed = graph(found)
    assert [op.kind for op in listed.ops] == ["MatMul", "MatMul"]
    assert listed.flop == 2 * 2 * 64


def test_what_depends_on_constants_alone_is_no_work_of_a_run() -> None:
    nodes = [
        helper.make_node("Transpose", ["w"], ["wt"], name="before"),
        helper.make_node("MatMul", ["x", "wt"], ["y"], name="product"),
    ]
    found = graph(model(nodes, [tensor("x", 2, 3)], ["y"], {"w": zeros(5, 3)}))
    before = found.ops[0]
    assert (before.flop, before.read_bytes, before.write_bytes) == (0.0, 0, 0)
    assert "before the run" in before.reason
    assert found.tensor("wt").constant


def test_the_model_given_is_not_changed() -> None:
    given_model = network("N")
    before = given_model.SerializeToString(deterministic=True)
    graph(given_model, {"N": 3})
    assert given_model.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("shapes", [{"x": (1, 3, 8)}, {"x": (1, 4, 8, 8)}, {"nothing": (1,)}, {"nothing": 3}, {"N": -1}, {"x": (2**50, 3, 8, 8)}])
def test_shapes_that_do_not_fit_are_the_callers_mistake(shapes: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        graph(network("N"), shapes)
