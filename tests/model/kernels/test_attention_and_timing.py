"""Attention, experts and the seconds of workloads: laws, and what is refused or flagged."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import OutOfRange, Precision, Sparsity, SystemState, Workload
from ridgeline.device import find
from ridgeline.model.analytic.attention import attention
from ridgeline.model.kernels.attention import AttentionCost, attention_cost, attention_seconds, fit_attention
from ridgeline.model.kernels.constants import constants
from ridgeline.model.kernels.experts import expert_cost
from ridgeline.model.kernels.sheet import KernelSheet
from ridgeline.model.kernels.timing import kernel_times, workload_times

SHEET = KernelSheet(name="made up", flop_per_s=1e15, byte_per_s=4e12, units=100, cache_bytes=50e6)
H200 = find("h200")
GRAPH = SystemState(dispatch_s=0.0)


def cost(**sizes: object) -> AttentionCost:
    given = {"batch": 4, "heads": 32, "kv_heads": 8, "queries": 1024, "keys": 1024, "key_dim": 128} | sizes
    return attention_cost(attention(**given), SHEET)  # type: ignore[arg-type]


def test_whole_blocks_are_no_less_than_the_pairs() -> None:
    draw = np.random.default_rng(0)
    queries = draw.integers(2, 5000, 200).astype(float)
    past = draw.integers(0, 5000, 200).astype(float)
    window = np.where(draw.random(200) < 0.5, draw.integers(1, 4000, 200).astype(float), queries + past)
    made = cost(queries=queries, keys=queries + past, window=np.minimum(window, queries + past))
    assert (made.blocks >= made.compute * (1 - 1e-9)).all()
    assert (made.longest <= made.blocks * (1 + 1e-9)).all()


def test_blocks_one_by_one() -> None:
    """300 queries behind 200: from the last upwards rows of blocks see 4, 3 and 2 blocks of keys, and 100 units take 100 of them at a time."""
    made = cost(batch=1, heads=[10, 100], kv_heads=10, queries=300, keys=500)
    cell = 4 * 128 * 128 * 128 / (1e15 * constants().menu.peak_share / 100)
    assert made.waves.tolist() == [1.0, 3.0]
    assert made.blocks.tolist() == pytest.approx([4 * cell, (4 + 3 + 2) * cell])
    assert made.longest.tolist() == pytest.approx([4 * cell, 4 * cell])


def test_decode_reads_its_cache() -> None:
    made = cost(queries=1, keys=8192)
    cached = 4 * 8 * 8192 * 2 * 128 * 2
    assert float(made.bytes) == cached + 4 * 32 * 2 * 128 * 2
    assert float(made.longest) == 0.0
    grouped, full = cost(queries=1, keys=8192), cost(queries=1, keys=8192, kv_heads=32)
    assert float(full.memory / grouped.memory) == pytest.approx(4, rel=0.01)
    assert float(full.flop) == float(grouped.flop)


def test_multipliers_are_found_again() -> None:
    draw = np.random.default_rng(1)
    queries = np.round(2.0 ** draw.uniform(4, 14, 400))
    made = cost(batch=np.round(2.0 ** draw.uniform(0, 6, 400)), queries=queries, keys=queries)
    known = constants().attention_of("prefill")
    found = fit_attention(made, attention_seconds(made, known), phase="prefill", source="")
    assert found.spread < 1e-3
    assert found.arithmetic == pytest.approx(known.arithmetic, rel=0.02)


def test_experts_by_hand() -> None:
    one = np.array([1.0])
    single = expert_cost(one, 4096 * one, 14336 * one, 8 * one, 2 * one, SHEET, in_bytes=2.0)
    matrix = 3 * 4096 * 14336
    assert single.flop[0] == 2 * 2 * matrix
    assert single.reached[0] == pytest.approx(2)
    assert single.bytes[0] == pytest.approx(2 * matrix * 2 + 2 * (2 * 4096 + 3 * 14336) * 2)
    many = expert_cost(4096 * one, 4096 * one, 14336 * one, 8 * one, 2 * one, SHEET, in_bytes=2.0)
    assert many.reached[0] == pytest.approx(8)
    assert many.compute[0] == pytest.approx(2 * matrix * 8 * 1024 / (1e15 * 0.8))


class TestTimes:
    def test_bounds_hold_the_value_and_time_grows_with_work(self) -> None:
        made = kernel_times("gemm", {"m": [1, 64, 4096, 16384], "n": 8192, "k": 8192}, H200, "bf16", state=GRAPH)
        assert (made.low < made.seconds).all()
        assert (made.seconds < made.high).all()
        assert (np.diff(made.seconds) > 0).all()
        assert not made.out_of_range

    @pytest.mark.parametrize("precision", ["bf16", "fp8"])
    def test_more_work_never_takes_less(self, precision: Precision) -> None:
        draw = np.random.default_rng(3)
        most = {
            "gemm": {"m": 20_000, "n": 20_000, "k": 20_000}, "moe": {"tokens": 5000, "hidden": 8000, "inner": 8000},
            "attention": {"batch": 64, "heads": 32, "queries": 4000, "keys": 8000, "head_size": 256, "window": 4000},
        }  # fmt: skip
        fixed = {"moe": {"experts": 64, "active": 4}, "attention": {"causal": 1, "kv_heads": 1}}
        for kind, ends in most.items():
            sizes = {name: np.round(np.exp(draw.uniform(0, np.log(end), 800))) for name, end in ends.items()}
            if kind == "attention":
                sizes["queries"][:400] = 1
                sizes["keys"] += sizes["queries"]
            before = kernel_times(kind, sizes | fixed.get(kind, {}), H200, precision, state=GRAPH).seconds
            for name, values in sizes.items():
                more = np.round(values * draw.uniform(1.0, 1.6, 800)) + 1
                more = np.minimum(more, sizes["keys"]) if name == "queries" else more
                after = kernel_times(kind, sizes | fixed.get(kind, {}) | {name: more}, H200, precision, state=GRAPH).seconds
                assert (after >= before * (1 - 1e-12)).all(), (kind, name)

    def test_a_higher_clock_or_bandwidth_never_takes_more(self) -> None:
        draw = np.random.default_rng(4)
        sizes = {name: np.round(np.exp(draw.uniform(0, np.log(20_000), 800))) for name in ("m", "n", "k")}
        clock = H200.clock_hz.value if H200.clock_hz else 1.0
        before = kernel_times("gemm", sizes, H200, "bf16", state=GRAPH).seconds
        for worse in (SystemState(dispatch_s=0.0, core_clock_hz=0.8 * clock), SystemState(dispatch_s=0.0, memory_contention=0.3)):
            assert (kernel_times("gemm", sizes, H200, "bf16", state=worse).seconds >= before * (1 - 1e-12)).all()

    def test_one_query_takes_the_faster_of_two_kernels(self) -> None:
        sizes = {"batch": 8, "heads": 32, "kv_heads": 32, "keys": 2, "head_size": 64, "causal": 1}
        one, two = kernel_times("attention", sizes | {"queries": [1, 2]}, H200, "bf16", state=GRAPH).seconds
        assert one <= two

    def test_never_faster_than_the_peaks(self) -> None:
        draw = np.random.default_rng(2)
        sizes = {name: np.round(2.0 ** draw.uniform(5, 14, 500)) for name in ("m", "n", "k")}
        for precision, peak in (("bf16", 989e12), ("fp8", 1978e12)):
            made = kernel_times("gemm", sizes, H200, precision, state=GRAPH)  # type: ignore[arg-type]
            assert (made.flop / made.seconds < peak).all()

    def test_the_host_floor(self) -> None:
        sizes = {"m": 16, "n": 4096, "k": 4096}
        unknown = kernel_times("gemm", sizes, H200, "fp8", variant="linear block")
        (reason,) = unknown.out_of_range
        assert reason.startswith("host floor unknown")
        assert unknown.out_of_range[reason].all()
        eager = kernel_times("gemm", sizes, H200, "fp8", variant="linear block", state=SystemState(dispatch_s=90e-6))
        assert not eager.out_of_range
        assert 90e-6 <= eager.seconds[0] < 91e-6
        long = kernel_times("gemm", {"m": 16384, "n": 16384, "k": 16384}, H200, "fp8", variant="linear block")
        assert not long.out_of_range

    def test_far_beyond_what_was_recorded(self) -> None:
        made = kernel_times("gemm", {"m": [1000, 10**6], "n": 4096, "k": 4096}, H200, "bf16", state=GRAPH)
        (which,) = made.out_of_range.values()
        assert which.tolist() == [False, True]

    @pytest.mark.parametrize(
        ("kind", "sizes", "precision", "word"),
        [
            ("convolution", {"c": 1, "h": 1, "w": 1, "k": 1, "p": 1, "q": 1}, "bf16", "an operator of"),
            ("gemm", {"m": 8, "n": 8, "k": 8, "batch": 2, "groups": 2}, "bf16", "one right operand"),
            ("gemm", {"m": 8, "n": 8, "k": 8}, "int8", "a precision that was recorded"),
            ("attention", {"heads": 8, "kv_heads": 8, "queries": 8, "keys": 8, "head_size": 64}, "bf16", "causal"),
            ("moe", {"tokens": 8, "hidden": 8, "inner": 8, "experts": 8, "active": 2, "shared": 1}, "bf16", "routed"),
        ],
    )
    def test_what_no_form_knows_is_refused(self, kind: str, sizes: dict[str, int], precision: str, word: str) -> None:
        with pytest.raises(OutOfRange, match=word):
            kernel_times(kind, sizes, H200, precision)  # type: ignore[arg-type]

    def test_packed_and_sparse_weights_are_refused(self) -> None:
        sizes = {"m": 8, "n": 8, "k": 8}
        with pytest.raises(OutOfRange, match="format of the arithmetic"):
            workload_times(Workload(kind="gemm", sizes=sizes, precision="bf16", weight_precision="int4"), H200)
        sparse = Workload(kind="gemm", sizes=sizes, precision="bf16", sparsity=Sparsity(pattern="structured", density=0.5, group=(2, 4)))
        with pytest.raises(OutOfRange, match="dense"):
            workload_times(sparse, H200)

    def test_all_reduce_is_a_ring(self) -> None:
        made = kernel_times("collective", {"elements": 2**29, "ranks": [2, 8]}, find("h100 sxm"), "bf16", state=GRAPH)
        assert made.bytes.tolist() == [2**30, 2**30 * 2 * 7 / 8]
        with pytest.raises(OutOfRange, match="NVLink"):
            kernel_times("collective", {"elements": 8, "ranks": 2}, find("NVIDIA L4 24GB"), "bf16")
