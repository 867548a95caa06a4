"""Models that OpenVINO compiles: every setting and change alone, and several at once."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

pytest.importorskip("onnx", reason="the models of the tests are made with onnx")
pytest.importorskip("openvino", reason="its runner needs openvino")

import onnx
from onnx import helper

from ridgeline.backends.deployments import EVERY_PRECISION
from ridgeline.backends.deployments.openvino import Openvino
from ridgeline.backends.testing import RunnerConformance
from ridgeline.targets.openvino import OpenvinoFlavour
from ridgeline.targets.preparation import prepare
from ridgeline.tuning.space import Configurations
from support.onnx_models import model, tensor

from .deployed import agrees, deployed


def doubler(folder, factor=2.0):
    made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", 1, 3)], ["y"], {"w": factor * np.eye(3, dtype=np.float32)})
    onnx.save(made, folder / "doubler.onnx")
    np.save(folder / "x.npy", np.array([[1.0, 2.0, 3.0]], np.float32))
    return folder / "doubler.onnx"


class TestConformance(RunnerConformance):
    def runner(self):
        return Openvino()

    def good(self, folder):
        return deployed(str(doubler(folder)), folder, input=str(folder / "x.npy"), runtime="openvino").job(performance_hint="THROUGHPUT")

    def expected(self, job):
        return {"result[0]": np.array([[2.0, 4.0, 6.0]], np.float32)}

    def others(self, folder):
        job = self.good(folder)
        yield "runtime", msgspec.structs.replace(job, options={"target": {**job.options["target"], "kind": "onnx"}})
        doubler(folder, 3.0)
        yield "model", job


@pytest.fixture
def found(tmp_path):
    return deployed(str(doubler(tmp_path)), tmp_path, EVERY_PRECISION, runtime="openvino")


def test_each_setting_alone_gives_what_the_deployment_gives(found) -> None:
    configurations = Configurations(found.space.space)
    seen = 0
    for place in configurations.neighbours(configurations.row(found.space.default)):
        config = configurations.config(place)
        assert agrees(found.job(**{**dict.fromkeys(found.space.default), **config}), found.runner), config
        seen += 1
    assert seen >= 4


@pytest.mark.parametrize(("values", "name", "right"), [
    ({"threads": 1}, "INFERENCE_NUM_THREADS", 1),
    ({"streams": 2, "threads": 2}, "NUM_STREAMS", 2),
    ({"performance_hint": "THROUGHPUT"}, "PERFORMANCE_HINT", "THROUGHPUT"),
    ({"cpu_pinning": "off"}, "ENABLE_CPU_PINNING", False),
    ({"hyper_threading": "off"}, "ENABLE_HYPER_THREADING", False),
])  # fmt: skip
def test_what_is_set_is_what_the_model_is_compiled_with(values, name, right, found, monkeypatch) -> None:
    compiled = []

    def kept(spec):
        prepared = prepare(spec)
        assert isinstance(prepared.flavour, OpenvinoFlavour)
        compiled.append(prepared.flavour.compile({}))
        original = prepared.flavour.compile
        prepared.flavour.compile = lambda more: compiled.append(original(more)) or compiled[-1]
        return prepared

    monkeypatch.setattr("ridgeline.backends.deployments.base.prepare", kept)
    found.runner.load(msgspec.structs.replace(found.job(), values=values), {}).close()
    seen = compiled[-1].get_property(name)
    assert (getattr(seen, "name", seen) if isinstance(right, str) else type(right)(seen)) == right


def test_a_precision_that_the_processor_has_not_is_left_out(found, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("ridgeline.targets.changes.openvino._capabilities", lambda: ("FP32",))
    found = deployed(str(doubler(tmp_path)), tmp_path, EVERY_PRECISION, runtime="openvino")
    assert not {"openvino_bf16", "openvino_fp16"} & set(found.space.default)
    assert "a processor with BF16" in found.space.left_out["openvino-bf16"]


def test_a_precision_with_other_settings_is_compiled_with_all(found) -> None:
    if "openvino_bf16" not in found.space.default:
        pytest.skip("OpenVINO has no bf16 here")
    assert agrees(found.job(openvino_bf16=True, performance_hint="THROUGHPUT"), found.runner)
