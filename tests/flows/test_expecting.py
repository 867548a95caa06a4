"""Predicted against actual the whole way: a real model, a real profile, ceilings made by hand. No time is asserted."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from onnx import helper

from ridgeline.core import Diagnosis, Facts, OperatorRow, ReadError, TargetInfo, UsageError
from ridgeline.flows.diagnose import diagnose
from ridgeline.flows.expecting import with_expected
from ridgeline.targets import TargetSpec, parse_target
from support.facts_by_hand import facts, row
from support.onnx_models import model, tensor
from support.predicted import cpu


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A convolution that onnxruntime fuses with what follows, a product, and a function."""
    draw = np.random.default_rng(0)
    weights = {"k": draw.normal(size=(16, 3, 3, 3)).astype(np.float32), "w": draw.normal(size=(16, 64)).astype(np.float32)}
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["a"], name="stem", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("GlobalAveragePool", ["b"], ["c"], name="pool"),
        helper.make_node("Flatten", ["c"], ["d"], name="flat"),
        helper.make_node("MatMul", ["d", "w"], ["e"], name="head"),
        helper.make_node("Softmax", ["e"], ["y"], name="soft", axis=-1),
    ]
    place = tmp_path / "net.onnx"
    onnx.save(model(nodes, [tensor("x", "N", 3, 64, 64)], [tensor("y", "N", 64)], weights), place)
    return place


def test_a_diagnosis_of_a_model_says_what_its_operators_should_take(network: Path) -> None:
    kept: list[Facts] = []
    spec = parse_target(str(network), shapes=["x=2x3x64x64"])
    found = diagnose(spec, time_budget_s=1.5, device=cpu(threads=2), tracing=None, facts_to=kept.append)
    table = kept[-1].expected
    assert table is not None, [level.skipped for level in found.levels]
    assert {op.kind for op in table.operators} >= {"Conv", "MatMul"}
    assert found.expected is not None
    if not found.expected.because:
        # On a busy machine nothing is judged, and that is said.
        assert found.expected.operators >= 3
        assert {op.kind for op in found.operators if op.predicted_s is not None} >= {"Conv"}
        assert all(op.against is not None for op in found.operators if op.predicted_s is not None)
    assert any(op.predicted_s is not None for op in found.operators)


def target(**fields: object) -> TargetInfo:
    return TargetInfo(
        **{"spec": "net.onnx", "kind": "onnx", "name": "net.onnx", "inputs": ("x: float32[2,3,64,64] (synthetic)",), "threads": 1, **fields}
    )  # type: ignore[arg-type]


def asked(spec: TargetSpec, rows: list[OperatorRow] | None = None, **fields: object) -> Facts:
    given = facts(rows or [row("stem", 1e-3)], **{"target": target(), "device": cpu(), **fields})
    return with_expected(given, spec, None, lambda label, fraction: None)


def reasons(found: Facts) -> list[str]:
    assert found.expected is None
    return [level.skipped or "" for level in found.levels if level.instrument == "model of operators"]


def test_a_target_of_another_kind_is_left_as_it_is(network: Path) -> None:
    spec = parse_target(str(network))
    assert reasons(asked(spec, target=target(kind="tflite"))) == []
    assert reasons(asked(spec, operators=None)) == []


def test_what_goes_wrong_is_a_reason_and_never_an_error(network: Path, tmp_path: Path) -> None:
    spec = parse_target(str(network))
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    (said,) = reasons(asked(parse_target(str(tmp_path / "broken.onnx"))))
    assert "broken.onnx" in said
    (said,) = reasons(asked(spec, device=None))
    assert "not probed" in said
    (said,) = reasons(asked(spec, device=msgspec.structs.replace(cpu(), ceilings=())))
    assert "peak of arithmetic" in said
    elsewhere = row("stem", 1e-3)
    elsewhere = msgspec.structs.replace(elsewhere, placement=msgspec.structs.replace(elsewhere.placement, provider="CUDAExecutionProvider"))
    (said,) = reasons(asked(spec, [elsewhere]))
    assert "CUDAExecutionProvider" in said


def test_a_trained_model_that_is_none_ends_before_anything_is_measured(network: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.model").write_text("{}")
    with pytest.raises(ReadError):
        diagnose(parse_target(str(network)), device=cpu(), trained=[str(tmp_path / "bad.model")])
    with pytest.raises(UsageError, match="an ONNX model"):
        diagnose(parse_target("package.module:work"), device=cpu(), trained=[str(tmp_path / "bad.model")])


def test_a_diagnosis_from_before_there_was_a_model_still_reads(full_diagnosis: Diagnosis) -> None:
    assert full_diagnosis.expected is None
    assert all(op.against is None and op.missing == () for op in full_diagnosis.operators)
