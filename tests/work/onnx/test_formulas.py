"""Operations and bytes of single operators against hand counts and laws."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.work.onnx import Node, Value, known_kinds, op_work
from support.onnx_models import node, value

MS, NCHWC = "com.microsoft", "com.microsoft.nchwc"


def test_convolution_of_the_method_text() -> None:
    # 2 · Cin · Cout · Kh · Kw · Hout · Wout for resnet's first layer
    work = op_work(node("Conv", [value("x", 1, 3, 224, 224), value("w", 64, 3, 7, 7, constant=True)], [value("y", 1, 64, 112, 112)]))
    assert work.flop == 2 * 3 * 64 * 7 * 7 * 112 * 112 == 236_027_904
    assert work.engine == "fma"
    assert work.precision == "fp32"
    assert (work.reads, work.writes) == ((3 * 224 * 224 * 4, 64 * 3 * 49 * 4), (64 * 112 * 112 * 4,))


@pytest.mark.parametrize(
    ("kind", "x", "w", "y", "flop"),
    [
        # depthwise: one input channel a filter
        ("Conv", (1, 64, 112, 112), (64, 1, 3, 3), (1, 64, 112, 112), 2 * 9 * 64 * 112 * 112),
        # four groups: a quarter of the dense count 2·9·16·32·64
        ("Conv", (2, 16, 8, 8), (32, 4, 3, 3), (2, 32, 8, 8), 2 * (2 * 9 * 16 * 32 * 64) // 4),
        # one dimension, kernel 256, stride 128 over 576 samples: three frames
        ("Conv", (1, 1, 576), (258, 1, 256), (1, 258, 3), 2 * 256 * 258 * 3),
        # three dimensions
        ("Conv", (1, 2, 4, 4, 4), (5, 2, 1, 2, 3), (1, 5, 4, 3, 2), 2 * 2 * 6 * 5 * 24),
        # transposed: every input element meets Cout ÷ g taps of the kernel
        ("ConvTranspose", (1, 24, 80, 80), (24, 24, 2, 2), (1, 24, 160, 160), 2 * 24 * 80 * 80 * 24 * 4),
        ("ConvTranspose", (1, 6, 5, 5), (6, 2, 3, 3), (1, 6, 11, 11), 2 * 6 * 25 * 2 * 9),
        ("ConvInteger", (1, 3, 8, 8), (4, 3, 3, 3), (1, 4, 6, 6), 2 * 27 * 4 * 36),
    ],
)
def test_convolutions(kind: str, x: tuple[int, ...], w: tuple[int, ...], y: tuple[int, ...], flop: int) -> None:
    assert op_work(node(kind, [value("x", *x), value("w", *w)], [value("y", *y)])).flop == flop


def test_quantised_convolution_finds_its_weight_behind_scale_and_zero_point() -> None:
    small = [value(name) for name in ("xs", "xz")]
    inputs = [value("x", 1, 3, 8, 8, dtype="uint8"), *small, value("w", 4, 3, 3, 3, dtype="int8"), value("ws"), value("wz"), value("ys"), value("yz")]
    work = op_work(node("QLinearConv", inputs, [value("y", 1, 4, 6, 6, dtype="uint8")]))
    assert work.flop == 2 * 27 * 4 * 36
    assert work.precision == "int8"


def test_matrix_vector_of_the_method_text() -> None:
    # 4096 × 4096 in fp16: 33.55 MFLOP and 33.55 MB, so an intensity of one
    inputs = [value("x", 1, 4096, dtype="float16"), value("w", 4096, 4096, dtype="float16", constant=True)]
    work = op_work(node("MatMul", inputs, [value("y", 1, 4096, dtype="float16")]))
    assert work.flop == 2 * 4096 * 4096
    assert work.precision == "fp16"
    assert work.reads is not None
    assert work.reads[1] == 33_554_432


@pytest.mark.parametrize(
    ("a", "b", "y", "flop"),
    [
        ((5, 7), (7, 3), (5, 3), 2 * 5 * 7 * 3),
        ((4, 1, 5, 7), (2, 7, 3), (4, 2, 5, 3), 8 * 2 * 5 * 7 * 3),  # broadcast batch
        ((7,), (7,), (), 2 * 7),
        ((7,), (4, 7, 3), (4, 3), 4 * 2 * 7 * 3),
        ((5, 7), (7,), (5,), 2 * 5 * 7),
    ],
)
def test_matmul_broadcasts(a: tuple[int, ...], b: tuple[int, ...], y: tuple[int, ...], flop: int) -> None:
    assert op_work(node("MatMul", [value("a", *a), value("b", *b)], [value("y", *y)])).flop == flop


def test_gemm_takes_its_inner_dimension_from_the_transposed_operand() -> None:
    plain = node("Gemm", [value("a", 5, 7), value("b", 7, 3)], [value("y", 5, 3)])
    transposed = node("Gemm", [value("a", 7, 5), value("b", 7, 3)], [value("y", 5, 3)], transA=1)
    assert op_work(plain).flop == op_work(transposed).flop == 2 * 5 * 7 * 3


def test_packed_weights_take_k_from_the_attribute() -> None:
    inputs = [value("x", 1, 1, 4096), value("w", 4096, 128, 16, dtype="uint8", constant=True), value("s", 4096 * 128, constant=True)]
    work = op_work(node("MatMulNBits", inputs, [value("y", 1, 1, 4096)], MS, K=4096, N=4096, bits=4, block_size=32))
    assert work.flop == 2 * 4096 * 4096
    assert work.reads is not None
    assert work.reads[1] == 4096 * 4096 // 2


def test_lstm_by_hand() -> None:
    # one step, batch 1, 128 wide: four gates of two 128 × 128 products
    inputs = [value("x", 1, 1, 128), value("w", 1, 512, 128), value("r", 1, 512, 128), value("b", 1, 1024)]
    assert op_work(node("LSTM", inputs, [value("y", 1, 1, 1, 128)], hidden_size=128)).flop == 2 * 4 * 128 * (128 + 128)
    both = node("LSTM", inputs, [value("y", 1, 2, 1, 128)], hidden_size=128, direction="bidirectional")
    assert op_work(both).flop == 2 * 2 * 4 * 128 * (128 + 128)
    gru = node("GRU", [value("x", 5, 3, 10), value("w", 1, 60, 10), value("r", 1, 60, 20)], [value("y", 5, 1, 3, 20)])
    assert op_work(gru).flop == 2 * 5 * 3 * 3 * 20 * (10 + 20)


def test_attention_counts_half_when_causal() -> None:
    shapes = [value(name, 2, 4, 16, 8) for name in "qkv"]
    full = op_work(node("Attention", shapes, [value("y", 2, 4, 16, 8)]))
    causal = op_work(node("Attention", shapes, [value("y", 2, 4, 16, 8)], is_causal=1))
    assert full.flop == 2 * 2 * 4 * 16 * 16 * (8 + 8)
    assert causal.flop == 2 * 2 * 4 * (16 * 17 // 2) * (8 + 8)


def test_attention_with_its_projection() -> None:
    # BERT-like: (B, S, I) by (I, 3H), then the two products
    inputs = [value("x", 2, 16, 64), value("w", 64, 192), value("b", 192)]
    work = op_work(node("Attention", inputs, [value("y", 2, 16, 64)], MS, num_heads=4))
    assert work.flop == 2 * 2 * 16 * 64 * 192 + 2 * 2 * 16 * 16 * (64 + 64)
    multi = op_work(node("MultiHeadAttention", [value(name, 2, 16, 64) for name in "qkv"], [value("y", 2, 16, 64)], MS, num_heads=4))
    assert multi.flop == 2 * 2 * 16 * 16 * (64 + 64)


@pytest.mark.parametrize(
    ("kind", "engine", "group"),
    [
        ("Add", "add", "elementwise"),
        ("Relu", "add", "elementwise"),
        ("Div", "divide", "elementwise"),
        ("Sqrt", "divide", "elementwise"),
        ("Sigmoid", "exp", "elementwise"),
        ("Tanh", "tanh", "elementwise"),
        ("Erf", "erf", "elementwise"),
        ("Gelu", "erf", "elementwise"),
        ("Softmax", "exp", "normalisation"),
        ("LayerNormalization", "reduce", "normalisation"),
        ("ReduceSum", "reduce", "reduction"),
        ("TopK", "sort", "sort"),
        ("Transpose", None, "movement"),
        ("Cast", None, "movement"),
    ],
)
def test_engine_and_group(kind: str, engine: str | None, group: str) -> None:
    work = op_work(node(kind, [value("x", 4, 100)], [value("y", 4, 100)]))
    assert (work.engine, work.group) == (engine, group)
    assert work.flop == (400 if engine else 0)


def test_views_cost_nothing_and_say_so() -> None:
    for kind in ("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"):
        work = op_work(node(kind, [value("x", 4, 100), value("shape", 2, dtype="int64")], [value("y", 400)]))
        assert (work.flop, work.engine, work.read_bytes, work.write_bytes, work.group) == (0.0, None, 0, 0, "view")
        assert work.reason == "view"


def test_gather_reads_only_the_picked_rows() -> None:
    inputs = [value("table", 50_000, 64, constant=True), value("ids", 1, 12, dtype="int64")]
    work = op_work(node("Gather", inputs, [value("y", 1, 12, 64)]))
    assert work.reads == (12 * 64 * 4, 12 * 8)
    # A row is copied in one stretch; single elements are looked up.
    assert (work.flop, work.engine, work.reason) == (0, None, "whole rows")


def test_slice_reads_what_it_hands_on() -> None:
    work = op_work(node("Slice", [value("x", 1000, 1000), value("s", 1, dtype="int64"), value("e", 1, dtype="int64")], [value("y", 10, 1000)]))
    assert (work.read_bytes, work.write_bytes) == (10 * 1000 * 4 + 16, 10 * 1000 * 4)


def test_a_constant_exponent_decides_the_engine_of_pow() -> None:
    def engine(content: tuple[float, ...] | None) -> str | None:
        return op_work(node("Pow", [value("x", 8), value("e", constant=True, content=content)], [value("y", 8)])).engine

    assert [engine((2.0,)), engine((0.5,)), engine((1.7,)), engine(None)] == ["add", "divide", "exp", "exp"]


def test_variadic_sum_counts_operands_less_one() -> None:
    assert op_work(node("Sum", [value(name, 10) for name in "abcd"], [value("y", 10)])).flop == 30
    assert op_work(node("Max", [value("a", 10)], [value("y", 10)])).flop == 0


def test_pooling_counts_every_element_of_every_window() -> None:
    pool = node("MaxPool", [value("x", 1, 64, 112, 112)], [value("y", 1, 64, 56, 56)], kernel_shape=(3, 3))
    assert op_work(pool).flop == 64 * 56 * 56 * 9
    assert op_work(node("GlobalAveragePool", [value("x", 1, 64, 7, 7)], [value("y", 1, 64, 1, 1)])).flop == 64 * 49


def test_resize_by_mode() -> None:
    inputs = [value("x", 1, 3, 10, 10), None, value("scales", 4)]
    nearest = op_work(node("Resize", inputs, [value("y", 1, 3, 20, 20)]))
    linear = op_work(node("Resize", inputs, [value("y", 1, 3, 20, 20)], mode="linear"))
    assert (nearest.flop, nearest.engine) == (0.0, None)
    assert (linear.flop, linear.engine) == (2 * 4 * 1200, "fma")


def test_an_operand_used_twice_is_read_once() -> None:
    x = value("x", 100)
    assert op_work(node("Mul", [x, x], [value("y", 100)])).reads == (400, 0)


def test_sub_byte_weights_take_half_a_byte() -> None:
    work = op_work(node("DequantizeLinear", [value("x", 101, dtype="int4"), value("s")], [value("y", 101)]))
    assert work.reads == (51, 4)


def test_no_formula_is_unknown_and_says_so_but_has_bytes() -> None:
    work = op_work(node("Imaginary", [value("x", 10)], [value("y", 10)], "org.example"))
    assert work.flop is None
    assert work.engine is None
    assert "no formula for org.example:Imaginary" in work.reason
    assert (work.read_bytes, work.write_bytes) == (40, 40)


def test_an_unbound_dimension_is_unknown_and_named() -> None:
    free = Value(name="x", shape=("batch", 10), dtype="float32")
    work = op_work(Node(kind="Relu", inputs=(free,), outputs=(Value(name="y", shape=("batch", 10), dtype="float32"),)))
    assert work.flop is None
    assert "batch" in work.reason
    assert work.read_bytes is None


@given(st.sampled_from(sorted(known_kinds())), st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=4), st.integers(0, 3))
def test_no_formula_raises_whatever_the_shapes(kind: tuple[str, str], shapes: list[list[int]], outputs: int) -> None:
    inputs = [value(f"i{index}", *shape) if shape else None for index, shape in enumerate(shapes)]
    work = op_work(node(kind[1], inputs, [value(f"o{index}", *(shapes[0] if shapes else [2])) for index in range(outputs)], kind[0]))
    assert work.flop is None or (math.isfinite(work.flop) and work.flop >= 0)
    assert work.flop is not None or work.reason
    assert work.engine is None or work.flop is not None


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.sampled_from([1, 2, 4]))
def test_a_batch_of_k_scales_flops_and_activations(k: int, cin: int, cout: int, size: int, groups: int) -> None:
    weight = value("w", cout * groups, cin, 3, 3, constant=True)

    def conv(batch: int) -> tuple[float, int, int]:
        work = op_work(node("Conv", [value("x", batch, cin * groups, size, size), weight], [value("y", batch, cout * groups, size, size)]))
        assert work.flop is not None
        assert work.reads is not None
        assert work.write_bytes is not None
        return work.flop, work.reads[0] or 0, work.write_bytes

    one, many = conv(1), conv(k)
    assert many == tuple(k * part for part in one)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 8))
def test_a_one_by_one_convolution_is_a_matrix_product(pixels: int, cin: int, cout: int) -> None:
    conv = op_work(node("Conv", [value("x", 1, cin, pixels, 1), value("w", cout, cin, 1, 1)], [value("y", 1, cout, pixels, 1)]))
    product = op_work(node("MatMul", [value("x", pixels, cin), value("w", cin, cout)], [value("y", pixels, cout)]))
    assert conv.flop == product.flop
    assert (conv.read_bytes, conv.write_bytes) == (product.read_bytes, product.write_bytes)


@pytest.mark.parametrize(
    ("kind", "domain", "shapes", "rows"),
    [
        # Positions 0 to 4 of two sequences; one number says where both start, so that they share five rows; three rows have no more than three.
        ("RotaryEmbedding", "", ((2, 4, 5, 16), (900, 8), (900, 8), (2, 5)), 10),
        ("RotaryEmbedding", "com.microsoft", ((2, 5, 64), (2, 5), (900, 8), (900, 8)), 10),
        ("RotaryEmbedding", "com.microsoft", ((2, 5, 64), (1,), (900, 8), (900, 8)), 5),
        ("RotaryEmbedding", "com.microsoft", ((2, 4, 5, 16), (1,), (900, 8), (900, 8)), 5),
        ("RotaryEmbedding", "com.microsoft", ((2, 5, 64), (2, 5), (3, 8), (3, 8)), 3),
    ],
)
def test_angles_are_looked_up_by_rows(kind: str, domain: str, shapes: tuple[tuple[int, ...], ...], rows: int) -> None:
    ids = 3 if domain == "" else 1
    inputs = [value(f"i{index}", *shape, dtype="int64" if index == ids else "float32") for index, shape in enumerate(shapes)]
    work = op_work(msgspec.structs.replace(node(kind, inputs, [value("y", *shapes[0])]), domain=domain))
    assert work.read_bytes == math.prod(shapes[0]) * 4 + math.prod(shapes[ids]) * 8 + 2 * rows * 8 * 4
    assert work.flop == math.prod(shapes[0])


def test_a_grouped_attention_with_rotary_angles_reads_the_rows_of_its_steps() -> None:
    """One step of two sequences after nine: 8 query heads of 16 on 2 of keys; tables of 4096 positions, of which one row each is read."""
    shapes = [(2, 1, 128), (2, 1, 32), (2, 1, 32), (2, 2, 9, 16), (2, 2, 9, 16), (2,), (1,), (4096, 8), (4096, 8)]
    inputs = [value(f"i{index}", *shape, dtype="int32" if index in (5, 6) else "float32") for index, shape in enumerate(shapes)]
    outputs = [value("y", 2, 1, 128), value("k", 2, 2, 10, 16), value("v", 2, 2, 10, 16)]
    made = node("GroupQueryAttention", inputs, outputs, num_heads=8, kv_num_heads=2, do_rotary=1)
    work = op_work(msgspec.structs.replace(made, domain="com.microsoft"))
    assert work.flop == 2 * 2 * 8 * 10 * (16 + 16)
    assert work.read_bytes == (2 * 128 + 2 * 2 * 32 + 2 * 2 * 2 * 9 * 16) * 4 + 3 * 4 + 2 * (2 * 8 * 4)
    assert work.write_bytes == (2 * 128 + 2 * 2 * 2 * 10 * 16) * 4
