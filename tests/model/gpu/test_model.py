"""A GPU model from made-up measurements: it finds the factor that they were made with, and says where it knows nothing."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import pytest

from ridgeline.core import LatencyTable, OutOfRange, RecordedNetwork, RecordedNode, Sparsity, SystemState, UsageError, Workload
from ridgeline.core.documents import decode, encode
from ridgeline.core.errors import ReadError
from ridgeline.device import find
from ridgeline.model.gpu import kernels, sheet
from ridgeline.model.gpu.kernels import floor_s
from ridgeline.model.gpu.model import GpuModel, answer
from ridgeline.model.gpu.networks import kernel_seconds, network_seconds
from ridgeline.model.gpu.predicting import predicted
from ridgeline.model.gpu.training import train_gpu_model
from ridgeline.model.graphs.gradients import gradients

NAMES = ("NVIDIA A100 PCIe 40GB", "NVIDIA V100 PCIe 32GB", "NVIDIA P100 PCIe 16GB")
FACTOR = 1.2


def made_table(count: int = 1200) -> LatencyTable:
    """Products and streams that take 1.2 times as long as the form says, on every device."""
    draw = np.random.default_rng(0)
    tables = []
    for name in NAMES:
        gpu = sheet(find(name))
        for kind, variant, sizes in (
            ("gemm", "linear", {each: draw.integers(500, 4000, count) for each in ("m", "n", "k")}),
            ("elementwise", "add", {"elements": draw.integers(10**7, 10**8, count), "inputs": np.full(count, 2)}),
        ):
            seconds = np.maximum(kernels(kind, variant, sizes, gpu).seconds, floor_s(kind, variant, gpu)) * FACTOR
            tables.append(LatencyTable.of(latency_s=seconds, kind=kind, variant=variant, precision="fp32", device=name, sizes=sizes))
    return LatencyTable.joined(tables)


@cache
def model() -> GpuModel:
    return train_gpu_model(made_table(), {name: sheet(find(name)) for name in NAMES}, methods=("ridge",), data_version="made up")


def product(size: int = 2048, **changed: object) -> Workload:
    return msgspec.structs.replace(Workload(kind="gemm", variant="linear", sizes={"m": size, "n": size, "k": size}), **changed)


def test_the_factor_is_found_for_a_device_that_was_left_out() -> None:
    gpu = sheet(find(NAMES[1]))
    found = answer(model(), "gemm", "linear", {"m": 2048, "n": 2048, "k": 2048}, gpu, without=[NAMES[1]])
    assert found.seconds[0] / found.kernels.seconds[0] == pytest.approx(FACTOR**0.7, rel=0.03)
    assert NAMES[1] not in found.shares
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.low_s[0] <= found.seconds[0] <= found.high_s[0]
    assert found.low_s[0] >= found.kernels.flop[0] / gpu.matrix_flop_per_s


def test_training_is_the_same_each_time_and_survives_its_file() -> None:
    again = train_gpu_model(made_table(), {name: sheet(find(name)) for name in NAMES}, methods=("ridge",), data_version="made up")
    written = encode(model())
    assert encode(again) == written
    assert decode(written, GpuModel) == model()


def test_a_model_file_with_other_features_or_a_device_without_a_sheet_is_refused() -> None:
    written = encode(model())
    with pytest.raises(ReadError, match="train the model again"):
        decode(written.replace(b'"tile-fill"', b'"tile-full"'), GpuModel)
    with pytest.raises(ReadError, match="edition 1"):
        decode(written.replace(b',"forms":2', b""), GpuModel)
    with pytest.raises(ReadError, match="sheet"):
        msgspec.structs.replace(model(), sheets={})
    with pytest.raises(ReadError, match="update"):
        decode(written.replace(b"ridgeline.gpu-model/1", b"ridgeline.gpu-model/2"), GpuModel)


def test_a_prediction_has_all_its_parts() -> None:
    found = predicted(model(), product(), find(NAMES[0]))
    assert found.latency_s.low <= found.latency_s.value <= found.latency_s.high
    assert found.basis == "learned"
    assert found.bound == "compute"
    assert found.out_of_range == ()
    assert found.compute_s is not None
    assert found.overhead_s is not None
    longest = max(found.compute_s.value, found.memory_s["DRAM"].value)
    assert longest + found.overhead_s.value == pytest.approx(found.latency_s.value)
    for share in (found.peak_share, found.bandwidth_share, found.occupancy):
        assert share is not None
        assert 0 < share.value <= 1
    assert found.power_w is not None
    assert found.energy_j is not None
    assert found.energy_j.value == pytest.approx(found.power_w.value * found.latency_s.value)
    assert decode(encode(found), type(found)) == found


def test_a_small_kernel_takes_what_its_host_needs() -> None:
    alone = predicted(model(), product(64), find(NAMES[0]))
    assert alone.bound == "overhead"
    assert predicted(model(), product(64), find(NAMES[0]), in_network=True).latency_s.value < alone.latency_s.value / 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"precision": "fp16"}, "fp16"),
        ({"weight_precision": "int8"}, "int8"),
        ({"sparsity": Sparsity(pattern="unstructured", density=0.5)}, "sparsity"),
        ({"kind": "recurrent"}, "recurrent"),
    ],
)
def test_what_was_never_measured_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(OutOfRange, match=said):
        predicted(model(), product(**changed), find(NAMES[0]))


def test_another_kind_of_device_is_refused_and_another_vendor_flagged() -> None:
    with pytest.raises(OutOfRange, match="npu"):
        predicted(model(), product(), find("Coral"))
    with pytest.raises(OutOfRange, match="generation"):
        predicted(model(), product(), find("Arc A770"))
    other = predicted(model(), product(), find("MI210"))
    assert other.basis == "analytic"
    assert any("no measured GPU" in reason for reason in other.out_of_range)


def test_shapes_beyond_all_that_were_measured_are_flagged() -> None:
    huge = predicted(model(), Workload(kind="gemm", variant="linear", sizes={"m": 10**6, "n": 1, "k": 10**6}), find(NAMES[0]))
    assert any("beyond all operators" in reason for reason in huge.out_of_range)
    with pytest.raises(UsageError):
        product(-1)


def test_states_that_the_model_does_not_know_are_flagged() -> None:
    found = predicted(model(), product(), find(NAMES[0]), SystemState(temperature_k=350, memory_clock_hz=1e9))
    assert len(found.out_of_range) == 2
    capped = predicted(model(), product(8192), find(NAMES[0]), SystemState(power_cap_w=100))
    assert capped.latency_s.value > 1.5 * predicted(model(), product(8192), find(NAMES[0])).latency_s.value


def network(device: str, training: bool = False) -> RecordedNetwork:
    work = product()
    seconds = float(kernels("gemm", "linear", work.sizes, sheet(find(device))).seconds[0])
    node = RecordedNode(name="n", function="query", repeats=4, forward=(work,), forward_s=2 * seconds)
    return RecordedNetwork(name="tiny", device=device, batch=1, sequence=1, training=training, latency_s=8 * seconds, nodes=(node,), file="made up")


def test_a_network_is_the_sum_of_its_kernels() -> None:
    gpu = sheet(find(NAMES[0]))
    one = kernel_seconds(model(), [product()], gpu)[0]
    assert network_seconds(model(), network(NAMES[0]), gpu).seconds == pytest.approx(4 * one)
    works = [product(), *gradients(product()).backward, *gradients(product()).accumulation]
    trained = network_seconds(model(), network(NAMES[0], training=True), gpu)
    assert trained.seconds == pytest.approx(4 * kernel_seconds(model(), works, gpu).sum())
    assert network_seconds(model(), network(NAMES[0]), gpu, launch_s=1.0).seconds == pytest.approx(4.0)


def test_what_networks_add_is_learned_from_other_devices() -> None:
    sheets = {name: sheet(find(name)) for name in NAMES}
    found = train_gpu_model(made_table(), sheets, [network(name) for name in NAMES], methods=("ridge",))
    factors = found.network_factors["gemm single"]
    assert factors == pytest.approx(dict.fromkeys(NAMES, 2 / FACTOR), rel=0.03)
    assert 0 < found.network_reach < 1


def test_a_group_without_designed_rows_is_answered_by_traces() -> None:
    amd = ("AMD Instinct MI100", "AMD Instinct MI210")
    sheets = {name: sheet(find(name)) for name in (*NAMES, *amd)}
    found = train_gpu_model(made_table(), sheets, [network(name) for name in (*NAMES, *amd)], methods=("ridge",))
    other = answer(found, "gemm", "linear", {"m": 2048, "n": 2048, "k": 2048}, sheets[amd[0]], without=[amd[0]])
    assert set(other.shares) == {amd[1]}
    assert other.seconds[0] / other.kernels.seconds[0] == pytest.approx(2.0, rel=0.01)


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(UsageError, match="data sheet"):
        train_gpu_model(made_table(), {}, methods=("ridge",))
