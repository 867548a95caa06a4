"""The whole way on small TFLite models: what is measured is real, the ceilings are made by hand. No time is asserted."""

from __future__ import annotations

import pytest

pytest.importorskip("ai_edge_litert", reason="TFLite models need ai-edge-litert")
pytest.importorskip("onnx", reason="the writer of the examples' models needs onnx")

from ridgeline.core import Diagnosis
from ridgeline.flows.diagnose import diagnose
from ridgeline.flows.show import replay
from ridgeline.notebook import Notebook
from ridgeline.targets import parse_target
from support.facts_by_hand import device
from support.tflite_models import chain, looping, single

REFUSED = "LOCAL_RESPONSE_NORMALIZATION"


def run(path, notebook: Notebook | None = None) -> Diagnosis:
    return diagnose(parse_target(str(path), threads=1), time_budget_s=1.5, notebook=notebook, device=device())


def test_a_model_that_the_delegate_cuts(tmp_path) -> None:
    path = tmp_path / "chain.tflite"
    path.write_bytes(chain("TANH", REFUSED, "TANH", REFUSED, "TANH", side=64, channels=32))
    with Notebook.open(str(tmp_path / "notebook.db")) as notebook:
        found = run(path, notebook)
        assert found.partitions is not None
        assert (found.partitions.count, found.partitions.nodes, found.partitions.delegated, found.partitions.handoffs) == (3, 5, 3, 2)
        assert found.partitions.fallbacks == (f"{REFUSED} × 2",)
        assert {row.ran_on for row in found.operators} == {"XNNPACK", "builtin"}
        # From the stored run the same page follows.
        kept = notebook.get(found.run)
    assert replay(kept) == found


def test_without_operator_times_the_cut_is_still_told(tmp_path) -> None:
    path = tmp_path / "nine.tflite"
    path.write_bytes(single("ABS", (1,) * 9, result=(1,) * 9))
    found = run(path)
    assert any("more than 8 axes" in why for why in found.missing)
    assert found.partitions is not None
    assert found.partitions.handoff_s is None
    assert found.ground_truth is not None
    assert found.operators == ()


def test_a_loop_is_told_and_its_delegated_operators_are_no_fallback(tmp_path) -> None:
    path = tmp_path / "loop.tflite"
    path.write_bytes(looping(trips=20, side=64))
    found = run(path)
    (caution,) = [one for one in found.warnings if one.code == "inside-subgraphs"]
    assert "WHILE:1" in caution.message
    (loop,) = [row for row in found.operators if row.name == "WHILE:1"]
    assert (loop.ran_on, loop.reason) == ("cpu", "holds what ran in its subgraphs: LESS × 21, ADD × 20, TANH × 20")
    assert "partition-handoff" not in [one.cause for one in (found.bottleneck, *found.runners_up) if one is not None and "WHILE" in one.summary]


def test_a_partition_that_is_whole(tmp_path) -> None:
    path = tmp_path / "whole.tflite"
    path.write_bytes(chain("TANH", "TANH", side=32, channels=16))
    found = run(path)
    assert found.partitions is not None
    assert (found.partitions.count, found.partitions.handoffs, found.partitions.fallbacks) == (1, 0, ())
    assert "partition-handoff" not in {found.bottleneck.cause if found.bottleneck else "", *(other.cause for other in found.runners_up)}
