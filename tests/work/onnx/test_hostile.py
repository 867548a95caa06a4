"""Files that are not what they claim: one clear error or an honest unknown, never a crash."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

from ridgeline.core import ReadError, RidgelineError
from ridgeline.work.onnx import graph
from support.onnx_models import model, tensor, zeros


@pytest.fixture
def sound() -> onnx.ModelProto:
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    return model(nodes, [tensor("x", 1, 3, 8, 8)], ["y"], {"w": zeros(64, 3, 3, 3)})


@pytest.mark.parametrize("content", [b"", b"this is not a model\n" * 20, b"\x00" * 100, b"\xff" * 1000, b"{}", b"\x08\x08"])
def test_what_is_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ReadError):
        graph(path)


def test_missing_file_and_directory(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.onnx", tmp_path):
        with pytest.raises(ReadError):
            graph(path)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cut_short_or_damaged(tmp_path: Path, sound: onnx.ModelProto, data: st.DataObject) -> None:
    content = bytearray(sound.SerializeToString())
    cut = data.draw(st.integers(0, len(content)))
    for _ in range(data.draw(st.integers(0, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "model.onnx"
    path.write_bytes(bytes(content[:cut]))
    try:
        found = graph(path)
    except RidgelineError:
        return
    assert all(op.flop is not None or op.reason for op in found.ops)


def test_a_cycle_is_refused() -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    with pytest.raises(ReadError, match="before it is made"):
        graph(model(nodes, [tensor("x", 4)], ["b"]))


@pytest.mark.parametrize("text", [b"conv1", b"Relu", b"x"])
def test_names_that_are_not_utf8(tmp_path: Path, text: bytes) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], name="conv1"), helper.make_node("Relu", ["a"], ["y"])]
    content = model(nodes, [tensor("x", 1, 3, 8, 8)], ["y"], {"w": zeros(4, 3, 3, 3)}).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(content.replace(text, b"\xe8" + text[1:]))
    with pytest.raises(ReadError):
        graph(path)


def test_a_value_made_twice_is_refused() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["a"])]
    with pytest.raises(ReadError, match="once"):
        graph(model(nodes, [tensor("x", 4)], ["a"]))


def test_negative_and_impossible_dimensions() -> None:
    huge = onnx.TensorProto(name="w", data_type=1, dims=[2**40, 2**40])
    for dims in ([-5, 4], [2**62, 2**62]):
        huge.dims[:] = dims
        bad = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", 4, 4)], ["y"])
        bad.graph.initializer.append(huge)
        with pytest.raises(ReadError):
            graph(bad)
    with pytest.raises(ReadError):
        graph(model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", -7, 4)], ["y"]))
    with pytest.raises(ReadError):
        graph(model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", 2**40, 2**40)], ["y"]))


def _nested(depth: int) -> onnx.ModelProto:
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["r0"])], "b0", [], [helper.make_tensor_value_info("r0", 1, None)])
    for level in range(1, depth):
        node = helper.make_node("If", ["c"], [f"r{level}"], then_branch=body, else_branch=body)
        end = [helper.make_tensor_value_info(f"r{level}", 1, None)]
        # Only one branch is deep: with both the file would double at each level.
        node.attribute[1].g.CopyFrom(
            helper.make_graph([helper.make_node("Relu", ["x"], [f"q{level}"])], "q", [], [helper.make_tensor_value_info(f"q{level}", 1, None)])
        )
        body = helper.make_graph([node], f"b{level}", [], end)
    outer = model([], [tensor("x", 4), tensor("c", dtype="bool")], [f"r{depth - 1}"])
    outer.graph.node.extend(body.node)
    return outer


def test_a_few_levels_of_bodies_are_read() -> None:
    assert graph(_nested(6)).ops


def test_bodies_a_thousand_deep_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.onnx"
    deep = _nested(28)
    with pytest.raises(ReadError):
        graph(deep)
    path.write_bytes(_thousand_deep())
    with pytest.raises(ReadError):
        graph(path)


def _thousand_deep() -> bytes:
    """An If in an If, a thousand times, written as bytes: protobuf's own writer would not nest so deep."""

    def field(number: int, content: bytes) -> bytes:
        size, prefix = len(content), bytes([number << 3 | 2])
        length = b""
        while size >= 128:
            length += bytes([size & 127 | 128])
            size >>= 7
        return prefix + length + bytes([size]) + content

    graph_bytes = b""
    for _ in range(1000):
        attribute = field(1, b"then_branch") + field(6, graph_bytes) + b"\xa0\x01\x05"
        graph_bytes = field(1, field(1, b"c") + field(2, b"y") + field(4, b"If") + field(5, attribute))
    return b"\x08\x08" + field(7, graph_bytes)


def test_a_fill_of_any_size_is_not_made() -> None:
    shape = np.array([2**20, 2**20], dtype=np.int64)
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["a"]), helper.make_node("Add", ["a", "x"], ["y"])]
    found = graph(model(nodes, [tensor("x", 1)], ["y"], {"s": shape}))
    assert found.ops[0].write_bytes == 0  # depends on constants alone
    assert found.ops[1].flop == 2**40


def test_external_weights_may_be_missing(tmp_path: Path, sound: onnx.ModelProto) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(sound, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    assert graph(path).flop == graph(sound).flop > 0


@pytest.mark.parametrize(("length", "followed"), [(65_536, True), (65_537, False), (2**40, False)])
def test_a_long_vector_is_not_followed_element_by_element(monkeypatch: pytest.MonkeyPatch, length: int, followed: bool) -> None:
    """onnx's inference makes an object an element of what it takes for a shape: 150 bytes each, whatever the vector is."""
    asked: list[bool] = []
    infer = onnx.shape_inference.infer_shapes

    def watched(model: onnx.ModelProto, **options: bool) -> onnx.ModelProto:
        asked.append(options["data_prop"])
        return infer(model, **(options if length < 2**20 else {**options, "data_prop": False}))

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", watched)
    found = graph(model([helper.make_node("Add", ["x", "x"], ["y"], name="add")], [tensor("x", length)], ["y"]))
    assert found.ops[0].flop == length
    assert asked == [False, followed]


def test_more_elements_than_any_memory_holds_are_refused_and_the_bytes_of_fewer_fit_a_record() -> None:
    with pytest.raises(ReadError, match="dimensions that a tensor can have"):
        graph(model([helper.make_node("Add", ["x", "x"], ["y"], name="add")], [tensor("x", 2**27, 2**26)], ["y"]))
    found = graph(model([helper.make_node("Add", ["x", "z"], ["y"], name="add")], [tensor("x", 2**26, 2**26), tensor("z", 2**26, 2**26)], ["y"]))
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
