"""Another precision for a model that OpenVINO runs: allowed, worth trying, and possible, or refused in words."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the models of the tests are made with onnx")
pytest.importorskip("openvino", reason="targets of OpenVINO need openvino")

import onnx
from onnx import helper

from ridgeline.core import NotComparable
from ridgeline.targets import parse_target, prepare
from ridgeline.targets.changes import openvino as module
from ridgeline.targets.changes.openvino import HintBf16, HintFp16
from ridgeline.targets.changes.testing import fake_situation
from support.facts_by_hand import device
from support.onnx_models import model, tensor


@pytest.fixture
def prepared(tmp_path):
    weight = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    onnx.save(model([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", 8, 64)], ["y"], {"w": weight}), tmp_path / "m.onnx")
    return prepare(parse_target(str(tmp_path / "m.onnx"), runtime="openvino", threads=1))


@pytest.mark.parametrize("change", [HintBf16(), HintFp16()])
def test_only_what_is_allowed_and_promises_something(change) -> None:
    assert "--allow-precision" in change.refusal(fake_situation("openvino"))
    assert change.refusal(fake_situation("openvino", precisions=[change.precision])) == ""
    # A machine whose probe knows no multiply-adds of that precision.
    assert "no instruction" in change.refusal(fake_situation("openvino", precisions=[change.precision], device=device()))
    assert "openvino" in change.refusal(fake_situation("onnx", precisions=[change.precision]))


def test_what_the_processor_does_not_have_is_not_emulated(prepared, monkeypatch) -> None:
    monkeypatch.setattr(module, "_capabilities", lambda: ("FP32", "INT8"))
    with pytest.raises(NotComparable, match="BF16"):
        HintBf16().apply(prepared)


def test_the_same_call_in_another_precision(prepared, monkeypatch) -> None:
    """Asked for, OpenVINO computes in bf16 even where it must emulate it: the result is near, and as far off as so few digits make it."""
    monkeypatch.setattr(module, "_capabilities", lambda: ("FP32", "BF16"))
    (before,), (after,) = prepared.call(), HintBf16().apply(prepared).call()
    hint = prepared.flavour.compile({"INFERENCE_PRECISION_HINT": "bf16"}).get_property("INFERENCE_PRECISION_HINT").get_type_name()
    off = float(np.abs(after - before).max() / np.abs(before).max())
    assert off <= HintBf16.tolerance
    assert (off > 1e-5) == (hint == "bf16")


def test_another_kind_of_target(prepared) -> None:
    prepared.flavour = None
    with pytest.raises(NotComparable):
        HintFp16().apply(prepared)
