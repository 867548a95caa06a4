"""The parts of OpenVINO's operator table on graphs made by hand: what a node stands for, its seconds, its work and its bytes."""

from __future__ import annotations

import pytest

from ridgeline.core import Diagnosis
from ridgeline.diagnosis import next as next_step
from ridgeline.measurement.operators.openvino.graph import ExecutedNode, ModelOp, executed_precision
from ridgeline.measurement.operators.openvino.origin import origins
from ridgeline.measurement.operators.openvino.rounds import TICK_S, Round, steady_us
from ridgeline.measurement.operators.openvino.rows import rows
from ridgeline.work.onnx import Value
from ridgeline.work.openvino import OpenvinoOp
from support.facts_by_hand import facts


def value(name: str, *shape: int, constant: bool = False, dtype: str = "float32") -> Value:
    return Value(name=name, shape=shape, dtype=dtype, constant=constant)


def op(name: str, kind: str, after: tuple[int, ...], inputs: list[Value], output: Value, *, constant: bool = False, **attributes: object) -> ModelOp:
    made = OpenvinoOp(name=name, kind=kind, inputs=tuple(inputs), outputs=(output,), attributes=attributes)
    return ModelOp(op=made, after=after, constant=constant)


X, W, T = value("x:0", 1, 8, 4, 4), value("w:0", 16, 8, 3, 3, constant=True), value("t:0", 4, constant=True, dtype="int64")
C, R, S = value("c:0", 1, 16, 4, 4), value("r:0", 1, 16, 4, 4), value("s:0", 1, 4, 4, 16)
#: x → convolution → relu → transposition → y = sin.
MODEL = (
    op("x", "Parameter", (), [], X),
    op("w", "Constant", (), [], W, constant=True),
    op("c/WithoutBiases", "Convolution", (0, 1), [X, W], C),
    op("r", "Relu", (2,), [C], R),
    op("t", "Constant", (), [], T, constant=True),
    op("s", "Transpose", (3, 4), [R, T], S),
    op("y", "Sin", (5,), [S], value("y:0", 1, 4, 4, 16)),
)


def node(
    name: str, kind: str, originals: tuple[str, ...], output: Value, inputs: tuple[int, ...] = (), *, ran: bool = True, **more: str
) -> ExecutedNode:
    sources = tuple((position, 0) for position in inputs)
    return ExecutedNode(name=name, kind=kind, originals=originals, outputs=(output,), inputs=sources, ran=ran, **{"precision": "f32", **more})


EXECUTED = (
    node("x", "Input", ("x",), X, ran=False),
    node("x_abcd_acdb_c", "Reorder", (), X, (0,), layouts=("acdb",)),
    node("w", "Const", ("w",), W, ran=False),
    node("c/WithoutBiases", "Convolution", ("c/WithoutBiases", "r"), C, (1, 2), kernel="brgconv_f32"),
    node("c_acdb_abcd_fake", "Reorder", (), S, (3,), ran=False),
    node("y", "Sin", ("y",), value("y", 1, 4, 4, 16), (4,)),
    node("y/sink_port_0", "Output", ("y/sink_port_0",), value("y", 1, 4, 4, 16), (5,), ran=False),
)


def table(executed=EXECUTED, model=MODEL, names=None, calls=4):
    taken = [Round(node_s={one.name: 1e-4 for one in executed if one.ran}, wall_s=1e-3, own_wall_s=1e-3, calls=calls)] * 3
    return rows(executed, origins(model, executed, names), model, taken, 2)


def test_what_is_executed_has_a_row_and_nothing_else_has() -> None:
    assert [(row.kind, row.name, row.inserted) for row in table()] == [
        ("Reorder", "x_abcd_acdb_c", True),
        ("Convolution", "c (fused: c+r)", False),
        # The transposition has no name in the executed graph: it belongs to what has its result.
        ("Sin", "y (fused: s+y)", False),
    ]
    assert [row.after for row in table()] == [(), (0,), (1,)]


def test_the_names_of_the_model_s_file() -> None:
    assert table(names={"y": "sine"})[2].name == "sine (fused: s+sine)"


def test_a_name_that_only_openvino_knows() -> None:
    """A node of its own making that converts nothing is no insertion: nobody can remove it, and what it computes was asked for."""
    executed = (*EXECUTED[:5], node("Multiply_12", "Multiply", ("Multiply_12",), S, (4,)), EXECUTED[6])
    row = table(executed)[2]
    assert (row.name, row.inserted) == ("Multiply_12", False)
    convert = (*EXECUTED[:5], node("Convert_12", "Convert", ("Convert_12",), S, (4,)), EXECUTED[6])
    assert table(convert)[2].inserted


def test_work_is_that_of_the_executed_kind() -> None:
    reorder, convolution, sine = table()
    assert (reorder.flop, reorder.engine, reorder.group) == (0.0, None, "movement")
    assert (convolution.flop, convolution.engine, convolution.group) == (2 * 16 * 16 * 72, "fma", "convolution")
    # Each of 256 results on the engine of the exponential; the turned copy in front of it computes nothing.
    assert (sine.flop, sine.engine, sine.group) == (256.0, "exp", "elementwise")


def test_a_convolution_whose_name_was_lost_counts_all_the_same() -> None:
    """Batch normalisation is folded into the weight, and the node is named after the multiplication that does it."""
    model = (*MODEL[:3], op("bn", "BatchNormInference", (2,), [C], R), *MODEL[4:])
    executed = (*EXECUTED[:3], node("Multiply_7", "Convolution", ("Multiply_7", "bn"), C, (1, 2)), *EXECUTED[4:])
    row = table(executed, model)[1]
    assert row.flop == 2 * 16 * 16 * 72
    assert row.name == "bn (fused: c+bn)"


def test_bytes_are_of_the_executed_tensors() -> None:
    reorder, convolution, sine = table()
    assert [use.size_bytes for use in convolution.reads or ()] == [4 * 128, 4 * 16 * 72]
    assert [use.constant for use in convolution.reads or ()] == [False, True]
    assert [use.size_bytes for use in convolution.writes or ()] == [4 * 256]
    # The graph's input is there in every call; what a reorder makes of it is not.
    assert [use.persistent for use in reorder.reads or ()] == [True]
    assert [use.persistent for use in convolution.reads or ()] == [False, True]
    # A node that only renames hands the buffer on.
    assert [use.buffer for use in sine.reads or ()] == [use.buffer for use in convolution.writes or ()]


@pytest.mark.parametrize(
    ("kernel", "narrowest", "executed"),
    [
        ("brgconv_avx512_f32", "f16", "f32"),  # weights stored in half precision, widened before the run
        ("brgconv_avx512_amx_bf16", "bf16", "bf16"),
        ("brgconv_avx512_I8", "u8", "u8"),
        ("jit_uni_f32", "bf16", "f32"),
        ("undef", "bf16", "bf16"),
        ("", "f32", "f32"),
    ],
)
def test_the_kernel_tells_the_precision(kernel, narrowest, executed) -> None:
    assert executed_precision(kernel, narrowest) == executed


def test_weights_are_no_wider_than_the_kernel_that_reads_them() -> None:
    executed = (*EXECUTED[:3], node("c/WithoutBiases", "Convolution", ("c/WithoutBiases", "r"), C, (1, 2), precision="bf16"), *EXECUTED[4:])
    row = table(executed)[1]
    assert row.placement.precision == "bf16"
    assert [use.size_bytes for use in row.reads or ()] == [4 * 128, 2 * 16 * 72]


def test_a_part_reads_no_more_than_it_hands_on() -> None:
    whole, part = value("x:0", 1, 64, 4, 4), value("p:0", 1, 2, 4, 4)
    model = (op("x", "Parameter", (), [], whole), op("p", "Slice", (0,), [whole], part))
    executed = (node("x", "Input", ("x",), whole, ran=False), node("p", "Slice", ("p",), part, (0,)))
    (row,) = table(executed, model)
    assert [use.size_bytes for use in row.reads or ()] == [4 * 32]


def test_a_fused_chain_counts_its_dearest_operation() -> None:
    a = value("a:0", 100)
    model = (
        op("a", "Parameter", (), [], a),
        op("m", "Multiply", (0, 0), [a, a], a),
        op("t", "Tanh", (1,), [a], a),
        op("d", "Divide", (2, 0), [a, a], a),
    )
    executed = (node("a", "Input", ("a",), a, ran=False), node("d", "Subgraph", ("m", "t", "d"), a, (0,)))
    (row,) = table(executed, model)
    assert (row.flop, row.engine, row.group) == (100.0, "tanh", "elementwise")
    assert row.name == "d (fused: m+t+d)"


def test_attention_in_one_node_counts_both_products() -> None:
    q, scores, v = value("q:0", 8, 6, 15), value("s:0", 8, 6, 6), value("v:0", 8, 6, 15)
    model = (
        op("q", "Parameter", (), [], q),
        op("qk", "MatMul", (0, 0), [q, q], scores, transpose_a=False, transpose_b=True),
        op("soft", "Softmax", (1,), [scores], scores),
        op("av", "MatMul", (2, 0), [scores, v], q, transpose_a=False, transpose_b=False),
    )
    executed = (node("q", "Input", ("q",), q, ran=False), node("av", "Subgraph", ("qk", "soft", "av"), q, (0,)))
    (row,) = table(executed, model)
    assert (row.flop, row.group) == (2 * 2 * 8 * 6 * 6 * 15, "attention")


def test_a_fused_node_with_a_part_nobody_can_count_is_unknown() -> None:
    a = value("a:0", 100)
    model = (op("a", "Parameter", (), [], a), op("o", "Unheard", (0,), [a], a), op("t", "Tanh", (1,), [a], a))
    executed = (node("a", "Input", ("a",), a, ran=False), node("t", "Subgraph", ("o", "t"), a, (0,)))
    (row,) = table(executed, model)
    assert row.flop is None
    assert "Unheard" in row.reason


def test_open_sizes_have_no_bytes() -> None:
    open_value = Value(name="x:0", shape=None, dtype="float32")
    executed = (node("x", "Input", ("x",), open_value, ran=False), node("y", "Sin", ("y",), open_value, (0,)))
    (row,) = table(executed, (op("x", "Parameter", (), [], open_value), op("y", "Sin", (0,), [open_value], open_value)))
    assert (row.flop, row.reads, row.writes) == (None, None, None)


def test_seconds_of_the_later_inferences() -> None:
    """100 µs once and 10 µs four times average to 28 µs; a whole microsecond is what two cuts take off on average."""
    found = steady_us({"a": 100.0}, {"a": 28.0}, 1, 4, 20.0)
    assert found["a"] == pytest.approx((28 * 5 - 100) / 4 * TICK_S + TICK_S)


def test_no_more_is_added_than_the_wall_holds() -> None:
    found = steady_us({"a": 0.0, "b": 0.0}, {"a": 5.0, "b": 5.0}, 1, 1, 20.5)
    assert sum(found.values()) == pytest.approx(20.5e-6)
    assert all(seconds >= 0 for seconds in steady_us({"a": 90.0}, {"a": 3.0}, 1, 2, 1.0).values())


def test_the_interval_holds_what_the_cuts_leave_open() -> None:
    row = table(calls=1)[0]
    assert row.total_s.high - row.total_s.value == pytest.approx(2e-6)


def test_a_cast_that_the_compiler_wrote_as_a_chain_was_inserted() -> None:
    """A model in half precision that runs in fp32: OpenVINO widens its input in a node that no operator of the model is the origin of."""
    half, full = value("x:0", 64, dtype="float16"), value("x:0", 64)
    model = (op("x", "Parameter", (), [], half), op("y", "Relu", (0,), [half], half))
    cast = node("Convert_1", "Subgraph", ("Convert_1",), full, (0,))
    executed = (node("x", "Input", ("x",), half, ran=False), cast, node("y", "Relu", ("y",), full, (1,)))
    first, second = table(executed, model)
    assert (first.inserted, first.group, first.flop) == (True, "movement", 0.0)
    assert (second.inserted, second.flop) == (False, 64.0)
    # A chain that keeps the type computes something, of which nothing is known.
    unknown = table((executed[0], node("Multiply_1", "Subgraph", ("Multiply_1",), half, (0,)), executed[2]), model)[0]
    assert (unknown.inserted, unknown.flop, unknown.group) == (False, None, "elementwise")


def test_operators_inside_a_branch_are_not_told_apart() -> None:
    flag, x = value("c:0", dtype="bool"), value("x:0", 64)
    model = (op("c", "Parameter", (), [], flag), op("x", "Parameter", (), [], x), op("y", "If", (0, 1), [flag, x], x))
    executed = (
        node("c", "Input", ("c",), flag, ran=False),
        node("x", "Input", ("x",), x, ran=False),
        node("y", "If", ("y",), x, (0, 1), precision="u8"),
    )
    (row,) = table(executed, model)
    assert row.flop is None
    assert "inside If" in row.reason
    assert row.placement.precision == "any"


def test_reorders_that_it_inserted_are_the_verdict_where_they_are_the_time() -> None:
    """From the executed graph to the page: half of the call is a reorder that no operator of the model asked for."""
    seconds = {"x_abcd_acdb_c": 5e-3, "c/WithoutBiases": 4e-3, "y": 1e-3}
    taken = [Round(node_s=seconds, wall_s=10e-3, own_wall_s=10e-3, calls=4)] * 3
    made = rows(EXECUTED, origins(MODEL, EXECUTED), MODEL, taken, 1)
    diagnosis = next_step(facts(list(made), wall_s=10e-3))
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.bottleneck is not None
    assert diagnosis.bottleneck.cause == "layout-conversion"
    assert diagnosis.bottleneck.where.operator == "x_abcd_acdb_c"
    (shown,) = [operator for operator in diagnosis.operators if operator.name == "x_abcd_acdb_c"]
    assert shown.inserted
