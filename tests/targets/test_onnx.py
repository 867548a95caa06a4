from __future__ import annotations

import builtins
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ridgeline.core import BackendUnavailable, ReadError, UsageError
from ridgeline.targets import OnnxFlavour, Prepared, parse_target, prepare
from ridgeline.targets import onnx as onnx_target

from .models import identities, matmul, save


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return matmul(tmp_path / "model.onnx")


def prepared(path: Path, **options: Any) -> Prepared:
    return prepare(parse_target(str(path), **options))


def refused(path: Path, kind: type[Exception], said: str, **options: Any) -> None:
    with pytest.raises(kind) as caught:
        prepared(path, **options)
    line = str(caught.value)
    assert said in line
    assert "\n" not in line


# ---- a model that is right -----------------------------------------------------------------------------------------------------------------


def test_a_call_is_a_run_of_the_model(model: Path) -> None:
    target = prepared(model)
    flavour = target.flavour
    assert isinstance(flavour, OnnxFlavour)
    (result,) = target.call()
    np.testing.assert_allclose(result, flavour.feeds["x"], rtol=1e-6)  # the weights are the identity
    assert flavour.outputs == ("y",)
    assert target.info.kind == "onnx"
    assert target.info.name == "model.onnx"
    assert len(target.info.digest) == 64
    assert target.info.providers == ("CPUExecutionProvider",)
    assert target.info.allocator
    assert target.synchronise is None
    assert target.first_s is not None
    assert target.first_s > 0


def test_threads_are_those_asked_for_or_those_this_process_may_use(model: Path) -> None:
    assert prepared(model, threads=1).info.threads == 1
    assert prepared(model).info.threads <= len(os.sched_getaffinity(0))
    flavour = prepared(model, threads=1).flavour
    assert isinstance(flavour, OnnxFlavour)
    assert flavour.session_options().intra_op_num_threads == 1


def test_generated_inputs_are_said_and_repeat(model: Path) -> None:
    first, second, other = prepared(model), prepared(model), prepared(model, seed=1)
    assert [caution.code for caution in first.warnings] == ["synthetic-input"]
    assert "N = 1" in first.warnings[0].message
    assert first.info.inputs == ("x: float32[1,100] (synthetic)",)
    np.testing.assert_array_equal(first.flavour.feeds["x"], second.flavour.feeds["x"])
    assert not np.array_equal(first.flavour.feeds["x"], other.flavour.feeds["x"])


@pytest.mark.parametrize("shape", ["N=8", "x=8x100", "x=8,100"])
def test_open_sizes_are_bound(model: Path, shape: str) -> None:
    target = prepared(model, shapes=[shape])
    assert target.call()[0].shape == (8, 100)
    assert "assumed" not in target.warnings[0].message


@pytest.mark.parametrize(
    ("shape", "said"),
    [("x=8x99", "fits Nx100"), ("x=8x100x1", "fits Nx100"), ("q=3", "N, x"), ("N=1099511627776", "at most"), ("x=5", "fits Nx100")],
)
def test_shapes_that_do_not_fit(model: Path, shape: str, said: str) -> None:
    refused(model, UsageError, said, shapes=[shape])


def test_one_symbol_has_one_size_in_all_inputs(tmp_path: Path) -> None:
    node = helper.make_node("Add", ["a", "b"], ["y"])
    inputs = {"a": (TensorProto.FLOAT, ["batch", "width"]), "b": (TensorProto.FLOAT, ["batch", "width"])}
    path = save(tmp_path / "m.onnx", [node], inputs, "y")
    assert prepared(path, shapes=["a=3x5"]).call()[0].shape == (3, 5)
    assert prepared(path, shapes=["width=7"]).call()[0].shape == (1, 7)


def test_values_fit_names_and_types(tmp_path: Path) -> None:
    kinds = TensorProto
    inputs: dict[str, Any] = {
        "input_ids": (kinds.INT64, ["batch", "sequence"]),
        "attention_mask": (kinds.INT64, ["batch", "sequence"]),
        "token_type_ids": (kinds.INT64, ["batch", "sequence"]),
        "position_ids": (kinds.INT64, ["batch", "sequence"]),
        "lengths": (kinds.INT32, ["batch"]),
        "sr": (kinds.INT64, []),
        "pixels": (kinds.UINT8, [1, 3, 8, 8]),
        "flag": (kinds.BOOL, [1]),
        "half": (kinds.FLOAT16, [4]),
        "k": (kinds.INT64, [1]),
    }
    target = prepared(identities(tmp_path / "m.onnx", inputs), shapes=["sequence=16"])
    feeds = target.flavour.feeds
    assert feeds["input_ids"].shape == (1, 16)
    assert feeds["input_ids"].min() >= 0
    assert feeds["input_ids"].max() < 100
    assert (feeds["attention_mask"] == 1).all()
    assert (feeds["token_type_ids"] == 0).all()
    assert feeds["position_ids"].tolist() == [list(range(16))]
    assert 1 <= feeds["lengths"].max() <= 16
    assert feeds["sr"] == 16_000
    assert "sr is the sample rate 16000" in target.warnings[0].message
    assert feeds["pixels"].dtype == np.uint8
    assert feeds["flag"].all()
    assert feeds["half"].dtype == np.float16
    assert feeds["k"].tolist() == [1]


def test_open_sizes_are_tried_until_the_model_runs(tmp_path: Path) -> None:
    # Takes heights of 48 only, and does not say so.
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, {"x": (TensorProto.FLOAT, ["n", 3, "h", "w"])}, "y", {"shape": np.array([1, 3, 48, 320], dtype=np.int64)})
    target = prepared(path)
    assert target.flavour.feeds["x"].shape == (1, 3, 48, 320)
    assert "h = 48" in target.warnings[0].message


def test_a_model_that_runs_on_no_usual_size_asks_for_one(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, {"x": (TensorProto.FLOAT, ["n", 3, "h", "w"])}, "y", {"shape": np.array([1, 3, 7, 11], dtype=np.int64)})
    refused(path, UsageError, "--shape")
    assert prepared(path, shapes=["h=7", "w=11"]).call()[0].shape == (1, 3, 7, 11)


# ---- inputs from files ---------------------------------------------------------------------------------------------------------------------


def test_arrays_by_name_by_file_and_as_test_data(model: Path, tmp_path: Path) -> None:
    data = np.arange(300, dtype=np.float32).reshape(3, 100)
    np.savez(tmp_path / "in.npz", x=data)
    np.save(tmp_path / "in.npy", data)
    (tmp_path / "named").mkdir()
    np.save(tmp_path / "named" / "x.npy", data)
    np.save(tmp_path / "named" / "other.npy", np.array([None]), allow_pickle=True)
    (tmp_path / "tests" / "test_data_set_0").mkdir(parents=True)
    tensor = onnx.numpy_helper.from_array(data, "x").SerializeToString()
    (tmp_path / "tests" / "test_data_set_0" / "input_0.pb").write_bytes(tensor)
    (tmp_path / "in.pb").write_bytes(tensor)
    for source in ("in.npz", "in.npy", "named", "tests", "in.pb"):
        target = prepared(model, input=str(tmp_path / source))
        np.testing.assert_allclose(target.call()[0], data)
        assert target.info.inputs == ("x: float32[3,100]",)
        assert target.warnings == []


@pytest.mark.parametrize(
    ("name", "content", "kind", "said"),
    [
        ("a.npy", np.zeros((3, 99), np.float32), UsageError, "[N, 100]"),
        ("a.npy", np.zeros(100, np.float32), UsageError, "[N, 100]"),
        ("a.npy", np.zeros((1, 100), np.int64), UsageError, "type float32; found: int64"),
        ("a.npy", np.zeros((1, 100)), UsageError, "type float32; found: float64"),
        ("a.npy", np.zeros((0, 100), np.float32), UsageError, "shape is 0x100"),
        ("a.npz", {"x": np.zeros((1, 100), np.float32), "z": np.zeros(3)}, UsageError, "the inputs x only; found: also z"),
        ("a.npz", {"q": np.zeros(3)}, UsageError, "q in"),
        ("a.npy", b"\x93NUMPY\x01\x00v\x00{", ReadError, "a file of arrays"),
        ("a.npy", b"", ReadError, "a file of arrays"),
        ("a.npz", b"PK\x03\x04 not an archive", ReadError, "a file of arrays"),
        ("a.npz", b"text", ReadError, "a file of arrays"),
        ("a.pb", b"\xff\xff\xff", ReadError, "a file of arrays"),
        ("a.txt", b"1 2 3", UsageError, ".npz"),
        ("a.npy", np.array([{}], dtype=object), ReadError, "pickle"),
    ],
)
def test_files_that_do_not_fit(model: Path, tmp_path: Path, name: str, content: Any, kind: type[Exception], said: str) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, dict):
        np.savez(path, **content)
    else:
        np.save(path, content, allow_pickle=True)
    refused(model, kind, said, input=str(path))


def test_an_empty_folder_and_both_options_are_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(model, UsageError, "nothing in", input=str(tmp_path / "empty"))
    np.save(tmp_path / "x.npy", np.zeros((1, 100), np.float32))
    refused(model, UsageError, "both", input=str(tmp_path / "x.npy"), shapes=["N=1"])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_data_that_is_not_finite_is_measured_with_a_warning(model: Path, tmp_path: Path, wrong: float) -> None:
    data = np.zeros((2, 100), np.float32)
    data[1, 7] = wrong
    np.save(tmp_path / "x.npy", data)
    assert [caution.code for caution in prepared(model, input=str(tmp_path / "x.npy")).warnings] == ["nan-input"]


def test_a_size_given_twice_holds_where_both_agree(tmp_path: Path) -> None:
    path = identities(tmp_path / "m.onnx", {"x": (TensorProto.FLOAT, ["N", 3])})
    assert prepared(path, shapes=["x=4x3", "N=4"]).info.inputs == ("x: float32[4,3] (synthetic)",)
    refused(path, UsageError, "one size for N; found: 8, and 4 in the shape of x", shapes=["x=4x3", "N=8"])
    refused(path, UsageError, "one size for N, an axis of the model; found: 4x4; to do: write --shape N=8", shapes=["N=4,4"])
    refused(path, UsageError, "shape is 0x3", shapes=["x=0x3"])


def test_an_empty_past_is_no_empty_input(tmp_path: Path) -> None:
    path = identities(tmp_path / "m.onnx", {"past_key": (TensorProto.FLOAT, ["N", "past_length"])})
    assert prepared(path).info.inputs[0].startswith("past_key: float32[1,0]")


def test_integers_are_not_made_narrower(tmp_path: Path) -> None:
    path = identities(tmp_path / "m.onnx", {"x": (TensorProto.INT32, [2])})
    np.save(tmp_path / "wide.npy", np.array([1, 2], np.int64))
    refused(path, UsageError, "type int32; found: int64", input=str(tmp_path / "wide.npy"))


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.pb"])
def test_data_that_the_system_refuses_to_open(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    opened = builtins.open

    def refusing(file: Any, *arguments: Any, **named: Any) -> Any:
        if str(file).endswith(name):
            raise PermissionError(13, "Permission denied", str(file))
        return opened(file, *arguments, **named)

    monkeypatch.setattr(builtins, "open", refusing)
    refused(model, ReadError, f"{name}: Permission denied; to do: check the file", input=str(tmp_path / name))


# ---- files that are no model ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b"hello, this is a text file\n", "a text file that begins"),
        ("ünïcode ".encode() * 100, "a text file"),
        (b"<!DOCTYPE html>\n<html>", "a text file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"PK\x03\x04....", "a zip archive"),
        (b"\x1f\x8b\x08....", "a compressed file"),
        (b"\x1c\x00\x00\x00TFL3....", "a TensorFlow Lite model; to do: rename it to .tflite"),
        (bytes(range(256)) * 4, "cut short or damaged"),
        (b"\x08", "cut short or damaged"),
    ],
)
def test_what_is_no_model_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    refused(path, ReadError, said)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.999])
def test_a_model_cut_short(model: Path, part: float) -> None:
    data = model.read_bytes()
    model.write_bytes(data[: int(part * len(data))])
    refused(model, ReadError, "model.onnx")


def test_a_file_beyond_the_limit_of_protobuf_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with open(path, "wb") as file:
        file.truncate(3 * 2**30)  # takes no space on the disk
    refused(path, ReadError, "2 GiB")


def test_missing_external_weights_are_named(model: Path) -> None:
    onnx.save(onnx.load(model), model, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert prepared(model).call()[0].shape == (1, 100)
    (model.parent / "weights.bin").unlink()
    refused(model, ReadError, "no file weights.bin")


def test_a_model_that_the_runtime_cannot_run_says_why(tmp_path: Path) -> None:
    inputs: dict[str, Any] = {"x": (TensorProto.FLOAT, [1])}
    refused(save(tmp_path / "a.onnx", [helper.make_node("NoSuchOperator", ["x"], ["y"])], inputs, "y"), ReadError, "NoSuchOperator")
    refused(save(tmp_path / "b.onnx", [helper.make_node("Neg", ["nowhere"], ["y"])], inputs, "y"), ReadError, "nowhere")


def test_without_the_runtime_the_extra_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(onnx_target, "import_module", absent)
    refused(model, BackendUnavailable, "ridgeline[onnx]")


# ---- models with trained weights -------------------------------------------------------------------------------------------------------------


def shipped() -> list[Path]:
    """Models inside installed packages."""
    found: list[Path] = []
    for package in ("magika", "silero_vad", "rapidocr_onnxruntime"):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            found += sorted(Path(spec.origin).parent.rglob("*.onnx"))
    spec = find_spec("onnx")
    assert spec is not None
    assert spec.origin is not None
    light = Path(spec.origin).parent / "backend" / "test" / "data" / "light"
    return found + [light / f"light_{name}.onnx" for name in ("resnet50", "squeezenet", "shufflenet")]


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_real_models_run_on_generated_inputs(path: Path) -> None:
    target = prepared(path)
    results = target.call()
    assert all(np.isfinite(np.asarray(result, dtype=np.float64)).all() for result in results)
