"""Files that are not what they claim: one clear error or an honest unknown, never a crash, never a long wait."""

from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("ai_edge_litert", reason="TFLite models need ai-edge-litert")
pytest.importorskip("onnx", reason="the writer of the examples' models needs onnx")

from ridgeline.core import ReadError, RidgelineError
from ridgeline.work.tflite import graph, load
from support.tflite_models import chain, single, zeros

SOUND = single("CONV_2D", (1, 8, 8, 4), zeros(16, 3, 3, 4), zeros(16), result=(1, 8, 8, 16), options="Conv2DOptions", strideW=1, strideH=1)


@pytest.mark.parametrize(
    "content", [b"", b"TFL3", b"this is not a model\n" * 20, b"\x00" * 100, b"\xff" * 1000, SOUND[:4] + b"TFL2" + SOUND[8:], SOUND[:40]]
)
def test_what_is_no_model(tmp_path, content: bytes) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        graph(path)
    assert len(str(caught.value).splitlines()) == 1


def test_missing_file_and_directory(tmp_path) -> None:
    for path in (tmp_path / "nothing.tflite", tmp_path):
        with pytest.raises(ReadError):
            graph(path)


def test_a_sparse_file_beyond_two_gigabytes_is_refused_unread(tmp_path) -> None:
    path = tmp_path / "huge.tflite"
    with path.open("wb") as file:
        file.write(SOUND)
        file.truncate(2**31 + 5)
    with pytest.raises(ReadError, match="2 GiB"):
        load(path)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cut_short_or_damaged(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from([SOUND, chain("RELU", "TANH")])))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(8, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    try:
        found = graph(load(bytes(content[:cut])))
    except RidgelineError:
        return
    assert all(op.flop is not None or op.reason for op in found.ops)


def test_indices_that_point_nowhere() -> None:
    from support.tflite_models import lite

    for inputs, outputs in (([7], [1]), ([-2], [1]), ([0], [9]), ([0], [-1])):
        made = lite()
        x, y = made.tensor("x", 2), made.tensor("y", 2)
        made.operator("RELU", [x], y)
        made.graph.operators[0].inputs, made.graph.operators[0].outputs = inputs, outputs
        with pytest.raises(ReadError, match="number"):
            load(made.finished(x, y))


def test_vectors_that_share_their_bytes_do_not_unfold_without_end() -> None:
    # A model of three tables: a vector of subgraphs, each entry of which is the one subgraph, whose vector of tensors is as long as the file.
    body = bytearray(SOUND)
    counts = [at for at in range(8, len(body) - 4, 4) if struct.unpack_from("<I", body, at)[0] == 1]
    for at in counts:
        grown = bytearray(body)
        struct.pack_into("<I", grown, at, 0xFFFFFFF)
        try:
            load(bytes(grown))
        except ReadError:
            continue


def test_dimensions_no_tensor_can_have() -> None:
    with pytest.raises(ReadError):
        load(single("RELU", (2**31 - 1, 2**31 - 1, 2**31 - 1), result=(1,)))
