"""Plans of graphs and their predictions: closed forms, conservation of time, batches, precisions, what is unknown, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import (
    Cost,
    Device,
    Graph,
    Neighbour,
    Op,
    OperatorList,
    OutOfRange,
    PlannedOperator,
    Prediction,
    Quantity,
    SystemState,
    Tensor,
    TripCount,
    UsageError,
    Workload,
)
from ridgeline.core.device import Precision
from ridgeline.core.documents import decode, encode
from ridgeline.core.prediction import Basis
from ridgeline.device import find
from ridgeline.device.catalogue import catalogue
from ridgeline.model.gpu.model import GpuModel
from ridgeline.model.graphs.batches import batched
from ridgeline.model.graphs.indicators import Prices
from ridgeline.model.graphs.predicting import Knowledge, Question, predicted
from ridgeline.model.graphs.tasks import plan_of_graph, plan_of_list
from ridgeline.model.operators.estimates import Estimates, estimates
from support.predicted import chain, cpu

Floats = NDArray[np.float64]


def of_chain(count: int = 3, device: Device | None = None, question: Question | None = None, known: Knowledge | None = None) -> Prediction:
    return predicted(plan_of_graph(chain(count), "onnxruntime", block=0, batch=1), device or cpu(), question, known)


def test_a_call_is_the_sum_of_its_operators_and_its_start() -> None:
    found = of_chain(4)
    operators = [each.latency_s.value for each in found.operators if each.latency_s is not None]
    assert len(operators) == 4
    call_s = 1e-5
    assert found.latency_s.value == pytest.approx(sum(operators) + call_s)
    alone = estimates([Workload(kind="gemm", sizes={"m": 64, "n": 64, "k": 64})], cpu(), reuse_bytes=1e5)
    assert operators[0] == pytest.approx(float(alone.latency_s[0]), rel=1e-6)


def test_shares_add_up_and_none_is_above_one() -> None:
    found = of_chain(4)
    assert sum(found.split.values()) == pytest.approx(1.0)
    assert found.bound == max(found.split, key=lambda name: found.split[name])
    for share in (found.peak_share, found.bandwidth_share, found.occupancy, *found.level_share.values()):
        assert share is not None
        assert 0 <= share.low <= share.value <= share.high <= 1


@pytest.mark.parametrize("device", [*catalogue(), cpu()], ids=lambda device: device.name)
def test_every_device_answers_with_every_indicator_or_says_why_not(device: Device) -> None:
    found = predicted(plan_of_graph(chain(3), "npu" if device.kind == "npu" else "onnxruntime", block=0, batch=1), device)
    for name in ("occupancy", "power_w", "energy_j", "peak_memory_bytes", "cost_per_million"):
        assert (getattr(found, name) is None) == (name in found.unknown), name
    for name in ("latency_s", "compute_s", "overhead_s", "communication_s", "throughput_per_s", "achieved_flop_per_s", "achieved_byte_per_s"):
        quantity = getattr(found, name)
        assert isinstance(quantity, Quantity), name
        assert quantity.source in ("analytic", "learned"), name
        assert quantity.origin, name
    assert found.memory_s
    assert found.latency_s.low < found.latency_s.value < found.latency_s.high
    assert found.latency_s.high / found.latency_s.low > 2  # by formulas alone nothing is sure
    assert found.basis == "analytic"
    assert found.data_version.startswith("formulas ")
    assert decode(encode(found), Prediction) == found


@pytest.mark.parametrize("device", [*catalogue(), cpu(threads=2)], ids=lambda device: device.name)
def test_achieved_rates_stay_under_the_ceilings(device: Device) -> None:
    found = predicted(plan_of_graph(chain(2, rows=4096, columns=4096), "npu" if device.kind == "npu" else "torch", batch=1), device)
    assert found.achieved_flop_per_s is not None
    assert found.peak_share is not None
    best = max(each.rate.value for each in device.ceilings if each.engine == "fma")
    assert found.achieved_flop_per_s.high <= best * (1 + 1e-9)
    assert found.peak_share.high <= 1


# ── batch and precision ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_batch_multiplies_the_work_and_not_the_weights() -> None:
    one, many = of_chain(), of_chain(question=Question(batch=16))
    assert (one.batch, many.batch) == (1, 16)
    assert sum(each.flop or 0 for each in many.operators) == 16 * sum(each.flop or 0 for each in one.operators)
    assert one.latency_s.value < many.latency_s.value < 16 * one.latency_s.value
    assert many.throughput_per_s is not None
    assert one.peak_memory_bytes is not None
    assert many.peak_memory_bytes is not None
    weights = 3 * 64 * 64 * 4
    assert many.peak_memory_bytes.value - weights == pytest.approx(16 * (one.peak_memory_bytes.value - weights))


@pytest.mark.parametrize(
    ("kind", "sizes", "grown"),
    [
        ("gemm", {"m": 2, "n": 3, "k": 4}, {"m": 8}), ("gemm", {"m": 2, "n": 3, "k": 4, "batch": 5, "groups": 5}, {"batch": 20, "groups": 20}),
        ("convolution", {"c": 1, "h": 1, "w": 1, "k": 1, "p": 1, "q": 1}, {"n": 4}), ("elementwise", {"elements": 3}, {"elements": 12}),
        ("attention", {"heads": 1, "queries": 1, "keys": 1, "head_size": 1, "kv_heads": 1}, {"batch": 4}),
    ],
)  # fmt: skip
def test_which_sizes_grow(kind: str, sizes: dict[str, int], grown: dict[str, int]) -> None:
    assert batched(Workload(kind=kind, sizes=sizes), 4).sizes == sizes | grown


def test_a_batch_of_a_million_does_not_fit_and_says_so() -> None:
    found = of_chain(question=Question(batch=10**6))
    assert any("does not run there as a whole" in reason for reason in found.out_of_range)


def test_what_does_not_fit_is_told_in_a_field_of_its_own() -> None:
    large, small = (of_chain(device=find("t4"), question=Question(batch=batch)) for batch in (10**6, 1))
    assert (large.fits, small.fits) == (False, True)
    assert of_chain(device=msgspec.structs.replace(find("t4"), memory_bytes=None)).fits is None


def test_energy_alone_is_no_price_of_a_device() -> None:
    """A device whose price is not known would be the cheapest of all."""
    unpriced = msgspec.structs.replace(find("t4"), price_per_hour=None)
    found = of_chain(device=unpriced, question=Question(prices=Prices(None, 0.3)))
    assert found.cost_per_million is None
    assert "--price" in found.unknown["cost_per_million"]
    only_energy = of_chain(device=unpriced, question=Question(prices=Prices(0.0, 0.3)))
    assert only_energy.cost_per_million is not None
    assert only_energy.cost_per_million.value > 0


@pytest.mark.parametrize(("name", "precision", "said"), [("a10", "fp16", True), ("l4", "fp16", True), ("l4", "bf16", False), ("a10", "fp32", False)])
def test_products_on_vector_lanes_for_want_of_a_better_rate_are_flagged(name: str, precision: Precision, said: bool) -> None:
    work = Workload(kind="gemm", sizes={"m": 512, "n": 512, "k": 512}, precision=precision)
    reasons = " ".join(estimates([work], find(name)).reasons(0))
    assert ("only the rate of its vector lanes" in reasons) == said


def test_a_precision_that_is_asked_for_halves_the_bytes_and_is_said() -> None:
    wide, narrow = of_chain(device=find("h100 sxm")), of_chain(device=find("h100 sxm"), question=Question(precision="fp16"))
    assert narrow.precision == "fp16"
    assert wide.peak_memory_bytes is not None
    assert narrow.peak_memory_bytes is not None
    assert narrow.peak_memory_bytes.value == wide.peak_memory_bytes.value / 2
    assert any("converted to fp16" in reason for reason in narrow.out_of_range)


def test_fp32_says_where_tf32_would_be_faster() -> None:
    """156 TFLOP/s in TF32 and 19.49 in fp32 on the data sheet of the A100: eight times, for products alone, and only where they are in fp32."""

    def said(device: str, kind: str = "MatMul", precision: Precision | None = None) -> list[str]:
        plan = plan_of_graph(chain(3, rows=512, columns=512, kind=kind), "torch", batch=1)
        found = predicted(plan, find(device), Question(precision=precision))
        return [reason for reason in found.out_of_range if "TF32" in reason]

    (reason,) = said("a100 sxm 80gb")
    assert "is 8 times as high" in reason
    assert "--precision tf32" in reason
    assert (
        said("a100 sxm 80gb", "MatMul", "tf32") == said("a100 sxm 80gb", "MatMul", "fp16") == said("a100 sxm 80gb", "Relu") == said("v100 pcie") == []
    )


def test_a_device_of_whole_numbers_runs_the_model_converted_and_says_so() -> None:
    found = predicted(plan_of_graph(chain(3), "npu", batch=1), find("hailo-8l"))
    assert found.precision == "int8"
    assert any("does not compute in fp32" in reason for reason in found.out_of_range)
    with pytest.raises(OutOfRange, match="fp32"):
        predicted(plan_of_graph(chain(3), "npu", batch=1), find("hailo-8l"), Question(precision="fp32"))


def of_products(device: Device, precision: Precision) -> Prediction:
    plan = plan_of_graph(chain(4, rows=512, columns=512), "onnxruntime", block=0, batch=1)
    return predicted(plan, device, Question(precision=precision))


def with_peak(device: Device, precision: Precision, factor: float) -> Device:
    """The device with a peak in another format, so many times that of fp32."""
    own = [each for each in device.ceilings if each.engine == "fma" and each.precision == "fp32"]
    more = tuple(
        msgspec.structs.replace(each, precision=precision, rate=Quantity.exact(factor * each.rate.value, "FLOP/s", source="measured")) for each in own
    )
    return msgspec.structs.replace(device, ceilings=(*device.ceilings, *more))


def test_a_processor_of_unknown_instructions_multiplies_eight_bits_as_fp32() -> None:
    """Neither four times as fast, nor as fast as in a format that it does state; a quarter of the time is the lower end."""
    wide, whole = of_products(cpu(), "fp32"), of_products(cpu(), "int8")
    assert wide.compute_s is not None
    assert whole.compute_s is not None
    assert whole.compute_s.value == pytest.approx(wide.compute_s.value, rel=1e-6)
    assert of_products(with_peak(cpu(), "bf16", 2.0), "int8").compute_s.value == pytest.approx(wide.compute_s.value, rel=1e-6)  # type: ignore[union-attr]
    assert any("no peak in int8 is known" in reason for reason in whole.out_of_range)
    assert any("whether made up has instructions for eight bits is not known" in reason for reason in whole.out_of_range)
    assert whole.latency_s.low < 0.3 * wide.latency_s.low
    assert whole.latency_s.high > 0.9 * wide.latency_s.high


def test_eight_bits_at_their_ceiling_may_still_run_as_fp32() -> None:
    """What a probe found four times as fast is not taken whole: onnxruntime's products reached 0.61 to 0.85 of the ratio (docs/int8.md)."""
    wide, whole = of_products(cpu(), "fp32"), of_products(with_peak(cpu(), "int8", 4.0), "int8")
    assert 2.4 < wide.latency_s.value / whole.latency_s.value < 3.4
    assert whole.latency_s.high > 0.9 * wide.latency_s.high
    assert any("which kernels use the instructions of made up for eight bits is not known" in reason for reason in whole.out_of_range)


@pytest.mark.parametrize("precision", ["int8", "bf16"])
def test_functions_in_narrow_formats_run_in_fp32_lanes(precision: Precision) -> None:
    work = Workload(kind="elementwise", sizes={"elements": 10_000}, variant="Erf")
    narrow = msgspec.structs.replace(work, precision=precision)
    device = with_peak(cpu(), precision, 4.0)
    assert estimates([narrow], device).compute_s[0] == estimates([work], device).compute_s[0]


@pytest.mark.parametrize(
    ("rows", "neighbour", "said"),
    [
        (64, None, "nothing of a call comes from DRAM, all of it lives in caches: contention there changes nothing"),
        (4096, None, "contention is of DRAM alone: how much neighbours fill of a shared cache is not given"),
        (64, Neighbour(name="db", byte_per_s=1e9), "all of it lives in caches"),
        (64, Neighbour(name="db", byte_per_s=1e9, cache_bytes=1.0), "nothing of a call comes from DRAM: contention there changes nothing"),
        (64, Neighbour(name="db", byte_per_s=1e9, cache_bytes=1e6), ""),
        (64, Neighbour(name="db", cores=0.5), ""),
    ],
)
def test_contention_of_memory_says_what_it_does_not_slow(rows: int, neighbour: Neighbour | None, said: str) -> None:
    """A product of 64 rows fits the second level, until a neighbour fills that: then it comes from memory, and is slowed."""
    plan = plan_of_graph(chain(1, rows=rows, columns=256), "torch", batch=1)
    state = SystemState(memory_contention=0.5) if neighbour is None else SystemState(neighbours=(neighbour,))
    found = predicted(plan, cpu(), Question(state=state))
    told = [reason for reason in found.out_of_range if "contention" in reason]
    assert len(told) == bool(said)
    assert all(said in reason for reason in told)
    alone = predicted(plan, cpu()).memory_s["DRAM"].value
    assert (found.memory_s["DRAM"].value > alone) is (rows > 64 or (neighbour is not None and neighbour.cache_bytes == 1e6))


# ── state, host, money ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_slower_of_host_and_device_counts() -> None:
    gpu = find("a100 sxm 80gb")
    fast, slow = (of_chain(device=gpu, question=Question(state=SystemState(dispatch_s=each))) for each in (0.0, 1e-3))
    assert slow.latency_s.value == pytest.approx(3e-3)
    assert slow.bound == "overhead"
    assert fast.latency_s.value < 1e-3
    assert any("host beside" in reason for reason in of_chain(device=gpu).out_of_range)
    assert not any("host beside" in reason for reason in fast.out_of_range)


def test_cost_is_the_price_of_the_device_and_of_energy() -> None:
    found = of_chain()
    assert found.cost_per_million is not None
    assert found.cost_per_million.value == pytest.approx(1e6 * 3.6 * found.latency_s.value / 3600)
    assert (found.currency, found.price_date) == ("USD", "2026-11")
    dearer = of_chain(question=Question(prices=Prices(hour=7.2)))
    assert dearer.cost_per_million is not None
    assert dearer.cost_per_million.value == pytest.approx(2 * found.cost_per_million.value)
    assert dearer.price_date == ""
    paid = of_chain(question=Question(prices=Prices(hour=0.0, kwh=0.36)))
    assert paid.cost_per_million is not None
    assert found.energy_j is not None
    assert paid.cost_per_million.value == pytest.approx(1e6 * found.energy_j.value / 3.6e6 * 0.36)


def test_power_is_between_idle_and_design() -> None:
    found = of_chain()
    assert found.power_w is not None
    assert found.energy_j is not None
    assert 30 <= found.power_w.low <= found.power_w.value <= found.power_w.high <= 100
    assert found.power_w.source == "assumed"
    assert found.energy_j.value == pytest.approx(found.power_w.value * found.latency_s.value)
    capped = of_chain(question=Question(state=SystemState(power_cap_w=70)))
    assert capped.power_w is not None
    assert capped.power_w.high <= 70


def test_null_has_a_reason() -> None:
    bare = msgspec.structs.replace(cpu(), power_w=None, price_per_hour=None)
    found = of_chain(device=bare)
    assert (found.power_w, found.energy_j, found.cost_per_million) == (None, None, None)
    assert set(found.unknown) == {"power_w", "energy_j", "cost_per_million"}


# ── what is not known of a graph ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _with(op: Op, count: int = 20) -> Graph:
    graph = chain(count)
    return msgspec.structs.replace(graph, ops=(*graph.ops, op), tensors=(*graph.tensors, Tensor(name="y", shape=(64, 64), dtype="float32")))


def test_an_operator_never_seen_counts_by_its_bytes_and_is_flagged() -> None:
    odd = Op(name="odd", kind="Sorcery", inputs=("x0",), outputs=("y",), read_bytes=16384, write_bytes=16384, reason="no formula")
    found = predicted(plan_of_graph(_with(odd), "torch", batch=1), cpu())
    assert any("only its bytes count" in reason and "Sorcery" in reason for reason in found.out_of_range)
    assert next(each for each in found.operators if each.name == "odd").out_of_range


def test_an_operator_without_bytes_is_missing_and_said() -> None:
    odd = Op(name="odd", kind="Sorcery", inputs=("x0",), outputs=("y",), reason="no formula")
    found = predicted(plan_of_graph(_with(odd), "torch", batch=1), cpu())
    assert next(each for each in found.operators if each.name == "odd").latency_s is None
    assert any("missing in the latency" in reason for reason in found.out_of_range)
    with pytest.raises(OutOfRange, match="nearly all are known"):
        predicted(plan_of_graph(_with(odd, 3), "torch", batch=1), cpu())


def test_an_empty_graph_is_refused() -> None:
    with pytest.raises(OutOfRange, match="at least one operator"):
        plan_of_graph(Graph(name="nothing", ops=(), tensors=()), "torch")
    with pytest.raises(UsageError, match="runtime"):
        plan_of_graph(chain(1), "abacus")


def test_loops_multiply_and_are_said_where_they_are_guessed() -> None:
    graph = chain(2)
    looped = msgspec.structs.replace(graph.ops[1], trips=TripCount(count=10, known="assumed"))
    found = predicted(plan_of_graph(msgspec.structs.replace(graph, ops=(graph.ops[0], looped)), "torch", batch=1), cpu())
    first, second = (each.latency_s for each in found.operators)
    assert first is not None
    assert second is not None
    assert second.value == pytest.approx(10 * first.value)
    assert any("assumed" in reason for reason in found.out_of_range)


def test_fused_operators_are_named_beside_the_one_that_does_them() -> None:
    tensors = tuple(Tensor(name=name, shape=(4, 64), dtype="float32") for name in "abc")
    ops = tuple(
        Op(
            name=kind, kind=kind, inputs=(before,), outputs=(after,), precision="fp32", flop=256.0, read_bytes=1024, write_bytes=1024,
            attributes={"group": "elementwise"},
        )
        for kind, before, after in (("Relu", "a", "b"), ("Tanh", "b", "c"))
    )  # fmt: skip
    graph = Graph(name="pair", ops=ops, tensors=tensors, inputs=("a",), outputs=("c",))
    found = predicted(plan_of_graph(graph, "torch.compile", batch=4), cpu())
    assert sum(each.latency_s is not None for each in found.operators) == 1
    assert [each.fused_into != "" for each in found.operators].count(True) == 1


# ── lists of operators ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_list_of_operators_holds_all_experts_and_times_the_active_ones() -> None:
    sizes = {"tokens": 4, "hidden": 256, "inner": 512, "experts": 64, "active": 2}
    listed = OperatorList(name="layer", operators=(PlannedOperator(name="experts", workload=Workload(kind="moe", sizes=sizes), repeats=2),))
    found = predicted(plan_of_list(listed), cpu())
    assert found.peak_memory_bytes is not None
    assert found.peak_memory_bytes.value >= 2 * 64 * 3 * 256 * 512 * 4
    assert found.operators[0].flop == 2 * 2 * 4 * 2 * 3 * 256 * 512
    with pytest.raises(OutOfRange, match="at least one operator"):
        plan_of_list(OperatorList(name="empty", operators=()))


def test_repeats_are_as_many_operators_with_data_of_their_own() -> None:
    work = Workload(kind="attention", precision="bf16", sizes={"heads": 32, "kv_heads": 8, "queries": 1, "keys": 8192, "head_size": 128})
    lists = [
        OperatorList(name="decode", operators=tuple(PlannedOperator(name=f"layer {each}", workload=work, repeats=each) for each in repeats))
        for repeats in ((32,), (16, 16))
    ]
    once, twice = (predicted(plan_of_list(each), find("h100 sxm")) for each in lists)
    assert once.latency_s.value == pytest.approx(twice.latency_s.value)
    assert once.peak_memory_bytes is not None
    assert once.peak_memory_bytes.value / once.latency_s.value < 3.4e12


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (Workload(kind="moe", sizes={"tokens": 1, "hidden": 64, "inner": 64, "experts": 2, "active": 3}), "at most its 2 experts"),
        (Workload(kind="attention", sizes={"heads": 8, "kv_heads": 16, "queries": 1, "keys": 64, "head_size": 64}), "at most its 8 heads"),
        (Workload(kind="attention", sizes={"heads": 32, "kv_heads": 7, "queries": 1, "keys": 64, "head_size": 64}), "found: 32 heads for 7 kv_heads"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_the_whole_are_refused(work: Workload, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_of_list(OperatorList(name="wrong", operators=(PlannedOperator(name="layer", workload=work),)))


# ── trained models ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Answer(NamedTuple):
    log_ratio: Floats
    low: Floats
    high: Floats
    basis: tuple[Basis, ...]
    out_of_range: tuple[tuple[str, ...], ...]


class Twice:
    """A trained model by which everything takes twice the estimate, give or take a tenth; what it never saw it leaves alone."""

    data_version = "rows 7"
    level = 0.9

    def __init__(self, log: float = np.log(2.0), basis: Basis = "learned", measured_threads: int = 0) -> None:
        self.log, self.basis, self.measured_threads = log, basis, measured_threads

    def threads(self, device: Device) -> int:
        return self.measured_threads

    def correct(self, workloads: Sequence[Workload], estimates: Estimates, device: Device) -> Answer:
        one = np.ones(len(workloads))
        said = ("never measured",) if self.basis == "analytic" else ()
        return Answer(self.log * one, (self.log - 0.1) * one, (self.log + 0.1) * one, (self.basis,) * len(workloads), (said,) * len(workloads))


def test_a_trained_model_corrects_and_narrows() -> None:
    plain, corrected = of_chain(), of_chain(known=Knowledge(operators=Twice()))
    assert corrected.latency_s.value - 1e-5 == pytest.approx(2 * (plain.latency_s.value - 1e-5))
    assert corrected.basis == "learned"
    assert corrected.latency_s.source == "learned"
    assert "rows 7" in corrected.data_version
    wide, narrow = (each.latency_s.high / each.latency_s.low for each in (plain, corrected))
    assert narrow < wide
    assert sum(corrected.split.values()) == pytest.approx(1.0)


def test_what_it_never_measured_stays_analytic_with_its_reason() -> None:
    found = of_chain(known=Knowledge(operators=Twice(basis="analytic")))
    assert found.basis == "analytic"
    assert found.latency_s.value == of_chain().latency_s.value
    assert any("never measured" in reason for reason in found.out_of_range)


def test_a_correction_beyond_the_peak_is_cut_there() -> None:
    found = predicted(plan_of_graph(chain(2, rows=512, columns=512), "torch", batch=1), cpu(), None, Knowledge(operators=Twice(np.log(1e-3))))
    assert found.peak_share is not None
    assert found.peak_share.value <= 1
    assert any("cut there" in reason for reason in found.out_of_range)


def test_more_traffic_than_the_memory_gives_is_said() -> None:
    slow = cpu(fma=1e15)
    graph = plan_of_graph(chain(2, rows=4096, columns=4096, kind="Relu"), "torch", batch=1)
    plain, found = (predicted(graph, slow, None, known) for known in (None, Knowledge(operators=Twice(np.log(1e-3)))))
    assert not any("that gives" in reason for reason in plain.out_of_range)
    assert any("DRAM that gives" in reason for reason in found.out_of_range)


def test_ends_that_run_away_end_where_the_formulas_are_believed() -> None:
    class Lost(Twice):
        def correct(self, workloads: Sequence[Workload], estimates: Estimates, device: Device) -> Answer:
            found = super().correct(workloads, estimates, device)
            return found._replace(low=found.low - 20, high=found.high + 20)

    plain, lost = of_chain(), of_chain(known=Knowledge(operators=Lost()))
    assert lost.latency_s.high < 10 * plain.latency_s.value
    assert lost.latency_s.low > plain.latency_s.value / 10


@pytest.mark.parametrize("log", [np.log(1e-2), np.log(1e2)])
def test_a_value_far_from_the_formulas_is_no_end_of_its_interval(log: float) -> None:
    class Lost(Twice):
        def correct(self, workloads: Sequence[Workload], estimates: Estimates, device: Device) -> Answer:
            found = super().correct(workloads, estimates, device)
            return found._replace(low=found.low - 20, high=found.high + 20)

    for found in of_chain(known=Knowledge(operators=Lost(log))).operators:
        assert found.latency_s is not None
        assert found.latency_s.high > 1.5 * found.latency_s.value


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (SystemState(threads=1), "threads"), (SystemState(core_clock_hz=1e9), "clock"), (SystemState(memory_contention=0.5), "contention"),
        (SystemState(neighbours=(Neighbour(name="db", cores=1.0, byte_per_s=1e9),)), "neighbours"),
    ],
)  # fmt: skip
def test_a_state_that_was_not_measured_is_no_interpolation(state: SystemState, word: str) -> None:
    known = Knowledge(operators=Twice(basis="interpolated"))
    found = of_chain(device=cpu(threads=2), question=Question(state=state), known=known)
    assert found.basis == "learned"
    assert any(word in reason for reason in found.out_of_range)
    assert of_chain(device=cpu(threads=2), question=Question(state=SystemState(threads=2)), known=known).basis == "interpolated"


def test_what_a_probe_saw_of_the_state_is_in_the_answer() -> None:
    """How far apart the cores are now: the same question another minute may have another answer."""
    cost = Cost(name="core-to-core", seconds=Quantity.exact(2e-7, "s", source="measured"))
    probed = msgspec.structs.replace(cpu(threads=2), costs=(*cpu().costs, cost))
    found = of_chain(device=probed)
    assert found.state == SystemState(core_to_core_s=2e-7)
    set_ = of_chain(device=probed, question=Question(state=SystemState(threads=2, core_to_core_s=4e-8)))
    assert set_.state == SystemState(threads=2, core_to_core_s=4e-8)
    assert set_.latency_s.value < found.latency_s.value
    assert of_chain(device=cpu(threads=2)).state is None


@pytest.mark.parametrize(
    ("threads", "probed", "state", "said"),
    [
        (2, False, None, True), (2, True, None, False), (2, False, SystemState(core_to_core_s=2e-7), False), (1, False, None, False),
        (2, False, SystemState(threads=1), False),
    ],
)  # fmt: skip
def test_cores_that_nobody_measured_are_an_assumption(threads: int, probed: bool, state: SystemState | None, said: bool) -> None:
    """What threads pay to meet is assumed then; one thread meets nobody."""
    cost = Cost(name="core-to-core", seconds=Quantity.exact(4e-8, "s", source="measured"))
    device = cpu(threads=threads)
    found = of_chain(device=msgspec.structs.replace(device, costs=(*device.costs, *([cost] if probed else []))), question=Question(state=state))
    told = [reason for reason, code in zip(found.out_of_range, found.out_of_range_codes, strict=True) if code == "assumed-core-to-core"]
    assert told == ([f"how far apart the cores of {device.name} are is not known: 50 ns for a cache line between two are assumed"] if said else [])


@pytest.mark.parametrize(
    ("measured", "asked", "alike"), [(1, None, False), (1, 1, True), (1, 2, False), (2, None, True), (2, 1, False), (0, 2, True), (9, None, True)]
)
def test_a_model_of_other_threads_is_no_interpolation(measured: int, asked: int | None, alike: bool) -> None:
    """On two processors: without a word only with as many threads as were measured, of which none beyond the processors count."""
    known = Knowledge(operators=Twice(basis="interpolated", measured_threads=measured))
    question = None if asked is None else Question(state=SystemState(threads=asked))
    found = of_chain(device=cpu(threads=2), question=question, known=known)
    assert found.basis == ("interpolated" if alike else "learned")
    assert any("was measured with threads" in reason for reason in found.out_of_range) is not alike


@pytest.mark.parametrize(("count", "made"), [(2.0**62, True), (2.0**62, False), (2.0**53, False)])
def test_a_loop_that_never_ends_is_refused_by_its_name(count: float, made: bool) -> None:
    graph = chain(2)
    endless = msgspec.structs.replace(graph.ops[1], trips=TripCount(count=count, known="exact"))
    graph = msgspec.structs.replace(graph, ops=(graph.ops[0], endless))
    with pytest.raises(OutOfRange, match=r"fewer than 2⁵³ times in a call; found: MatMul_1, which runs \d\.\d+e\+1[58] times"):
        plan_of_graph(graph, "onnxruntime", made=made, batch=1)
    often = msgspec.structs.replace(endless, trips=TripCount(count=1e6, known="exact"))
    plan = plan_of_graph(msgspec.structs.replace(graph, ops=(graph.ops[0], often)), "onnxruntime", made=made, batch=1)
    assert predicted(plan, cpu()).latency_s.value > 1.0


def test_the_call_of_a_runtime_is_counted_once() -> None:
    asked = predicted(plan_of_graph(chain(3), "onnxruntime", made=True, batch=1), cpu())
    rules = predicted(plan_of_graph(chain(3), "onnxruntime", block=0, batch=1), cpu())
    assert any(each.kind == "call" for each in asked.operators)
    assert asked.latency_s.value == pytest.approx(rules.latency_s.value, rel=0.15)


def test_a_model_of_gpus_answers_for_gpus() -> None:
    empty = GpuModel(sheets={}, experts={})
    found = of_chain(device=find("a100 sxm 80gb"), known=Knowledge(gpus=empty))
    assert found.latency_s.value > 0
    assert of_chain(device=cpu(), known=Knowledge(gpus=empty)).latency_s == of_chain().latency_s
