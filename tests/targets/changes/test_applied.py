"""Changes applied to small real targets in this process: they take hold, and the output stays what it was."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from onnx import TensorProto, helper

from ridgeline.core import NotComparable
from ridgeline.targets import parse_target, prepare
from ridgeline.targets.changes import find

from ..models import matmul, save

PROGRAM = """
import torch

torch.manual_seed(1)
module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
linear = torch.nn.Linear(8, 8)
image, row = torch.randn(1, 3, 9, 9), torch.randn(2, 8)

def images():
    return module(image)

def rows():
    return linear(row)

def made():
    weights = torch.nn.Conv2d(1, 1, 3)
    return lambda: weights(torch.ones(1, 1, 5, 5))
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return lambda function: prepare(parse_target(f"{path}:{function}"))


@pytest.fixture
def model(tmp_path):
    return prepare(parse_target(str(matmul(tmp_path / "m.onnx", 16)), shapes=["N=2"]))


@pytest.mark.parametrize("name", ["ort-optimise-basic", "ort-no-spinning", "ort-no-arena", "ort-no-memory-pattern", "ort-parallel", "ort-io-binding"])
def test_a_session_with_other_options_computes_the_same(model, name):
    applied = find(name).apply(model)
    (expected,), (found,) = model.call(), applied.restore(applied.call())
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_io_binding_writes_into_the_same_buffers(model):
    applied = find("ort-io-binding").apply(model)
    first, second = applied.call(), applied.call()
    assert first[0] is second[0]
    assert first[0].any()


def test_a_batch_of_eight_holds_the_item_eight_times(model):
    applied = find("batch-8").apply(model)
    batch, (item,) = applied.call(), model.call()
    assert applied.items == 8
    assert batch[0].shape == (16, 16)
    np.testing.assert_allclose(applied.restore(batch)[0], item, rtol=1e-6)


def test_a_fixed_first_axis_is_no_place_for_a_batch(tmp_path):
    node = helper.make_node("Relu", ["x"], ["y"])
    fixed = prepare(parse_target(str(save(tmp_path / "f.onnx", [node], {"x": (TensorProto.FLOAT, [1, 4])}, "y"))))
    with pytest.raises(NotComparable, match="fixed one in x"):
        find("batch-8").apply(fixed)


def test_inference_mode_leaves_the_values(program):
    prepared = program("rows")
    applied = find("inference-mode").apply(prepared)
    plain, inferred = prepared.call(), applied.call()
    assert plain.requires_grad
    assert inferred.is_inference()
    assert (plain == inferred).all()


def test_channels_last_finds_modules_and_images_in_globals_and_closures(program):
    import torch

    prepared = program("images")
    before = prepared.call()
    applied = find("channels-last").apply(prepared)
    after = applied.call()
    assert after.is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(before, after, rtol=1e-4, atol=1e-5)
    assert find("channels-last").apply(program("made")).call().shape == (1, 1, 3, 3)


def test_channels_last_has_no_place_without_convolutions(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text("import torch\nlinear = torch.nn.Linear(2, 2)\ndef f():\n    return linear(torch.ones(1, 2))\n")
    with pytest.raises(NotComparable, match="none"):
        find("channels-last").apply(prepare(parse_target(f"{path}:f")))


def test_autocast_gives_bfloat16(program):
    import torch

    assert find("autocast-bf16").apply(program("rows")).call().dtype == torch.bfloat16


def test_pinned_memory_needs_a_device(program):
    import torch

    if torch.cuda.is_available():
        assert find("pinned-memory").apply(program("rows")).call() is not None
    else:
        with pytest.raises(NotComparable, match="none here"):
            find("pinned-memory").apply(program("rows"))


def test_frozen_garbage_is_frozen(program):
    prepared = program("rows")
    try:
        find("gc-freeze").apply(prepared)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
