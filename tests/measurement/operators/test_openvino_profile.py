"""Profiles of real models by OpenVINO: every executed node has a row, the work agrees with that of the file, precision is the executed one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

pytest.importorskip("onnx", reason="the models of the tests are made with onnx")
pytest.importorskip("openvino", reason="OpenVINO's profile needs openvino")

import onnx
import openvino
from onnx import helper

from ridgeline.core import DispatchFit, UsageError
from ridgeline.machine import Worker
from ridgeline.measurement.agent import OperatorsReport, PreparedReport
from ridgeline.measurement.operators.openvino import fit_dispatch, profile
from ridgeline.measurement.operators.openvino.dispatch import chain
from ridgeline.targets import parse_target, prepare
from ridgeline.work.onnx import graph
from support.onnx_models import model, tensor

RNG = np.random.default_rng(0)


def weight(*shape: int):
    return (RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Convolution, activation, convolution, sum, transposition, product, softmax: what OpenVINO fuses, turns around and renames."""
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="second", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["a1"], name="sum"),
        helper.make_node("Transpose", ["a1"], ["t1"], name="turn", perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["t1", "w3"], ["m1"], name="product"),
        helper.make_node("Softmax", ["m1"], ["y"], name="softmax", axis=-1),
    ]
    made = model(nodes, [tensor("x", 1, 3, 32, 32)], ["y"], {"w1": weight(32, 3, 3, 3), "w2": weight(32, 32, 3, 3), "w3": weight(32, 16)})
    path = tmp_path_factory.mktemp("openvino") / "network.onnx"
    onnx.save(onnx.shape_inference.infer_shapes(made), path)
    return path


@pytest.fixture(scope="module")
def prepared(network):
    return prepare(parse_target(str(network), runtime="openvino", threads=1))


@pytest.fixture(scope="module")
def taken(prepared):
    return profile(prepared, iterations=6, seconds=2.0)


def test_every_time_is_inside_the_wall(taken) -> None:
    assert taken.iterations >= 3
    assert all(row.total_s.low <= row.total_s.value <= row.total_s.high for row in taken.rows)
    assert taken.operators_s.value == pytest.approx(sum(row.total_s.value for row in taken.rows), rel=0.5)
    assert all(row.placement.threads == 1 and row.placement.kernel for row in taken.rows)


def test_products_agree_with_the_file(network, taken) -> None:
    """Two paths: the graph that OpenVINO executed, and the file as it was written."""
    executed = sum(row.flop or 0.0 for row in taken.rows if row.group in ("convolution", "matmul"))
    assert executed == graph(str(network)).flop == 2 * 1024 * (32 * 27 + 32 * 288 + 16 * 32)


def test_fused_operators_are_named_by_the_model(taken) -> None:
    names = [row.name for row in taken.rows]
    assert "first (fused: first+relu)" in names
    assert any(name.startswith("softmax") for name in names)
    assert not any("WithoutBiases" in name for name in names if "abcd" not in name)


def test_what_it_inserted_is_marked_and_computes_nothing(prepared, taken) -> None:
    """The expectation comes from OpenVINO's own list: executed reorders, which no operator of the model is the origin of."""
    request = prepared.flavour.compile({"PERF_COUNT": True}).create_infer_request()
    request.infer(prepared.flavour.feeds)
    listed = {entry.node_name for entry in request.profiling_info if entry.node_type == "Reorder" and entry.status.name == "EXECUTED"}
    inserted = {row.name: row for row in taken.rows if row.inserted}
    assert listed
    assert listed <= set(inserted)
    assert all(row.group == "movement" and row.flop == 0.0 and row.engine is None for row in inserted.values())
    assert all(row.reads and row.writes for row in inserted.values())


def test_the_precision_is_that_which_was_executed(network, prepared) -> None:
    assert {row.placement.precision for row in profile(prepared, 1).rows} == {"fp32"}
    flavour = prepared.flavour
    narrow = type(flavour)(
        model_path=flavour.model_path,
        feeds=flavour.feeds,
        threads=1,
        model=flavour.model,
        compile=lambda more: flavour.compile({"INFERENCE_PRECISION_HINT": "bf16", **more}),
    )
    other = prepare(parse_target(str(network), runtime="openvino", threads=1))
    other.flavour = narrow
    hint = str(narrow.compile({}).get_property("INFERENCE_PRECISION_HINT").get_type_name())
    executed = {row.placement.precision for row in profile(other, 1).rows if row.group == "convolution"}
    # A CPU without bf16 keeps fp32, whatever was asked for.
    assert executed == {{"bf16": "bf16", "f32": "fp32"}[hint]}


def test_a_model_in_openvino_s_own_format(network, taken, tmp_path) -> None:
    """The same graph without the ONNX file: the same work, by its own names."""
    openvino.save_model(openvino.Core().read_model(network), tmp_path / "m.xml", compress_to_fp16=False)
    table = profile(prepare(parse_target(str(tmp_path / "m.xml"), threads=1)), 1)
    assert [(row.kind, row.flop, row.group) for row in table.rows] == [(row.kind, row.flop, row.group) for row in taken.rows]


def test_weights_stored_in_half_precision_are_computed_with_in_fp32(network, tmp_path) -> None:
    """`save_model` halves the weights by itself; nothing of that is executed."""
    openvino.save_model(openvino.Core().read_model(network), tmp_path / "half.xml")
    table = profile(prepare(parse_target(str(tmp_path / "half.xml"), threads=1)), 1)
    assert {row.placement.precision for row in table.rows} == {"fp32"}
    assert sum(row.flop or 0.0 for row in table.rows if row.engine == "fma") == graph(str(network)).flop


def test_quantised_operators_run_in_int8(tmp_path) -> None:
    scale, zero = np.float32(0.05), np.uint8(128)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "s", "zw"], ["dw"]),
        helper.make_node("Conv", ["d", "dw"], ["c"], name="conv", pads=[1, 1, 1, 1]),
    ]
    constants = {"s": np.array(scale), "z": np.array(zero), "zw": np.array(0, np.int8), "w": RNG.integers(-100, 100, (32, 16, 3, 3)).astype(np.int8)}
    onnx.save(model(nodes, [tensor("x", 1, 16, 32, 32)], ["c"], constants), tmp_path / "q.onnx")
    table = profile(prepare(parse_target(str(tmp_path / "q.onnx"), runtime="openvino", threads=1)), 1)
    (convolution,) = [row for row in table.rows if row.group == "convolution"]
    assert convolution.placement.precision == "int8"
    assert convolution.flop == 2 * 32 * 1024 * 144


def test_another_kind_of_target(network) -> None:
    prepared = prepare(parse_target(str(network), runtime="openvino", threads=1))
    prepared.flavour = None
    with pytest.raises(UsageError, match="OpenVINO"):
        profile(prepared)


def test_the_cost_of_issuing_an_operator(taken) -> None:
    fit = fit_dispatch(taken.rows, 1)
    assert fit.library == "openvino"
    assert fit.operators == len(taken.rows)
    assert 0.0 <= fit.per_operator_s.low <= fit.per_operator_s.value <= fit.per_operator_s.high


def test_no_link_of_the_chain_is_left_out() -> None:
    compiled = openvino.Core().compile_model(chain(20), "CPU", {"PERF_COUNT": True})
    request = compiled.create_infer_request()
    request.infer({0: np.ones((1, 4), np.float32)})
    # One of less than a microsecond is said not to have run; one that was joined with another, to be optimised out.
    links = [entry.status.name for entry in request.profiling_info if entry.node_type == "Softmax"]
    assert len(links) == 20
    assert set(links) <= {"EXECUTED", "NOT_RUN"}


def test_the_table_travels(taken) -> None:
    assert msgspec.json.decode(msgspec.json.encode(taken), type=type(taken)) == taken


def test_the_child_answers_for_it(network) -> None:
    """Operators between clean calls, and the cost of issuing one, as a diagnosis asks for them."""
    with Worker() as worker:
        spec = parse_target(str(network), runtime="openvino", threads=1)
        worker.call("ridgeline.measurement.agent:prepare", {"spec": spec}, PreparedReport)
        found = worker.call("ridgeline.measurement.agent:operators", {"seconds": 0.5}, OperatorsReport)
        fit = worker.call("ridgeline.measurement.agent:dispatch", {"table": found.table, "device": None}, DispatchFit)
    assert found.table.instrument.startswith("OpenVINO")
    assert found.clean_s.value > 0
    assert (fit.library, fit.operators) == ("openvino", len(found.table.rows))


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_a_whole_network_counts_what_its_file_counts(name) -> None:
    """Every convolution and product of a classic topology, grouped ones included, found again in the executed graph."""
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    table = profile(prepare(parse_target(str(path), runtime="openvino", threads=1)), 1)
    assert sum(row.flop or 0.0 for row in table.rows if row.engine == "fma") == graph(str(path)).flop
    assert not [row.name for row in table.rows if row.flop is None]
