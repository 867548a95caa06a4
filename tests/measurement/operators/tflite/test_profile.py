"""The profile of LiteRT's C library on planted and real models: structure, and agreement with independent timers."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="TFLite models need ai-edge-litert")
pytest.importorskip("onnx", reason="the writer of the examples' models needs onnx")

from ridgeline.core import BackendUnavailable, OpTable, PartitionTable, UsageError
from ridgeline.machine import Worker
from ridgeline.measurement.agent import PreparedReport, TfliteReport
from ridgeline.measurement.operators.tflite import litert
from ridgeline.targets import parse_target
from ridgeline.work.tflite import graph
from support.tflite_models import MODELS, branching, chain, looping, single

REFUSED = "LOCAL_RESPONSE_NORMALIZATION"


@pytest.fixture(autouse=True)
def _checked_release() -> None:
    version = importlib.metadata.version("ai-edge-litert")
    if ".".join(version.split(".")[:2]) not in litert.CHECKED:
        pytest.skip(f"the profiler is known for ai-edge-litert {litert.CHECKED}, here is {version}")


def profiled(path, threads: int = 1) -> TfliteReport:
    """As a diagnosis asks for it: in a process of its own."""
    with Worker() as worker:
        spec = parse_target(str(path), threads=threads)
        return worker.call("ridgeline.measurement.agent:tflite_operators", {"spec": spec, "seconds": 0.4}, TfliteReport)


@pytest.fixture(scope="module")
def cut_chain(tmp_path_factory) -> tuple:
    path = tmp_path_factory.mktemp("tflite") / "chain.tflite"
    path.write_bytes(chain("TANH", REFUSED, "TANH", "TANH", REFUSED, side=96, channels=32))
    return path, profiled(path)


def test_a_row_for_each_node_with_its_work_and_place(cut_chain) -> None:
    path, found = cut_chain
    rows, ops = found.table.rows, graph(path).ops
    assert [row.kind for row in rows] == ["TANH", REFUSED, "TANH", "TANH", REFUSED]
    assert [(row.flop, row.engine) for row in rows] == [(op.flop, op.engine) for op in ops]
    assert [row.placement.provider for row in rows] == ["XNNPACK", "builtin", "XNNPACK", "XNNPACK", "builtin"]
    assert [row.after for row in rows] == [(), (0,), (1,), (2,), (3,)]
    assert all(row.placement.kernel.startswith("TanH") for row in rows if row.kind == "TANH")
    # The result of one row is what the next one reads.
    assert [row.writes[0].buffer for row in rows[:-1]] == [row.reads[0].buffer for row in rows[1:]]
    assert all(row.shapes.startswith("f32[1,96,96,32]") for row in rows)


def test_partitions_of_a_chain_that_is_cut_twice(cut_chain) -> None:
    table: PartitionTable = cut_chain[1].partitions
    assert [(part.provider, part.nodes) for part in table.partitions] == [
        ("XNNPACK", (0,)), ("builtin", (1,)), ("XNNPACK", (2, 3)), ("builtin", (4,)),
    ]  # fmt: skip
    size = 96 * 96 * 32 * 4
    assert [part.entry_bytes for part in table.partitions] == [0, size, size, size]
    rows = cut_chain[1].table.rows
    assert table.partitions[2].total_s is not None
    assert table.partitions[2].total_s.value == pytest.approx(rows[2].total_s.value + rows[3].total_s.value)


def test_sums_and_walls_keep_their_order(cut_chain) -> None:
    table: OpTable = cut_chain[1].table
    assert table.operators_s.value <= table.wall_s.value * 1.001
    assert table.iterations >= 10
    handoff = cut_chain[1].partitions.handoff_s
    assert handoff is not None
    assert handoff.low == 0 <= handoff.value <= handoff.high


@pytest.mark.skipif(MODELS is None, reason="pymicro-wakeword, which brings the models, is not installed")
def test_a_streaming_model_with_variables() -> None:
    assert MODELS is not None
    found = profiled(MODELS / "okay_nabu.tflite")
    assert [kind for part in found.partitions.partitions if part.provider == "builtin" for kind in part.kinds] == [
        "CALL_ONCE", "SPLIT_V", "SPLIT_V", "SPLIT_V", "QUANTIZE",
    ]  # fmt: skip
    assert sum(part.provider == "XNNPACK" for part in found.partitions.partitions) == 4
    convolutions = [row for row in found.table.rows if row.kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")]
    assert all(row.placement.kernel and row.placement.precision == "int8" for row in convolutions)


def test_threads_reach_the_placement(tmp_path) -> None:
    path = tmp_path / "chain.tflite"
    path.write_bytes(chain("TANH", REFUSED))
    assert [row.placement.threads for row in profiled(path, threads=2).table.rows] == [2, 1]


def test_another_batch_reaches_the_profiled_runtime(tmp_path) -> None:
    path = tmp_path / "chain.tflite"
    path.write_bytes(chain("TANH", REFUSED, side=16))
    with Worker() as worker:
        spec = parse_target(str(path), shapes=["x=3x16x16x4"])
        found = worker.call("ridgeline.measurement.agent:tflite_operators", {"spec": spec, "seconds": 0.2}, TfliteReport)
    assert [row.shapes for row in found.table.rows] == ["f32[3,16,16,4] → f32[3,16,16,4]"] * 2
    assert [row.flop for row in found.table.rows] == [3 * 16 * 16 * 4] * 2


def test_a_branch_is_one_row_that_says_what_ran_in_it(tmp_path) -> None:
    path = tmp_path / "branch.tflite"
    path.write_bytes(branching())
    (row,) = profiled(path).table.rows
    # The generated condition decides which branch ran; it ran once.
    assert row.kind == "IF"
    assert row.reason in ("holds what ran in its subgraphs: RELU × 1", "holds what ran in its subgraphs: TANH × 1")
    assert (row.flop, row.engine, row.reads, row.writes, row.placement.provider) == (None, None, None, None, "")


def test_a_loop_is_one_row_beside_those_around_it(tmp_path) -> None:
    path = tmp_path / "loop.tflite"
    path.write_bytes(looping(trips=5))
    found = profiled(path)
    before, loop, behind = found.table.rows
    assert [row.kind for row in found.table.rows] == ["TANH", "WHILE", REFUSED]
    assert loop.reason == "holds what ran in its subgraphs: LESS × 6, ADD × 5, TANH × 5"
    assert (before.flop, before.placement.provider, before.placement.kernel[:4]) == (32 * 32 * 4, "XNNPACK", "TanH")
    assert (behind.placement.provider, behind.after) == ("builtin", (1,))
    # The tanh inside is a row of nobody: one partition of the delegate outside, and the loop has its time.
    assert [(part.provider, part.nodes) for part in found.partitions.partitions] == [("XNNPACK", (0,)), ("builtin", (1, 2))]


def test_more_axes_than_the_library_takes(tmp_path) -> None:
    path = tmp_path / "nine.tflite"
    path.write_bytes(single("ABS", (1,) * 9, result=(1,) * 9))
    with Worker() as worker, pytest.raises(BackendUnavailable, match="more than 8 axes"):
        worker.call("ridgeline.measurement.agent:tflite_operators", {"spec": parse_target(str(path)), "seconds": 0.1}, TfliteReport)


def test_another_release_is_not_touched(monkeypatch) -> None:
    monkeypatch.setattr(litert.importlib.metadata, "version", lambda name: "9.9.9")
    with pytest.raises(BackendUnavailable, match=r"2\.3"):
        litert.library_path()


def _raw(**fields: int) -> litert._RawEvent:
    event = litert._RawEvent()
    for name, value in fields.items():
        setattr(event, name, value)
    return event


def test_events_of_another_layout_are_not_read() -> None:
    tag = np.frombuffer(b"Invoke\0", np.uint8).ctypes.data
    sound = [_raw(tag=tag, kind=1, start_us=5, elapsed_us=9)]
    assert litert.checked_events(sound, [_raw()])[0].tag == "Invoke"
    for raw, beyond in (
        ([_raw(tag=tag, kind=3, start_us=5)], [_raw()]),
        ([_raw(tag=0, kind=1, start_us=5)], [_raw()]),
        ([_raw(tag=tag, kind=1, elapsed_us=2**62)], [_raw()]),
        (sound, [_raw(tag=tag)]),
        ([_raw(tag=tag, kind=32)], [_raw()]),
    ):
        with pytest.raises(BackendUnavailable, match="another layout"):
            litert.checked_events(raw, beyond)


def test_the_cut_alone_needs_no_profile(tmp_path) -> None:
    path = tmp_path / "chain.tflite"
    path.write_bytes(chain("TANH", REFUSED, "TANH"))
    with Worker() as worker:
        worker.call("ridgeline.measurement.agent:prepare", {"spec": parse_target(str(path))}, PreparedReport)
        found = worker.call("ridgeline.measurement.agent:partitions", {}, PartitionTable)
    assert [part.provider for part in found.partitions] == ["XNNPACK", "builtin", "XNNPACK"]
    assert all(part.total_s is None for part in found.partitions)


def test_another_kind_of_target_has_none(tmp_path) -> None:
    path = tmp_path / "work.py"
    path.write_text("def f():\n    return 1\n")
    with Worker() as worker, pytest.raises((BackendUnavailable, UsageError)):
        worker.call("ridgeline.measurement.agent:tflite_operators", {"spec": parse_target(f"{path}:f"), "seconds": 0.1}, TfliteReport)
