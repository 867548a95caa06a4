"""Many inputs for one target: which there are, how they are chosen, and in which order."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper

from ridgeline.core import RidgelineError, UsageError
from ridgeline.targets import parse_target, prepare
from ridgeline.targets.inputs import MOST_INPUTS, Inputs, bound_to, gathered, takes_input
from ridgeline.targets.spec import function_text
from support.tflite_models import lite

from .models import identities, matmul

PROGRAM = """
import asyncio
seen, made = [], []
scale = 10

def double(x): return 2 * x
def shifted(x, by=1): return x + by
async def later(x): return 3 * x
def factory():
    made.append(1)
    return lambda x: scale * x
def two(x, y): return x
def none(): return 5
def needs(n): return [n]
class Model:
    def __call__(self, x): return 7 * x
model = Model()

def numbers(): return [1, 2, 3]
def named(): return {"small": 1, "large": 100}
def generator():
    yield from (4, 5)
def endless():
    n = 0
    while True:
        yield n
        n += 1
def from_scale(): return [scale]
def empty(): return []
def text(): return "abc"
def number(): return 3
def failing():
    yield 1
    raise RuntimeError("no more")
def arrays():
    import numpy as np
    return {"ones": np.ones((1, 3), np.float32), "twos": {"x": np.full((2, 3), 2, np.float32)}}
def wrong():
    import numpy as np
    return [np.ones((1, 4), np.float32)]
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "inputs_program.py"
    path.write_text(PROGRAM)
    return path


def prepared(program: Path, function: str, inputs: str) -> Any:
    return prepare(parse_target(f"{program}:{function}", input=f"{program}:{inputs}"))


def results(target: Any) -> list[Any]:
    found = []
    for number in range(len(target.inputs.names)):
        target.inputs.select(number)
        found.append(target.call())
    return found


@pytest.mark.parametrize(
    ("function", "inputs", "names", "expected"),
    [
        ("double", "numbers", ("0", "1", "2"), [2, 4, 6]),
        ("shifted", "numbers", ("0", "1", "2"), [2, 3, 4]),
        ("later", "numbers", ("0", "1", "2"), [3, 6, 9]),
        ("factory", "numbers", ("0", "1", "2"), [10, 20, 30]),
        ("model", "numbers", ("0", "1", "2"), [7, 14, 21]),
        ("double", "named", ("small", "large"), [2, 200]),
        ("double", "generator", ("0", "1"), [8, 10]),
    ],
)
def test_a_function_of_one_argument_is_called_with_each(program: Path, function: str, inputs: str, names: Any, expected: Any) -> None:
    target = prepared(program, function, inputs)
    assert target.inputs.names == names
    assert target.first_s is not None
    assert target.call() == expected[0]  # the first is selected
    assert results(target) == expected
    assert target.info.inputs == (f"{len(names)} from inputs_program.py:{inputs}",)
    target.close()


def test_a_factory_is_called_once_and_the_module_is_the_targets_own(program: Path) -> None:
    target = prepared(program, "factory", "from_scale")
    assert target.flavour.module.made == [1]
    target.flavour.module.scale = 1000
    assert target.call() == 10_000
    assert target.flavour.factory


def test_a_generator_without_an_end_is_cut_and_that_is_said(program: Path) -> None:
    target = prepared(program, "double", "endless")
    assert len(target.inputs.names) == MOST_INPUTS
    assert "many-inputs" in {caution.code for caution in target.warnings}


@pytest.mark.parametrize(
    ("function", "inputs", "says"),
    [
        ("two", "numbers", "one argument"),
        ("none", "numbers", "one argument"),
        ("double", "empty", "none"),
        ("double", "text", "a str"),
        ("double", "number", "an? int"),
        ("double", "needs", "needs n"),
        ("double", "nunbers", "numbers"),
        ("double", "scale", "a function"),
    ],
)
def test_what_cannot_be_is_one_line(program: Path, function: str, inputs: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        prepared(program, function, inputs)
    assert len(str(caught.value).splitlines()) == 1


def test_a_generator_that_fails_fails_as_the_users_code(program: Path) -> None:
    with pytest.raises(RuntimeError, match="no more"):
        prepared(program, "double", "failing")


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("{0}:double", {"input": "{0}"}, "for a model only"),
        ("{0}:double", {"shapes": ["x=3"]}, "for a model only"),
        ("{0}", {"input": "{0}:numbers"}, "a model or a Python function"),
        ("{0}:double", {"input": "{0}x:numbers"}, "for a model only"),
        ("{0}:double", {"input": "missing.py:numbers"}, "No such file"),
        ("{0}", {"synchronise": "none"}, "a script target"),
        ("{0}:double", {"synchronise": "sometimes"}, "auto, none"),
        ("{0}:double", {"synchronise": "missing.py:wait"}, "No such file"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_runs(program: Path, target: str, options: dict[str, Any], says: str) -> None:
    filled = {name: value.format(program) if isinstance(value, str) else value for name, value in options.items()}
    with pytest.raises(UsageError, match=says):
        parse_target(target.format(program), **filled)


def test_a_path_with_a_colon_that_is_there_is_a_path(tmp_path: Path) -> None:
    model = matmul(tmp_path / "m.onnx", 3)
    odd = tmp_path / "package:function"
    odd.mkdir()
    np.save(odd / "x.npy", np.ones((1, 3), np.float32))
    spec = parse_target(str(model), input=str(odd))
    assert (spec.input, spec.inputs) == (str(odd), "")


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_a_function_or_not(text: str) -> None:
    found = function_text(text)
    assert found is None or re.fullmatch(r"(.*\.py|[\w.]+):[\w.]+", found, re.DOTALL | re.IGNORECASE)


@settings(deadline=None)
@given(st.integers(1, 50), st.integers(0, 2**32), st.integers(1, 300))
def test_every_input_is_used_equally_often_in_an_order_of_its_own(count: int, seed: int, samples: int) -> None:
    inputs = Inputs(names=tuple(map(str, range(count))), select=lambda number: None)
    order = inputs.order(seed)
    used, again = [order(sample) for sample in range(samples)], inputs.order(seed)
    assert used == [again(sample) for sample in range(samples)]
    for start in range(0, samples - samples % count, count):
        assert sorted(used[start : start + count]) == list(range(count))


def test_the_order_is_random() -> None:
    inputs = Inputs(names=tuple("abcdefgh"), select=lambda number: None)
    orders = {tuple(inputs.order(seed)(sample) for sample in range(8)) for seed in range(20)}
    assert len(orders) > 15


def test_what_takes_an_input() -> None:
    assert takes_input(lambda x: x)
    assert takes_input(lambda *x: x)
    assert takes_input(lambda x, y=1: x)
    assert not takes_input(lambda: 1)
    assert not takes_input(lambda x, y: 1)
    assert not takes_input(lambda x, *, y: 1)


def test_inputs_in_this_process() -> None:
    call, inputs = bound_to(lambda x: x + 1, gathered(itertools.count(5), "here"))
    inputs.select(2)
    assert call() == 8


# A function of the user that waits.


@pytest.mark.parametrize(("how", "waits"), [("auto", 0), ("none", 0), ("wait", 1), ("wait_for", 1)])
def test_the_function_that_waits_is_the_modules_own(tmp_path: Path, how: str, waits: int) -> None:
    path = tmp_path / "waiting_program.py"
    path.write_text(
        "waited = []\ndef work(): return 'result'\ndef wait(): waited.append(None)\ndef wait_for(result):\n    assert result == 'result'\n"
        "    waited.append(result)\n"
    )
    target = prepare(parse_target(f"{path}:work", synchronise=how if how in ("auto", "none") else f"{path}:{how}"))
    assert len(target.flavour.module.waited) == waits
    assert (target.synchronise is not None) is bool(waits)
    if target.synchronise is not None:
        target.synchronise(target.call())
        assert len(target.flavour.module.waited) == 2 * waits


def test_not_waiting_for_a_future_is_said(tmp_path: Path) -> None:
    path = tmp_path / "future_program.py"
    path.write_text(
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\ndef work(): return pool.submit(sum, range(1000))\n"
    )
    target = prepare(parse_target(f"{path}:work", synchronise="none"))
    assert target.synchronise is None
    assert [caution.code for caution in target.warnings] == ["unsynchronised"]


# Models.


def save_each(folder: Path, *values: float, rows: int = 1, suffix: str = ".npy") -> Path:
    folder.mkdir(parents=True)
    for number, value in enumerate(values):
        array = np.full((rows, 3), value, np.float32)
        if suffix == ".npz":
            np.savez(folder / f"image{number}.npz", x=array)
        else:
            np.save(folder / f"image{number}.npy", array)
    return folder


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_folder_of_files_is_many_inputs_of_a_model(tmp_path: Path, suffix: str) -> None:
    model = matmul(tmp_path / "m.onnx", 3)
    folder = save_each(tmp_path / "data", *range(11), suffix=suffix)
    (folder / "README").write_text("not an input")
    target = prepare(parse_target(str(model), input=str(folder)))
    assert target.inputs.names == tuple(f"image{number}{suffix}" for number in range(11))  # image9 before image10
    assert target.info.inputs == ("x: float32[1,3], the first of 11",)
    assert [result[0][0, 0] for result in results(target)] == list(range(11))
    assert not target.warnings


def test_test_data_sets_are_many_inputs(tmp_path: Path) -> None:
    model = matmul(tmp_path / "m.onnx", 3)
    for number in (0, 1, 10):
        folder = tmp_path / "data" / f"test_data_set_{number}"
        folder.mkdir(parents=True)
        (folder / "input_0.pb").write_bytes(numpy_helper.from_array(np.full((1, 3), number, np.float32)).SerializeToString())
    target = prepare(parse_target(str(model), input=str(tmp_path / "data")))
    assert target.inputs.names == ("test_data_set_0", "test_data_set_1", "test_data_set_10")
    assert [result[0][0, 0] for result in results(target)] == [0, 1, 10]


def test_folders_of_named_arrays_are_many_inputs_of_a_model_of_several(tmp_path: Path) -> None:
    model = identities(tmp_path / "m.onnx", {"a": (TensorProto.FLOAT, [2]), "b": (TensorProto.FLOAT, [2])})
    for number in (1, 2):
        folder = tmp_path / "data" / f"case{number}"
        folder.mkdir(parents=True)
        np.save(folder / "a.npy", np.full(2, number, np.float32))
        np.save(folder / "b.npy", np.full(2, 10 * number, np.float32))
    target = prepare(parse_target(str(model), input=str(tmp_path / "data")))
    assert target.inputs.names == ("case1", "case2")
    assert [float(result[0]) for result in results(target)] == [22.0, 44.0]


def test_one_input_is_what_it_was(tmp_path: Path) -> None:
    model = matmul(tmp_path / "m.onnx", 3)
    folder = save_each(tmp_path / "data", 1.0)
    np.save(folder / "x.npy", np.full((1, 3), 9, np.float32))  # named after the input: the folder is one input
    for place in (folder, folder / "x.npy"):
        target = prepare(parse_target(str(model), input=str(place)))
        assert target.inputs is None
        assert target.call()[0][0, 0] == 9
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="nothing in"):
        prepare(parse_target(str(model), input=str(tmp_path / "empty")))


def test_one_bad_input_among_many_is_named(tmp_path: Path) -> None:
    model = matmul(tmp_path / "m.onnx", 3)
    folder = save_each(tmp_path / "data", 1.0, 2.0)
    (folder / "image1.npy").write_bytes(b"\x93NUMPY damaged")
    with pytest.raises(RidgelineError, match=r"image1\.npy") as caught:
        prepare(parse_target(str(model), input=str(folder)))
    assert len(str(caught.value).splitlines()) == 1


def test_inputs_of_other_shapes_are_fine_where_the_runtime_takes_them(tmp_path: Path) -> None:
    model = matmul(tmp_path / "m.onnx", 3)
    folder = save_each(tmp_path / "data", 1.0, 2.0)
    np.save(folder / "many.npy", np.full((5, 3), 3, np.float32))
    for runtime in (None, "openvino"):
        target = prepare(parse_target(str(model), input=str(folder), runtime=runtime, threads=1))
        assert [np.asarray(result[0]).shape for result in results(target)] == [(1, 3), (1, 3), (5, 3)]
        assert [float(result[0][0, 0]) for result in results(target)] == [1.0, 2.0, 3.0]
        assert "static-shapes" not in {caution.code for caution in target.warnings}


@pytest.fixture
def tflite_doubler(tmp_path: Path) -> Path:
    made = lite()
    x = made.tensor("x", 1, 3, free=True)
    weights = made.tensor("w", 3, 3, data=(2 * np.eye(3)).astype(np.float32))
    y = made.operator("FULLY_CONNECTED", [x, weights], made.tensor("y", 1, 3, free=True), "FullyConnectedOptions")
    path = tmp_path / "doubler.tflite"
    path.write_bytes(made.finished(x, y))
    return path


def test_a_tflite_model_takes_many_inputs_of_one_shape(tflite_doubler: Path, tmp_path: Path) -> None:
    folder = save_each(tmp_path / "data", 1.0, 2.0, 4.0)
    target = prepare(parse_target(str(tflite_doubler), input=str(folder)))
    assert [float(result[0][0, 0]) for result in results(target)] == [2.0, 4.0, 8.0]
    np.save(folder / "many.npy", np.ones((5, 3), np.float32))
    with pytest.raises(UsageError, match="one shape"):
        prepare(parse_target(str(tflite_doubler), input=str(folder)))


@pytest.mark.parametrize("runtime", [None, "openvino"])
def test_a_function_makes_the_inputs_of_a_model(program: Path, tmp_path: Path, runtime: str | None) -> None:
    model = matmul(tmp_path / "m.onnx", 3)
    target = prepare(parse_target(str(model), input=f"{program}:arrays", runtime=runtime, threads=1))
    assert target.inputs.names == ("ones", "twos")
    assert [float(np.asarray(result[0])[0, 0]) for result in results(target)] == [1.0, 2.0]
    with pytest.raises(UsageError, match="of shape"):
        prepare(parse_target(str(model), input=f"{program}:wrong", runtime=runtime, threads=1))
    with pytest.raises(UsageError, match="both"):
        prepare(parse_target(str(model), input=f"{program}:arrays", shapes=["x=1x3"], runtime=runtime, threads=1))
