"""Why a prediction is what it is: elasticities that a closed form gives, the ceiling behind, and that the words say the numbers."""

from __future__ import annotations

import pytest

from ridgeline.core import Device, Explanation, SystemState
from ridgeline.device import find
from ridgeline.model.explaining import explained
from ridgeline.model.graphs.predicting import Question, predicted
from ridgeline.model.graphs.tasks import Plan, plan_of_graph
from support.predicted import chain, cpu


def product(side: int = 1024) -> Plan:
    return plan_of_graph(chain(1, rows=side, columns=side), "torch", batch=1)


def stream() -> Plan:
    return plan_of_graph(chain(1, rows=10_000, columns=10_000, kind="Relu"), "torch", batch=1)


def elasticities(found: Explanation) -> dict[str, float | None]:
    return {each.input: each.elasticity for each in found.sensitivities}


def test_what_is_bound_by_arithmetic_answers_to_arithmetic_alone() -> None:
    found = explained(product(), cpu())
    moved = elasticities(found)
    assert found.dominant == "compute"
    assert moved["arithmetic"] == pytest.approx(-1.0, abs=0.02)
    assert moved["DRAM bandwidth"] == pytest.approx(0.0, abs=0.02)
    assert moved["dispatch"] == pytest.approx(0.0, abs=0.02)


def test_what_is_bound_by_memory_answers_to_its_bandwidth() -> None:
    found = explained(stream(), cpu())
    assert found.dominant == "DRAM"
    assert elasticities(found)["DRAM bandwidth"] == pytest.approx(-1.0, abs=0.02)
    assert found.next_ceiling != "DRAM"
    assert found.headroom > 2


def test_what_is_tiny_answers_to_its_start() -> None:
    found = explained(plan_of_graph(chain(50, rows=1, columns=4), "onnxruntime", block=0, batch=1), cpu(dispatch_s=1e-5))
    assert found.dominant == "overhead"
    moved = elasticities(found)
    assert moved["dispatch"] == pytest.approx(1.0, abs=0.05)
    assert moved["core clock"] == pytest.approx(0.0, abs=0.02)


def test_a_batch_that_fills_idle_lanes_is_free() -> None:
    found = explained(plan_of_graph(chain(50, rows=1, columns=4), "onnxruntime", block=0, batch=1), cpu(dispatch_s=1e-4))
    batch = next(each for each in found.sensitivities if each.input == "batch")
    assert batch.speedup == pytest.approx(2.0, rel=0.05)
    assert batch.elasticity == pytest.approx(0.0, abs=0.05)


def test_the_next_narrower_precision_of_the_device_is_tried() -> None:
    gpu = explained(product(4096), find("h100 sxm"))
    tried = {each.change: each for each in gpu.sensitivities if each.input == "precision"}
    assert set(tried) == {"fp32 → tf32", "fp32 → fp16"}
    assert all(each.elasticity is None for each in tried.values())
    assert 2 < tried["fp32 → tf32"].speedup < tried["fp32 → fp16"].speedup
    old = explained(product(4096), find("v100 pcie"))
    assert [each.change for each in old.sensitivities if each.input == "precision"] == ["fp32 → fp16"]
    assert all(each.input != "precision" for each in explained(product(), cpu()).sensitivities)


def test_a_set_clock_moves_with_the_clock() -> None:
    question = Question(state=SystemState(core_clock_hz=1e9))
    assert elasticities(explained(product(), cpu(), question))["core clock"] == pytest.approx(-1.0, abs=0.02)


def test_shares_are_those_of_the_prediction_and_the_words_say_them() -> None:
    found = predicted(product(), cpu())
    why = explained(product(), cpu(), None, found)
    assert why.shares == found.split
    assert why.dominant == found.bound
    assert "arithmetic takes" in why.sentences[0]
    assert f"{why.headroom:.3g} times" in why.sentences[1]
    assert why.sensitivities == tuple(sorted(why.sensitivities, key=lambda each: -abs(each.elasticity or 0.0)))


@pytest.mark.parametrize("device", [find("a100 sxm 80gb"), find("t4"), find("graviton3"), find("ethos-u55-128"), find("tpu v5e"), find("hailo-8l")])
def test_every_kind_of_device_is_explained(device: Device) -> None:
    plan = plan_of_graph(chain(3, rows=256, columns=256), "npu" if device.kind == "npu" else "onnxruntime", block=0, batch=1)
    found = explained(plan, device)
    assert found.headroom >= 1
    assert sum(found.shares.values()) == pytest.approx(1.0)
    for each in found.sensitivities:
        if each.elasticity is not None and each.input != "batch":
            assert -1.3 <= each.elasticity <= 1.3, each
            assert each.speedup >= 0.999, each
