"""Laws of the formulas that the cases are instances of: two independent counts of one thing agree."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ridgeline.core import UsageError
from ridgeline.work.onnx import Node, Value, op_work
from ridgeline.work.torch import RecordedOp, TensorUse, record, record_fake, work_of
from support.onnx_models import node, value

MS = "com.microsoft"
LIMIT = st.integers(-1, 9)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 5), LIMIT, LIMIT, st.booleans())
def test_attention_visits_the_pairs_of_its_mask(queries: int, new: int, past: int, left: int, right: int, causal: bool) -> None:
    cached = [None, value("pk", 1, 2, past, 8), value("pv", 1, 2, past, 8)] if past else []
    inputs = [value("q", 1, 2, queries, 8), value("k", 1, 2, new, 8), value("v", 1, 2, new, 6), *cached]
    work = op_work(node("Attention", inputs, [value("y", 1, 2, queries, 6)], is_causal=int(causal), left_window_size=left, right_window_size=right))
    after = 0 if causal else right
    pairs = sum(
        (left < 0 or key >= query + past - left) and (after < 0 or key <= query + past + after)
        for query, key in itertools.product(range(queries), range(new + past))
    )
    assert work.flop == 2 * 2 * pairs * (8 + 6)


@given(st.integers(1, 6), st.integers(0, 9), st.integers(1, 12))
def test_grouped_attention_sees_its_window(queries: int, past: int, window: int) -> None:
    inputs = [value("q", 2, queries, 32), value("k", 2, queries, 16), value("v", 2, queries, 16)]
    inputs += [value("pk", 2, 2, past, 8), value("pv", 2, 2, past, 8)]
    outputs = [value("y", 2, queries, 32), value("k2", 2, 2, past + queries, 8), value("v2", 2, 2, past + queries, 8)]
    work = op_work(node("GroupQueryAttention", inputs, outputs, MS, num_heads=4, kv_num_heads=2, local_window_size=window))
    pairs = sum(min(past + query + 1, window) for query in range(queries))
    assert work.flop == 2 * 2 * 4 * pairs * (8 + 8)


def test_external_keys_of_which_some_are_used() -> None:
    inputs = [value("q", 2, 4, 4, 8), value("k", 2, 4, 8, 8), value("v", 2, 4, 8, 8), None, None, None]
    used = value("n", 2, dtype="int64", constant=True, content=(4, 8))
    known = op_work(node("Attention", [*inputs, used], [value("y", 2, 4, 4, 8)], is_causal=1))
    # As the standard draws it: four queries on four keys are a triangle, on eight a triangle beside a full block.
    assert known.flop == 2 * 4 * ((4 * 5 // 2) + (4 * 4 + 4 * 5 // 2)) * (8 + 8)
    unknown = op_work(node("Attention", [*inputs, value("n", 2, dtype="int64")], [value("y", 2, 4, 4, 8)], is_causal=1))
    assert unknown.flop is None
    assert "nonpad_kv_seqlen" in unknown.reason


@given(st.data())
@settings(max_examples=60)
def test_einsum_of_two_operands_is_its_loop_nest(data: st.DataObject) -> None:
    """Over letters that both operands or the result have, a loop nest of one multiply-add a combination."""
    sizes = dict(zip("abcd", data.draw(st.lists(st.integers(2, 5), min_size=4, max_size=4)), strict=True))
    left, right = ("".join(data.draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))) for _ in range(2))
    kept = [letter for letter in "abcd" if letter in left + right]
    result = "".join(letter for letter in kept if (letter in left) != (letter in right) or data.draw(st.booleans()))
    shapes = [tuple(sizes[letter] for letter in term) for term in (left, right)]
    outcome = np.einsum(f"{left},{right}->{result}", *(np.ones(shape) for shape in shapes)).shape
    work = op_work(node("Einsum", [value("x", *shapes[0]), value("y", *shapes[1])], [value("z", *outcome)], equation=f"{left},{right}->{result}"))
    nest = math.prod(sizes[letter] for letter in kept)
    summed = set(kept) - set(result)
    assert (work.flop, work.engine) == ((2 * nest, "fma") if summed else (nest, "add"))


@pytest.mark.parametrize(
    ("equation", "shapes", "result", "flop", "engine"),
    [
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 8), (2, 3, 5, 8)], (2, 3, 4, 5), 2 * 2 * 3 * 4 * 5 * 8, "fma"),
        # A letter that one operand alone has is summed before the product.
        ("ij,kl->il", [(2, 3), (4, 5)], (2, 5), 2 * 5, "add"),
        ("ijk,jl->il", [(2, 3, 4), (3, 5)], (2, 5), 2 * 2 * 3 * 5, "fma"),
        ("...ij,...jk->...ik", [(7, 2, 3), (3, 4)], (7, 2, 4), 2 * 7 * 2 * 3 * 4, "fma"),
        ("ij->ji", [(2, 3)], (3, 2), 0, None),
        ("ii->i", [(3, 3)], (3,), 0, None),
        ("ij->i", [(2, 3)], (2,), 6, "reduce"),
        ("i,i,i->", [(4,), (4,), (4,)], (), 4 + 2 * 4, None),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]], result: tuple[int, ...], flop: int, engine: str | None) -> None:
    work = op_work(node("Einsum", [value(f"x{index}", *shape) for index, shape in enumerate(shapes)], [value("y", *result)], equation=equation))
    if equation == "i,i,i->":  # a pointwise product first, which the reason tells
        assert (work.flop, work.engine) == (2 * 4, "fma")
        assert "4 pointwise products not counted" in work.reason
    else:
        assert (work.flop, work.engine) == (flop, engine)


@pytest.mark.parametrize("equation", ["ij,jk", "", "i,j,k->", "ijk,jk->i", "i.j,jk->ik", "ij,jk->iz", "....ij,jk->ik", "->", "Ω,jk->k", "ij,ik->jk"])
def test_einsum_that_does_not_fit_is_no_error(equation: str) -> None:
    work = op_work(node("Einsum", [value("a", 2, 3), value("b", 3, 4)], [value("y", 2, 4)], equation=equation))
    assert work.flop is None or (equation == "ij,jk" and work.flop == 2 * 2 * 3 * 4)
    assert work.flop is not None or work.reason


@given(st.lists(st.integers(0, 9), min_size=3, max_size=3), st.sampled_from([("LSTM", 4), ("GRU", 3), ("RNN", 1)]), st.booleans())
def test_recurrent_layers_step_as_often_as_their_sequences_are_long(lengths: list[int], cell: tuple[str, int], batch_first: bool) -> None:
    kind, gates = cell
    source = (3, 7, 5) if batch_first else (7, 3, 5)
    inputs = [value("x", *source), value("w", 1, gates * 6, 5), value("r", 1, gates * 6, 6), None]
    given_lengths = value("n", 3, dtype="int32", constant=True, content=tuple(lengths))
    work = op_work(node(kind, [*inputs, given_lengths], [value("y", 1)], hidden_size=6, layout=int(batch_first)))
    assert work.flop == 2 * sum(min(length, 7) for length in lengths) * gates * 6 * (5 + 6)
    data = op_work(node(kind, [*inputs, value("n", 3, dtype="int32")], [value("y", 1)], hidden_size=6, layout=int(batch_first)))
    assert data.flop == 2 * 21 * gates * 6 * (5 + 6)
    assert "every step counted" in data.reason


@pytest.mark.parametrize(
    ("attributes", "before", "after", "taps", "touched"),
    [
        ({"mode": "nearest"}, (10, 10), (5, 5), 0, 25),
        ({"mode": "linear"}, (10, 10), (20, 20), 4, 100),
        ({"mode": "linear"}, (10, 10), (10, 20), 2, 100),  # one dimension stays
        ({"mode": "linear"}, (100, 100), (5, 5), 4, 100),  # two by two for each result
        ({"mode": "linear", "antialias": 1}, (100, 100), (10, 10), 400, 10_000),  # 2 · 10 along each dimension
        ({"mode": "cubic"}, (10, 10), (20, 20), 16, 100),
    ],
)
def test_resize(attributes: dict[str, object], before: tuple[int, int], after: tuple[int, int], taps: int, touched: int) -> None:
    work = op_work(node("Resize", [value("x", 1, 3, *before), None, value("s", 4)], [value("y", 1, 3, *after)], **attributes))
    assert work.flop == 2 * taps * 3 * after[0] * after[1]
    assert work.reads is not None
    assert work.reads[0] == 3 * touched * 4


def test_formats_executed() -> None:
    wide = node("GemmFloat8", [value("a", 4, 8, dtype="float16"), value("b", 8, 4, dtype="float16")], [value("y", 4, 4)], MS)
    assert op_work(wide).precision == "fp16"
    short = node("QAttention", [value("x", 1, 512, 8, dtype="uint8"), value("w", 8, 24, dtype="int8")], [value("y", 1, 512, 8)], MS, num_heads=1)
    # Here the products are the larger part, and they are in fp32.
    assert op_work(short).precision == "fp32"
    assert f"{2 * 512 * 8 * 24} of the operations in int8" in op_work(short).reason
    narrow = Node(
        kind="MatMulNBits",
        domain=MS,
        inputs=(value("a", 1, 64), value("b", 32, 2, 16, dtype="uint8")),
        outputs=(value("y", 1, 32),),
        attributes={"K": 64, "N": 32, "accuracy_level": 4},
    )
    assert op_work(narrow).precision == "int8"


@given(
    rows=st.integers(1, 6), inner=st.integers(1, 6), columns=st.integers(1, 4), density=st.floats(0, 1), layout=st.sampled_from(["coo", "csr", "csc"])
)
@settings(max_examples=25, deadline=None)
def test_sparse_products_count_what_is_kept(rows: int, inner: int, columns: int, density: float, layout: str) -> None:
    dense = (torch.rand(rows, inner, generator=torch.Generator().manual_seed(rows + 7 * inner)) < density).float()
    kept = dense.to_sparse() if layout == "coo" else getattr(dense, f"to_sparse_{layout}")()
    other = torch.ones(inner, columns)
    (op,) = [op for op in record(lambda: kept @ other) if op.kind == "aten::mm"]
    work = work_of(op)
    assert work.flop == 2 * int(dense.sum()) * columns
    assert (op.inputs[0].stored or pytest.fail("not seen as sparse")).values == int(dense.sum())


def test_the_product_of_two_sparse_matrices_is_unknown() -> None:
    kept = torch.eye(4).to_sparse_csr()
    work = work_of(next(op for op in record(lambda: kept @ kept) if op.kind == "aten::mm"))
    assert work.flop is None
    assert "two sparse operands" in work.reason
    assert work.read_bytes == 4 * 4 + (5 + 4) * 8  # one matrix, read once


def test_a_sparse_operand_that_is_fake_is_unknown() -> None:
    (op,) = [op for op in record_fake(lambda: torch.eye(8).to_sparse() @ torch.ones(8, 3)) if op.kind == "aten::mm"]
    work = work_of(op)
    assert (work.flop, work.read_bytes) == (None, None)
    assert "cannot be seen" in work.reason


def test_jagged_sequences_count_what_their_class_runs() -> None:
    source = torch.nested.nested_tensor([torch.ones(3, 8), torch.ones(5, 8)], layout=torch.jagged)
    with torch.no_grad():
        works = [work_of(op) for op in record(lambda: nn.functional.linear(source, torch.ones(4, 8)))]
    assert [work.flop for work in works if work.engine == "fma"] == [2 * (3 + 5) * 8 * 4]


def test_a_nested_tensor_of_the_old_kind_hides_its_lengths() -> None:
    source = torch.nested.nested_tensor([torch.ones(3, 8), torch.ones(5, 8)])
    with torch.no_grad():
        (work,) = [work_of(op) for op in record(lambda: nn.functional.linear(source, torch.ones(4, 8))) if op.kind == "aten::linear"]
    assert work.flop is None
    assert "nested" in work.reason


def test_a_packed_weight_is_one_buffer_in_every_call() -> None:
    layer = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 8)), {nn.Linear})
    source = torch.ones(2, 8)
    ops = [op for op in record(lambda: layer(layer(source))) if op.kind == "quantized::linear_dynamic"]
    weights = [op.tensor("W_prepack") or op.arguments["W_prepack"][0] for op in ops]
    assert len(weights) == 2
    assert weights[0].buffer == weights[1].buffer
    assert weights[0].constant
    assert weights[0].shape == (8, 8)
    other = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 8)), {nn.Linear})
    first, second = (op for op in record(lambda: other(layer(source))) if op.kind == "quantized::linear_dynamic")
    assert first.arguments["W_prepack"][0].buffer != second.arguments["W_prepack"][0].buffer


@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16])
def test_packed_weights_have_no_fake_form(dtype: torch.dtype) -> None:
    layer = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 8)), {nn.Linear}, dtype=dtype)
    with pytest.raises(UsageError, match="packed weights"):
        record_fake(lambda: layer(torch.ones(2, 8)))
    quantised = torch.quantize_per_tensor(torch.ones(2, 8), 0.1, 0, torch.quint8)
    with pytest.raises(UsageError, match="without data"):
        record_fake(lambda: quantised.relu())


@pytest.mark.parametrize("lead", [(), (4,), (2, 4), (1, 2, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("variant", ["plain", "bool", "float", "dropout", "narrow"])
def test_every_way_that_a_cpu_takes_attention_counts_the_same(lead: tuple[int, ...], dtype: torch.dtype, variant: str) -> None:
    query, key = torch.ones(*lead, 6, 8, dtype=dtype), torch.ones(*lead, 10, 8, dtype=dtype)
    held = key[..., :4].contiguous() if variant == "narrow" else key
    mask = {"bool": torch.ones(6, 10, dtype=torch.bool), "float": torch.zeros(6, 10, dtype=dtype)}.get(variant)
    dropout = 0.3 if variant == "dropout" else 0.0
    with torch.no_grad():
        works = map(work_of, record(lambda: nn.functional.scaled_dot_product_attention(query, key, held, attn_mask=mask, dropout_p=dropout)))
        found = sum(work.flop or 0 for work in works if work.engine == "fma")
    assert found == 2 * math.prod(lead) * 6 * 10 * (8 + held.shape[-1])


def test_a_weight_that_cannot_be_seen_is_said_so() -> None:
    use = TensorUse(buffer=0, shape=(3, 8), dtype="quint8")
    result = TensorUse(buffer=1, shape=(3, 4), dtype="quint8", fresh=True)
    op = RecordedOp(kind="quantized::linear", arguments={"W_prepack": "somebody's object"}, inputs=(use,), outputs=(result,))
    work = work_of(op)
    assert (work.flop, work.read_bytes, work.precision) == (2 * 3 * 8 * 4, None, "int8")
    conv = work_of(RecordedOp(kind="quantized::conv2d", inputs=(use,), outputs=(result,)))
    assert conv.flop is None
    assert "packed weight" in conv.reason


@pytest.mark.parametrize("packed", [False, True])
def test_attention_kernels_with_steps_before_heads(packed: bool) -> None:
    query, key = (TensorUse(buffer=index, shape=(2, steps, 4, 8), dtype="float16") for index, steps in enumerate((6, 10)))
    lengths = {"cum_seq_q": TensorUse(buffer=5, shape=(3,), dtype="int32")} if packed else {}
    op = RecordedOp(
        kind="aten::_flash_attention_forward",
        arguments={"query": query, "key": key, "value": key, "is_causal": False, **lengths},
        inputs=(query, key, key),
        outputs=(TensorUse(buffer=9, shape=(2, 6, 4, 8), dtype="float16", fresh=True),),
    )
    assert work_of(op).flop == (None if packed else 2 * 2 * 4 * 6 * 10 * (8 + 8))


@given(cells=st.sampled_from([(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)]), lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_packed_sequences_count_their_own_steps(cells: tuple[type[nn.Module], int], lengths: list[int]) -> None:
    kind, gates = cells
    lengths = sorted(lengths, reverse=True)
    layer = kind(3, 4, bidirectional=True)
    packed = nn.utils.rnn.pack_padded_sequence(torch.ones(lengths[0], len(lengths), 3), lengths)
    with torch.no_grad():
        products = [work for work in map(work_of, record(lambda: layer(packed))) if work.engine == "fma"]
    assert sum(work.flop or 0 for work in products) == 2 * 2 * sum(lengths) * gates * 4 * (3 + 4)


def test_a_shape_computed_by_a_remainder_is_known() -> None:
    """`unflatten` is exported with a Mod: what follows it was unknown once."""
    assert Value(name="x").shape is None
    from onnx import helper

    from ridgeline.work.onnx import graph
    from support.onnx_models import model, tensor

    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Mod", ["axis", "rank"], ["end"]),
        helper.make_node("Slice", ["s", "zero", "end"], ["front"]),
        helper.make_node("Concat", ["front", "tail"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    numbers = {"axis": [-1], "rank": [2], "zero": [0], "tail": [3, 4]}
    found = graph(model(nodes, [tensor("x", 5, 12)], ["z"], {name: np.array(content, np.int64) for name, content in numbers.items()}))
    assert next(known.shape for known in found.tensors if known.name == "z") == (5, 3, 4)
    assert found.unknown == ()


def test_a_convolution_keeps_its_group_and_its_groups() -> None:
    from onnx import helper

    from ridgeline.work.onnx import graph
    from support.onnx_models import model, tensor, zeros

    conv = helper.make_node("Conv", ["x", "w"], ["y"], group=4)
    (op,) = graph(model([conv], [tensor("x", 1, 4, 5, 5)], ["y"], {"w": zeros(4, 1, 3, 3)})).ops
    assert (op.attributes["group"], op.attributes["groups"]) == ("convolution", "4")
