"""FLOPs and bytes against hand counts, laws, and torch's own counter where that is right."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from ridgeline.work.torch import RecordedOp, record, record_fake, work_of


def flop(call, recorder=record_fake):
    """FLOPs on `fma`, and a failure if any operator is unknown."""
    works = [work_of(op) for op in recorder(call)]
    assert all(work.flop is not None for work in works), [work.reason for work in works if work.flop is None]
    return sum(work.flop for work in works if work.engine == "fma")


def counted(call):
    """What torch's counter says."""
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def only(call):
    """Work of the one operator that is neither a view nor an allocation."""
    works = [work for work in map(work_of, record(call)) if work.group not in ("view", "allocation")]
    assert len(works) == 1
    return works[0]


@given(m=st.integers(1, 9), k=st.integers(1, 9), n=st.integers(1, 9), b=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_products_are_2mnk(m, k, n, b):
    left, right, bias = torch.ones(m, k), torch.ones(k, n), torch.ones(n)
    batch_left, batch_right = torch.ones(b, m, k), torch.ones(b, k, n)
    with torch.no_grad():
        for call in (lambda: left @ right, lambda: torch.addmm(bias, left, right), lambda: functional.linear(left, right.t(), bias)):
            assert flop(call) == counted(call) == 2 * m * n * k
        for call in (lambda: batch_left @ batch_right, lambda: torch.baddbmm(torch.ones(b, m, n), batch_left, batch_right)):
            assert flop(call) == counted(call) == 2 * b * m * n * k
        # einsum takes dimensions of length 1 for a pointwise product.
        if min(m, k, n, b) > 1:
            assert flop(lambda: torch.einsum("bmk,bkn->bmn", batch_left, batch_right)) == 2 * b * m * n * k
        assert flop(lambda: batch_left @ right) == 2 * b * m * n * k


def test_vector_products_which_torchs_counter_leaves_out():
    matrix, vector = torch.ones(5, 7), torch.ones(7)
    assert flop(lambda: matrix @ vector) == 2 * 5 * 7
    assert flop(lambda: torch.dot(vector, vector)) == 14
    assert flop(lambda: torch.addmv(torch.ones(5), matrix, vector)) == 70
    assert flop(lambda: torch.outer(vector, vector)) in (0, 49)  # a composition: a pointwise product
    assert counted(lambda: (matrix @ vector, torch.dot(vector, vector), torch.addmv(torch.ones(5), matrix, vector))) == 0


@given(
    groups=st.integers(1, 3),
    per_in=st.integers(1, 3),
    per_out=st.integers(1, 3),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.integers(1, 2),
    padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
    transposed=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_convolutions(groups, per_in, per_out, kernel, stride, padding, dilation, transposed):
    layer = (nn.ConvTranspose2d if transposed else nn.Conv2d)(
        groups * per_in, groups * per_out, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    x = torch.ones(2, groups * per_in, 9, 8)
    with torch.no_grad():
        result = layer(x)
        sites = 9 * 8 if transposed else result.shape[2] * result.shape[3]
        hand = 2 * 2 * sites * per_in * per_out * groups * kernel[0] * kernel[1]
        assert flop(lambda: layer(x)) == hand
        assert counted(lambda: layer(x)) == hand


def test_the_depthwise_convolution_of_the_method():
    layer, x = nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False), torch.ones(1, 64, 112, 112)
    with torch.no_grad():
        work = only(lambda: layer(x))
    assert work.flop == 2 * 64 * 9 * 112 * 112
    assert (work.read_bytes, work.write_bytes) == (3_211_264 + 64 * 9 * 4, 3_211_264)


def test_the_matrix_vector_product_of_the_method():
    weight, x = torch.ones(4096, 4096, dtype=torch.bfloat16), torch.ones(4096, dtype=torch.bfloat16)
    work = work_of(record_fake(lambda: weight @ x)[-1])
    assert work.flop == pytest.approx(33.55e6, rel=1e-3)
    assert work.flop / (work.read_bytes + work.write_bytes) == pytest.approx(1.0, rel=1e-3)


def test_one_dimensional_unbatched_convolution():
    layer, x = nn.Conv1d(3, 5, 4), torch.ones(3, 10)
    with torch.no_grad():
        assert flop(lambda: layer(x)) == 2 * 7 * 3 * 5 * 4


def test_backward_of_a_convolution_and_of_a_linear_layer_is_two_forwards():
    net, x = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(4 * 16, 3)), torch.ones(2, 2, 6, 6, requires_grad=True)
    forward = flop(lambda: net(x), record)

    def step():
        net(x).sum().backward()

    assert flop(step, record) == 3 * forward
    x.grad = None
    # torch's counter agrees on the dense layer; for the grouped weight gradient it multiplies as if there were one group.
    assert counted(step) > 3 * forward


@given(queries=st.integers(1, 9), keys=st.integers(1, 9), heads=st.integers(1, 3), width=st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_attention(queries, keys, heads, width):
    query, key = torch.ones(2, heads, queries, width), torch.ones(2, heads, keys, width)
    with torch.no_grad():
        full = flop(lambda: functional.scaled_dot_product_attention(query, key, key), record)
        causal = flop(lambda: functional.scaled_dot_product_attention(query, key, key, is_causal=True), record)
    allowed = sum(min(i + 1, keys) for i in range(queries))
    assert full == 4 * 2 * heads * queries * keys * width
    assert causal == 4 * 2 * heads * allowed * width


def test_attention_is_what_its_two_products_are():
    query = torch.ones(2, 3, 16, 8)
    with torch.no_grad():
        fused = flop(lambda: functional.scaled_dot_product_attention(query, query, query), record)
        plain = flop(lambda: torch.softmax(query @ query.transpose(-1, -2), -1) @ query, record)
    assert fused == plain


def test_the_fused_encoder_layer_counts_what_the_plain_one_does():
    layer, x = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval(), torch.randn(2, 10, 32)
    with torch.inference_mode():
        fused = record(lambda: layer(x))
    assert [op.kind for op in fused if not op.is_view] == ["aten::_transformer_encoder_layer_fwd"]
    plain = flop(lambda: layer(x), record)  # grad mode takes the plain path
    assert flop(lambda: layer(x), lambda _: fused) == plain == 2 * 20 * (4 * 32 * 32 + 2 * 10 * 32 + 2 * 32 * 64)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("cell", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_recurrent_layers(cell, gates, bidirectional):
    layer, x = cell(5, 7, 2, bidirectional=bidirectional), torch.randn(6, 3, 5)
    directions = 2 if bidirectional else 1
    hand = 2 * 6 * 3 * gates * 7 * directions * ((5 + 7) + (7 * directions + 7))
    with torch.no_grad():
        assert flop(lambda: layer(x), record) == hand
    if cell is nn.LSTM:
        with torch.no_grad():
            assert counted(lambda: layer(x)) == 0, "torch's counter leaves oneDNN's layer out"


def test_pointwise_engines_and_bytes():
    x, y = torch.ones(8, 8), torch.ones(8, 8)
    for call, engine in (
        (lambda: x + y, "add"), (lambda: torch.relu(x), "add"), (lambda: x / y, "divide"), (lambda: x / 2, "add"), (lambda: torch.sqrt(x), "divide"),
        (lambda: torch.exp(x), "exp"), (lambda: torch.sigmoid(x), "exp"), (lambda: torch.tanh(x), "tanh"), (lambda: functional.gelu(x), "erf"),
        (lambda: functional.gelu(x, approximate="tanh"), "tanh"), (lambda: x**2, "add"), (lambda: x**0.5, "divide"), (lambda: x**1.7, "exp"),
        (lambda: torch.where(x > 0, x, y), "add"), (lambda: torch.maximum(x, y), "add"), (lambda: torch.max(x, y), "add"),
    ):  # fmt: skip
        work = work_of(record(call)[-1])
        assert (work.group, work.engine, work.flop, work.write_bytes) == ("elementwise", engine, 64.0, 256)


def test_movement_and_copies_are_told_apart_by_whether_order_or_dtype_changes():
    x = torch.ones(2, 3, 4, 5)
    for call, group in (
        (lambda: x.clone(), "copy"), (lambda: x.permute(0, 2, 3, 1).contiguous(), "movement"), (lambda: x.to(torch.float64), "movement"),
        (lambda: x.contiguous(memory_format=torch.channels_last), "movement"), (lambda: x[:, 1:].contiguous(), "copy"),
        (lambda: torch.empty(2, 3, 4, 5).copy_(x), "copy"), (lambda: torch.empty(5, 4, 3, 2).copy_(x.permute(3, 2, 1, 0)), "movement"),
        (lambda: x[:1].expand(2, 3, 4, 5).contiguous(), "copy"), (lambda: torch.cat([x, x]), "movement"),
    ):  # fmt: skip
        work = work_of(record(call)[-1])
        assert (work.group, work.engine, work.flop) == (group, None, 0.0)
        assert work.write_bytes > 0


def test_a_look_up_reads_rows_and_not_the_table():
    table, index = torch.ones(10_000, 16), torch.tensor([1, 2, 3])
    for call in (lambda: functional.embedding(index, table), lambda: table[index], lambda: table.index_select(0, index)):
        work = work_of(record(call)[-1])
        assert (work.group, work.engine, work.flop) == ("gather", None, 0.0)
        assert work.read_bytes == 3 * 16 * 4 + 3 * 8
        assert work.write_bytes == 3 * 16 * 4


def test_a_scatter_in_place_writes_only_the_places():
    target, index, source = torch.zeros(10_000), torch.tensor([1, 2, 3]), torch.ones(3)
    added = work_of(record(lambda: target.index_add_(0, index, source))[-1])
    assert (added.read_bytes, added.write_bytes) == (12 + 24 + 12, 12)
    put = work_of(record(lambda: target.index_copy_(0, index, source))[-1])
    assert (put.read_bytes, put.write_bytes) == (24 + 12, 12)


def test_reductions_sorts_pools_and_norms():
    x, image = torch.ones(4, 100), torch.ones(1, 2, 8, 8)
    for call, group, engine, count in (
        (lambda: x.sum(), "reduction", "reduce", 400), (lambda: x.amax(1), "reduction", "reduce", 400),
        (lambda: x.argmax(), "reduction", "reduce", 400),
        (lambda: x.cumsum(0), "reduction", "reduce", 400), (lambda: x.topk(3), "sort", "sort", 400), (lambda: x.sort(), "sort", "sort", 400),
        (lambda: torch.softmax(x, 1), "normalisation", "exp", 400), (lambda: functional.layer_norm(x, (100,)), "normalisation", "reduce", 400),
        (lambda: functional.group_norm(image, 2), "normalisation", "reduce", 128),
        (lambda: functional.avg_pool2d(image, 2), "reduction", "reduce", 128),
        (lambda: functional.max_pool2d(image, 3, 1), "reduction", "reduce", 2 * 36 * 9),
    ):  # fmt: skip
        with torch.no_grad():
            works = [work for work in map(work_of, record(call)) if work.group not in ("view", "allocation")]
        assert [(work.group, work.engine, work.flop) for work in works] == [(group, engine, count)]


def test_fills_are_allocations_when_the_storage_is_new():
    x = torch.ones(16)
    made, filled, empty = (work_of(record(call)[-1]) for call in (lambda: torch.zeros(16), lambda: x.zero_(), lambda: torch.empty(16)))
    assert (made.group, made.write_bytes, made.writes[0].fresh) == ("allocation", 64, True)
    assert (filled.group, filled.write_bytes, filled.read_bytes) == ("movement", 64, 0)
    assert (empty.group, empty.write_bytes) == ("allocation", 0)


def test_lists_of_tensors_count_every_one():
    xs, ys = [torch.ones(10) for _ in range(3)], [torch.ones(10) for _ in range(3)]
    work = work_of(record(lambda: torch._foreach_add_(xs, ys))[-1])
    assert (work.flop, work.read_bytes, work.write_bytes) == (30.0, 240, 120)


def test_factorisations_and_solves():
    torch.manual_seed(0)
    a, b = torch.eye(6) + 0.1 * torch.rand(6, 6), torch.rand(6, 2)
    spd = a @ a.t()
    for call, kind, count in (
        (lambda: torch.linalg.cholesky(spd), "linalg_cholesky_ex", 72), (lambda: torch.linalg.inv(a), "linalg_inv_ex", 432),
        (lambda: torch.linalg.solve(a, b), "_linalg_solve_ex", 144 + 144), (lambda: torch.linalg.lu_factor(a), "linalg_lu_factor_ex", 144),
        (lambda: torch.linalg.solve_triangular(a, b, upper=True), "linalg_solve_triangular", 72),
        (lambda: torch.linalg.qr(a), "linalg_qr", 576), (lambda: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b), "linalg_lu_solve", 144),
    ):  # fmt: skip
        (op,) = [op for op in record(call) if op.kind == f"aten::{kind}"]
        assert work_of(op).flop == pytest.approx(count)


def test_an_operator_without_a_formula_is_unknown_and_not_zero():
    x = torch.eye(4)
    work = work_of(record(lambda: torch.linalg.eigh(x))[-1])
    assert work.flop is None
    assert "no formula" in work.reason
    with torch.library._scoped_library("ridgeline_test", "DEF") as library:
        library.define("mystery(Tensor x) -> Tensor")
        library.impl("mystery", lambda x: x.clone(), "CPU")
        work = work_of(record(lambda: torch.ops.ridgeline_test.mystery(x))[-1])
    assert (work.flop, work.group, work.read_bytes, work.write_bytes) == (None, "other", 64, 64)
    assert "ridgeline_test::mystery" in work.reason


@given(factor=st.integers(2, 5))
@settings(max_examples=4, deadline=None)
def test_a_batch_k_times_as_large_is_k_times_the_work(factor):
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5), nn.Tanh()).eval()

    def total(batch):
        works = [work_of(op) for op in record_fake(lambda: net(torch.ones(batch, 3, 8, 8)))]
        moved = sum(use.size_bytes for work in works for use in (*work.reads, *work.writes) if not use.constant)
        return sum(work.flop for work in works), moved

    with torch.no_grad():
        one, many = total(1), total(factor)
    assert many == tuple(factor * value for value in one)


def test_an_overload_that_the_formula_does_not_fit_is_unknown():
    work = work_of(RecordedOp(kind="aten::mm", overload="strange"))
    assert work.flop is None
    assert "strange" in work.reason
