"""NeuSight's recordings: columns that are misnamed, rows that are no measurements, traces whose nodes start nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from readers.latencies.neusight_example import example, row, table
from ridgeline.core import ReadError
from ridgeline.device import find
from ridgeline.readers.latencies import Folder, LatencyReader, read_latencies, read_networks, recognised
from ridgeline.readers.latencies.neusight import NeuSight
from ridgeline.readers.latencies.neusight_networks import DEVICES
from ridgeline.readers.latencies.testing import LatencyReaderConformance, laid_out


class TestNeuSight(LatencyReaderConformance):
    def reader(self) -> LatencyReader:
        return NeuSight()

    def example(self) -> Mapping[str, bytes]:
        return example()


@pytest.fixture
def place() -> Iterator[Path]:
    with laid_out(example()) as found:
        yield found


def test_the_column_n_is_the_contraction(place: Path) -> None:
    found = NeuSight().read(Folder(place))
    at = found.texts("variant").index("linear")
    assert {name: int(found.dimension(name)[at]) for name in ("batch", "m", "n", "k")} == {"batch": 1, "m": 256, "n": 512, "k": 64}
    assert found.latency_s.values[at] == 5e-4
    assert found.texts("device")[at] == "NVIDIA T4"
    assert set(found.precisions) == {"fp32"}


def test_a_scalar_is_no_operand(place: Path) -> None:
    found = NeuSight().read(Folder(place))
    at = found.texts("variant")
    assert found.dimension("inputs")[at.index("add")] == 2
    assert found.dimension("inputs")[at.index("pow")] == 1
    assert found.dimension("elements")[at.index("pow")] == 20_000


def test_a_convolution_has_its_result(place: Path) -> None:
    found = NeuSight().read(Folder(place))
    at = found.texts("kind").index("convolution")
    assert {name: int(found.dimension(name)[at]) for name in ("n", "c", "h", "k", "p", "r")} == {"n": 8, "c": 3, "h": 32, "k": 16, "p": 16, "r": 3}


def test_what_is_no_measurement_is_left_out_and_counted(place: Path) -> None:
    found = NeuSight().read(Folder(place))
    assert {entry.reason: entry.events for entry in found.excluded} == {
        "a latency that cannot be": 1, "a device that is not known": 1, "the same operator and shape again": 1,
        "straight lines fitted to rows, no measurements": 2, "rows that do not name their device": 1,
    }  # fmt: skip
    assert "L4" not in " ".join(found.devices)
    assert len(found) == 6


def test_every_device_is_one_of_the_catalogue() -> None:
    assert all(find(name).name == name for name in DEVICES.values())


def test_a_trace_is_one_layer_of_many(place: Path) -> None:
    inference, training = NeuSight().networks(Folder(place))
    assert (inference.name, inference.sequence, inference.batch, inference.layers, inference.training) == ("tiny", 64, 2, 3, False)
    assert [node.repeats for node in inference.nodes] == [3] * 7
    works = [[(work.kind, work.variant, work.sizes) for work in node.forward] for node in inference.nodes]
    assert works[0] == [("gemm", "linear", {"m": 128, "n": 256, "k": 128})]
    assert works[1] == []  # of no work in inference
    assert works[2] == [("gemm", "matmul", {"batch": 8, "groups": 8, "m": 64, "n": 64, "k": 32})]
    assert works[3] == [("softmax", "", {"rows": 512, "columns": 64})]
    assert works[4] == works[6] == []  # shapes only, and what lies in order already
    assert works[5] == [("copy", "", {"elements": 16384})]
    assert inference.doubts == ()
    assert [work.variant for work in training.nodes[0].forward] == ["dropout"]


def test_a_forward_half_that_takes_longer_than_its_operators_is_doubted(place: Path) -> None:
    _, training = NeuSight().networks(Folder(place))
    assert len(training.doubts) == 1
    assert "0.020" in training.doubts[0]
    assert "0.001" in training.doubts[0]


def test_the_door(place: Path, tmp_path: Path) -> None:
    assert recognised(place) == "NeuSight"
    assert len(read_latencies(place)) == 6
    assert len(read_networks(place)) == 2
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ReadError, match="NeuSight") as caught:
        read_latencies(other)
    assert caught.value.exit_code == 2
    with pytest.raises(ReadError, match="nothing is"):
        recognised(tmp_path / "missing")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("label/Tesla_T4/tiny-inf-64-2.json", b'{"e2e_latency": -1}'),
        ("label/Tesla_T4/tiny-inf-64-2.json", b'{"e2e_latency": "x"}'),
        ("label/Tesla_T4/tiny-inf-64-2.csv.gz", b"op,target,fw_latency\ncall,query,-5\n"),
    ],
)
def test_a_damaged_network_is_refused_with_its_file(name: str, data: bytes) -> None:
    with laid_out({**example(), name: data}) as place, pytest.raises(ReadError, match="tiny-inf") as caught:
        read_networks(place)
    assert "\n" not in str(caught.value)


def test_no_usable_row_is_refused() -> None:
    with laid_out({"a.csv.gz": table("B,H", row("add", 0, "Tesla T4", 1, 1))}) as place, pytest.raises(ReadError, match="none in"):
        read_latencies(place)
