from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import RidgelineError, UsageError
from ridgeline.targets import TargetSpec, parse_shapes, parse_target, worker_environment


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("model.onnx", "MODEL.ONNX", "work.py", "a:b.py", "my work.py", "odd.bin"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder.onnx").mkdir()
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.onnx")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "arguments", "kind", "path", "module", "function"),
    [
        ("model.onnx", [], "onnx", "model.onnx", None, None),
        ("MODEL.ONNX", [], "onnx", "MODEL.ONNX", None, None),
        ("work.py:function", [], "python", "work.py", None, "function"),
        ("work.py:Class.method", [], "python", "work.py", None, "Class.method"),
        ("my work.py:function", [], "python", "my work.py", None, "function"),
        ("a:b.py:function", [], "python", "a:b.py", None, "function"),
        ("a:b.py", [], "script", "a:b.py", None, None),
        ("work.py", [], "script", "work.py", None, None),
        ("work.py", ["--size", "3"], "script", "work.py", None, None),
        ("package.module:function", [], "python", None, "package.module", "function"),
        (None, ["true", "-x"], "command", None, None, None),
    ],
)
def test_every_form(
    folder: Path, text: str | None, arguments: list[str], kind: str, path: str | None, module: str | None, function: str | None
) -> None:
    spec = parse_target(text, arguments)
    assert spec.kind == kind
    assert spec.path == (str(folder / path) if path else None)
    assert (spec.module, spec.function) == (module, function)
    assert spec.arguments == tuple(arguments)
    assert spec.text == (text if text is not None else "-- true -x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("missing.onnx", "No such file"),
        ("folder.onnx", "a folder"),
        ("pipe.onnx", "no regular file"),
        ("missing.py:f", "No such file"),
        ("folder.py", "a folder"),
        ("work.py:", "file.py:function"),
        ("work.py:1x", "file.py:function"),
        ("work.py:f()", "file.py:function"),
        ("model.tflite", "TensorFlow Lite"),
        ("trace.json", "a profile"),
        ("trace.json.gz", "a profile"),
        ("net.pt", "another format"),
        ("true", "goes after --"),
        ("folder", "no file"),
        (".", "a folder"),
        ("odd.bin", "a kind that is not known"),
        ("", "empty text"),
        ("   ", "empty text"),
        ("a b:c", "no file"),
        ("model.onnx\0", "zero bytes"),
        ("x" * 5000 + ".onnx", "name too long"),
    ],
)
def test_wrong_forms_are_one_clear_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(text)
    line = str(caught.value)
    assert said in line
    assert "\n" not in line
    assert caught.value.remedy


@pytest.mark.parametrize("arguments", [[], [""], ["no-such-program-here"], ["."], ["/"]])
def test_commands_that_cannot_be_run(arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_target(None, arguments)


def test_a_file_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root, who may read anything
    with pytest.raises(UsageError, match="may not read"):
        parse_target("model.onnx")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("model.onnx", {"arguments": ["x"]}),
        ("work.py:f", {"arguments": ["x"]}),
        ("work.py:f", {"shapes": ["x=1"]}),
        ("work.py:f", {"input": "odd.bin"}),
        ("model.onnx", {"input": "missing"}),
        ("model.onnx", {"threads": 0}),
        ("model.onnx", {"threads": -1}),
        ("model.onnx", {"threads": 10**9}),
        ("model.onnx", {"precision": "fp16"}),
        ("model.onnx", {"budget": "soon"}),
        ("model.onnx", {"budget": "5ms@p42"}),
    ],
)
def test_options_that_do_not_fit(text: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        parse_target(text, **options)


def test_options_are_kept(folder: Path) -> None:
    spec = parse_target(
        "model.onnx", input="odd.bin", threads=2, seed=7, environment={"A": "b"}, use="once", budget="5ms", shapes=[], precision="default"
    )
    assert spec.input == str(folder / "odd.bin")
    assert (spec.threads, spec.seed, spec.environment, spec.use, spec.budget) == (2, 7, {"A": "b"}, "once", "5ms")


def test_a_spec_travels() -> None:
    spec = parse_target("model.onnx", shapes=["x=1x3", "N=4"])
    assert msgspec.convert(msgspec.to_builtins(spec), TargetSpec) == spec


@pytest.mark.parametrize(("text", "name"), [("work.py:f", "work.py:f"), ("model.onnx", "model.onnx"), ("a.b:f", "a.b:f"), ("work.py", "work.py")])
def test_names_for_the_page(text: str, name: str) -> None:
    assert parse_target(text).name == name
    assert parse_target(None, ["true"]).name == "true"


def test_threads_reach_the_pools_through_the_environment() -> None:
    assert worker_environment(parse_target("work.py:f", environment={"A": "b"})) == {"A": "b"}
    found = worker_environment(parse_target("work.py:f", threads=3, environment={"OMP_NUM_THREADS": "1"}))
    assert found["OPENBLAS_NUM_THREADS"] == "3"
    assert found["OMP_NUM_THREADS"] == "1"  # what the person set goes first


@pytest.mark.parametrize("text", ["model.onnx", "work.py", "work.py:work"])
def test_a_folder_whose_name_is_not_utf8_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    inner = os.fsencode(folder) + b"/f\xff"
    os.mkdir(inner)
    os.rename(folder / text.partition(":")[0], inner + b"/" + text.partition(":")[0].encode())
    monkeypatch.chdir(os.fsdecode(inner))
    with pytest.raises(UsageError, match=r"UTF-8.*rename the folder") as caught:
        parse_target(text)
    assert r"f\xff" in caught.value.found


@pytest.mark.parametrize("inner", ["", "/x.npy"])
def test_inputs_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch, inner: str) -> None:
    (folder / "inputs").mkdir()
    (folder / "inputs/x.npy").write_text("")
    # The tests may run as root, who may read everything.
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith(f"inputs{inner}"))
    with pytest.raises(UsageError, match="may not read"):
        parse_target("model.onnx", input=f"inputs{inner}")


# ---- shapes ------------------------------------------------------------------------------------------------------------------------------

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).filter(lambda name: name.strip() == name)
sizes = st.lists(st.integers(0, 2**40), min_size=1, max_size=6).map(tuple)


@given(st.dictionaries(names, sizes, max_size=4), st.sampled_from(["x", ",", "×", " x ", ", "]))
def test_shapes_are_the_inverse_of_their_text(shapes: dict[str, tuple[int, ...]], between: str) -> None:
    assert parse_shapes([f"{name}={between.join(map(str, shape))}" for name, shape in shapes.items()]) == shapes


@pytest.mark.parametrize("text", ["", "=", "x", "x=", "=1x2", "x=1xx2", "x=-1", "x=1.5", "x=1x", "x=a", "x=1x2x", f"x={2**41}", "x=²", "x=1e3"])
def test_shapes_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        parse_shapes([text])


def test_one_name_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_shapes(["x=1", "x=2"])


@given(st.text(max_size=40), st.lists(st.text(max_size=10), max_size=2))
def test_any_text_is_a_spec_or_an_error_of_ours(text: str, arguments: list[str]) -> None:
    line = ""
    try:
        assert isinstance(parse_target(text, arguments, shapes=arguments), TargetSpec)
    except RidgelineError as error:
        line = str(error)
    assert "\n" not in line
