"""Steps of language models: FLOPs, bytes and memory in closed form; the whole is the sum of its parts."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import OutOfRange, SystemState, UsageError, Workload
from ridgeline.device import find
from ridgeline.model.families import demand
from ridgeline.model.graphs.serving import memory, serve, step
from ridgeline.model.graphs.transformer import Transformer, cache_bytes, parameters, step_operators, weight_bytes
from ridgeline.model.kernels.timing import KernelTimes

DENSE = Transformer(layers=32, hidden=4096, heads=32, kv_heads=8, head_size=128, inner=14336, vocabulary=128256)
MIXED = msgspec.structs.replace(DENSE, vocabulary=32000, experts=8, active=2)
GRAPH = SystemState(dispatch_s=0.0)


def counted(workload: Workload) -> KernelTimes:
    """A second a FLOP, and its demand."""
    full = demand(workload.kind, workload.sizes)
    flop = np.atleast_1d(full.flop)
    return KernelTimes(flop, flop, flop, flop, flop, flop, 2 * np.atleast_1d(full.inputs + full.weights + full.outputs), {})


def product_flop(model: Transformer, sequences: int, queries: int, ranks: int = 1) -> float:
    found = step_operators(model, sequences=sequences, queries=queries, ranks=ranks)
    return sum(each.calls * float(demand("gemm", each.workload.sizes).flop) for each in found if each.part == "products")


def test_parameters_of_known_models() -> None:
    assert parameters(DENSE).total == 8_029_995_008  # 8,030,261,248 with its norms: 65 · 4096 fewer
    assert parameters(DENSE) == (parameters(DENSE).active, parameters(DENSE).total)
    assert round(parameters(MIXED).total / 1e9, 1) == 46.7
    assert round(parameters(MIXED).active / 1e9, 1) == 12.9


def test_flop_of_products_are_two_a_parameter_and_token() -> None:
    embeddings = DENSE.vocabulary * DENSE.hidden
    layers = parameters(DENSE).total - 2 * embeddings
    assert product_flop(DENSE, 3, 100) == 2 * layers * 300 + 2 * embeddings * 3


def test_active_parameters_make_the_time_of_experts() -> None:
    found = {each.name: each for each in step_operators(MIXED, sequences=1, queries=1)}
    flop = float(demand("moe", found["experts"].workload.sizes).flop)
    assert flop == 2 * 2 * 3 * 4096 * 14336
    assert found["experts"].calls == 32
    assert float(demand("moe", found["experts"].workload.sizes).weights) == pytest.approx(2 * 3 * 4096 * 14336)
    assert found["router"].workload.sizes == {"m": 1, "n": 8, "k": 4096}


def test_shared_experts_are_products_of_every_token() -> None:
    shared = msgspec.structs.replace(MIXED, shared=1)
    more = parameters(shared).active - parameters(MIXED).active
    assert more == 32 * 3 * 4096 * 14336
    assert product_flop(shared, 1, 10) - product_flop(MIXED, 1, 10) == 2 * more * 10


def test_attention_sees_the_cache_and_heads_of_keys_alone() -> None:
    found = {each.name: each.workload for each in step_operators(DENSE, sequences=2, queries=1, past=999)}
    asked = demand("attention", found["attention"].sizes)
    assert float(asked.flop) == 4 * 2 * 32 * 1000 * 128
    assert float(asked.weights) == 2 * 2 * 8 * 1000 * 128


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_devices_share_the_work_evenly(ranks: int) -> None:
    assert product_flop(DENSE, 4, 16, ranks) == pytest.approx(product_flop(DENSE, 4, 16) / ranks)
    assert weight_bytes(DENSE, ranks) == weight_bytes(DENSE) / ranks
    sums = [each for each in step_operators(DENSE, sequences=4, queries=16, ranks=ranks) if each.part == "communication"]
    assert [(each.calls, each.workload.sizes["elements"]) for each in sums] == ([] if ranks == 1 else [(64, 4 * 16 * 4096)])


def test_cache_by_heads_width_window_and_devices() -> None:
    assert cache_bytes(DENSE, 4, 1000) == 2 * 32 * 4 * 1000 * 8 * 128 * 2
    assert cache_bytes(msgspec.structs.replace(DENSE, cache_precision="fp8"), 4, 1000) == cache_bytes(DENSE, 4, 1000) / 2
    assert cache_bytes(msgspec.structs.replace(DENSE, kv_heads=32), 4, 1000) == 4 * cache_bytes(DENSE, 4, 1000)
    assert cache_bytes(msgspec.structs.replace(DENSE, window=100), 4, 1000) == cache_bytes(DENSE, 4, 100)
    # Beyond the heads of keys they are copied, not cut.
    assert cache_bytes(DENSE, 4, 1000, ranks=16) == cache_bytes(DENSE, 4, 1000, ranks=8)


def test_weights_by_stored_format() -> None:
    embeddings = 2 * DENSE.vocabulary * DENSE.hidden
    layers = parameters(DENSE).total - embeddings
    assert weight_bytes(DENSE) == 2 * parameters(DENSE).total
    assert weight_bytes(msgspec.structs.replace(DENSE, weight_precision="int4")) == layers / 2 + 2 * embeddings
    assert weight_bytes(MIXED) == 2 * parameters(MIXED).total


def test_a_step_is_the_sum_of_its_operators() -> None:
    made = step(DENSE, counted, sequences=2, queries=8)
    by_hand = sum(each.calls * float(demand(each.workload.kind, each.workload.sizes).flop) for each in step_operators(DENSE, sequences=2, queries=8))
    assert made.seconds == by_hand == made.flop
    assert sum(made.parts.values()) == pytest.approx(made.seconds)
    assert made.kernels == 32 * 9 + 3


def test_tokens_cost_what_lies_behind_them() -> None:
    """Time that is affine in the cache: the mean over a conversation is exact."""
    made = serve(DENSE, find("h200"), sequences=1, prompt=100, generated=11, price=counted)
    each = [step(DENSE, counted, sequences=1, queries=1, past=past).seconds for past in range(100, 110)]
    assert made.per_token.seconds == pytest.approx(np.mean(each), rel=1e-3)
    assert made.total_s == pytest.approx(made.first_token.seconds + 10 * made.per_token.seconds)
    assert made.tokens_per_s == 1 / made.per_token.seconds


class TestOnDevices:
    def test_decode_is_no_faster_than_reading_the_weights(self) -> None:
        device = find("h100 sxm")
        made = serve(DENSE, device, sequences=1, prompt=512, generated=64, state=GRAPH)
        assert made.per_token.seconds > weight_bytes(DENSE) * 0.9 / 3.35e12
        assert made.first_token.seconds > 2 * 512 * parameters(DENSE).active * 0.9 / 989e12
        assert made.per_token.low_s < made.per_token.seconds < made.per_token.high_s
        assert not made.out_of_range

    def test_batch_raises_throughput_and_the_time_of_a_token(self) -> None:
        one, many = (serve(DENSE, find("h100 sxm"), sequences=batch, prompt=256, generated=64, state=GRAPH) for batch in (1, 64))
        assert many.tokens_per_s > 20 * one.tokens_per_s
        assert many.per_token.seconds > one.per_token.seconds

    def test_a_host_that_is_slow_makes_every_kernel_wait(self) -> None:
        made = serve(DENSE, find("h100 sxm"), sequences=1, prompt=256, generated=4, state=SystemState(dispatch_s=1e-3))
        assert made.per_token.seconds >= made.per_token.kernels * 1e-3
        unknown = serve(DENSE, find("h100 sxm"), sequences=1, prompt=256, generated=4)
        assert any("host floor unknown" in reason for reason in unknown.out_of_range)

    def test_memory_that_is_short_is_said(self) -> None:
        made = serve(MIXED, find("h100 sxm"), sequences=1, prompt=256, generated=4, state=GRAPH)
        assert any(reason.startswith("needs 9") for reason in made.out_of_range)
        assert memory(MIXED, sequences=1, prompt=256, generated=4).capacity_bytes is None


@pytest.mark.parametrize(
    "wrong", [{"kv_heads": 5}, {"experts": 8, "active": 0}, {"experts": 0, "active": 2}, {"layers": 0}, {"cache_precision": "fp64"}, {"window": -1}]
)
def test_models_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Transformer(**{name: getattr(DENSE, name) for name in DENSE.__struct_fields__} | wrong)  # type: ignore[arg-type]


def test_cuts_and_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(OutOfRange, match="cut over"):
        weight_bytes(DENSE, 3)
    with pytest.raises(UsageError, match="one new token"):
        step_operators(DENSE, sequences=1, queries=0)
    with pytest.raises(UsageError, match="generated"):
        serve(DENSE, find("h200"), sequences=1, prompt=1, generated=0)
