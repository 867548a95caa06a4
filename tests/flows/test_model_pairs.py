"""Runs of a notebook as pairs: which are, which are passed over and why, and that none is taken twice."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from onnx import helper

from ridgeline.core import Caution, Run, TargetInfo
from ridgeline.core.documents import encode
from ridgeline.core.verdict import GroundTruth
from ridgeline.flows.model_calibrate import calibrate
from ridgeline.model.operators.training import Settings, train_operator_model
from ridgeline.notebook import Notebook
from support.onnx_models import model as onnx_model
from support.onnx_models import tensor
from support.operator_rows import DEVICE, device, made_rows


@pytest.fixture
def network(tmp_path: Path) -> Path:
    weight = np.ones((64, 32), np.float32)
    place = tmp_path / "net.onnx"
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Softmax", ["h"], ["y"], axis=-1)]
    onnx.save(onnx_model(nodes, [tensor("x", "N", 64)], [tensor("y", "N", 32)], {"w": weight}), place)
    return place


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    place = tmp_path / "operators.model"
    settings = Settings(methods=("level", "ridge"), folds=3)
    place.write_bytes(encode(train_operator_model(made_rows(60), {DEVICE: device()}, settings)))
    return place


def run_of(stored: Run, network: Path, number: int, wall_s: float, **changed: object) -> Run:
    digest = hashlib.sha256(network.read_bytes()).hexdigest()
    target = TargetInfo(
        spec=str(network), kind="onnx", name="net", digest=digest, inputs=("x: float32[96,64] (synthetic)",), threads=1
    )  # fmt: skip
    facts = msgspec.structs.replace(stored.facts, **{"target": target, "device": device(), "warnings": (), **changed})
    truth = GroundTruth(
        samples=500, processes=5, warmup=3, first_s=None, median_s=wall_s, median_ci_s=(wall_s, wall_s), p99_s=None, p99_ci_s=None, min_s=wall_s,
        batched_s=None, noise_floor=None, overhead_s=None,
    )  # fmt: skip
    return msgspec.structs.replace(
        stored, id=f"20260102T0304{number:02d}-0000000{number}", verb="bench", facts=facts, diagnosis=None, truth=truth,
        software={"onnxruntime": "1.20"},
    )  # fmt: skip


def test_runs_of_models_that_are_still_there_are_pairs(stored_run: Run, network: Path, trained: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "runs.sqlite")
    python = msgspec.structs.replace(stored_run.facts.target, kind="python")
    with Notebook.open(place) as book:
        book.add(run_of(stored_run, network, 1, 0.001))
        book.add(run_of(stored_run, network, 2, 0.001, target=python))
        book.add(run_of(stored_run, network, 3, 0.001, warnings=(Caution(code="interference", message="m", effect="e"),)))
        changed = msgspec.structs.replace(run_of(stored_run, network, 4, 0.001).facts.target, digest="0" * 64)
        book.add(run_of(stored_run, network, 4, 0.001, target=changed))
        gone = msgspec.structs.replace(changed, spec=str(tmp_path / "gone.onnx"))
        book.add(run_of(stored_run, network, 5, 0.001, target=gone))
        book.add(run_of(stored_run, network, 6, 0.002))
    found = calibrate(trained, from_notebook=True, notebook=place)
    assert (found.taken, found.pairs) == (2, 2)
    assert sorted(found.passed_over.values()) == [1, 1, 1, 1]
    assert any("has changed since" in why for why in found.passed_over)
    assert any("not there any more" in why for why in found.passed_over)
    again = calibrate(trained, from_notebook=True, notebook=place)
    assert (again.taken, again.pairs) == (0, 2)
    with Notebook.open(place) as book:
        book.add(run_of(stored_run, network, 7, 0.001))
    assert calibrate(trained, from_notebook=True, notebook=place).pairs == 3


def test_what_runs_say_becomes_a_correction_of_that_model_on_that_device(stored_run: Run, network: Path, trained: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "runs.sqlite")
    with Notebook.open(place) as book:
        for number in range(30):
            book.add(run_of(stored_run, network, number, 0.001))
    found = calibrate(trained, from_notebook=True, notebook=place)
    (group,) = (name for name in found.corrections if name != "everything else")
    assert group == f"net @ {DEVICE}"
    assert found.corrections[group].known
    assert found.newest >= 1
