"""Models in LiteRT's interpreter: threads, the delegate, and its flags."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="its runner needs ai-edge-litert")
pytest.importorskip("onnx", reason="the writer of the examples' models needs onnx")

from ai_edge_litert import interpreter as runtime

from ridgeline.backends.deployments.tflite import Tflite
from ridgeline.backends.testing import RunnerConformance
from ridgeline.tuning.space import Configurations
from support.tflite_models import lite

from .deployed import agrees, deployed


def doubler(folder, factor=2):
    """y = x · W: W is `factor` on its diagonal."""
    made = lite()
    x = made.tensor("x", 1, 3, free=True)
    weights = made.tensor("w", 3, 3, data=(factor * np.eye(3)).astype(np.float32))
    y = made.operator("FULLY_CONNECTED", [x, weights], made.tensor("y", 1, 3, free=True), "FullyConnectedOptions")
    (folder / "doubler.tflite").write_bytes(made.finished(x, y))
    np.save(folder / "x.npy", np.array([[1.0, 2.0, 3.0]], np.float32))
    return folder / "doubler.tflite"


class TestConformance(RunnerConformance):
    def runner(self):
        return Tflite()

    def good(self, folder):
        found = deployed(str(doubler(folder)), folder, input=str(folder / "x.npy"))
        return found.job(delegate=False, no_clustering=None, latest_features=None, no_node_fusion=None)

    def expected(self, job):
        return {"result[0]": np.array([[2.0, 4.0, 6.0]], np.float32)}

    def others(self, folder):
        job = self.good(folder)
        doubler(folder, 3)
        yield "model", job


def test_each_setting_alone_gives_what_the_deployment_gives(tmp_path) -> None:
    found = deployed(str(doubler(tmp_path)), tmp_path)
    configurations = Configurations(found.space.space)
    for place in configurations.neighbours(configurations.row(found.space.default)):
        config = configurations.config(place)
        assert agrees(found.job(**{**dict.fromkeys(found.space.default), **config}), found.runner), config


@pytest.mark.parametrize(("values", "argument", "right"), [
    ({"delegate": False}, "experimental_op_resolver_type", runtime.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES),
    ({"no_clustering": True}, "experimental_disable_delegate_clustering", True),
    ({"latest_features": True, "threads": 1}, "experimental_default_delegate_latest_features", True),
    ({"no_node_fusion": True}, "experimental_disable_delegate_node_fusion", True),
    ({"threads": 1}, "num_threads", 1),
    ({"threads": 2}, "num_threads", 2),
])  # fmt: skip
def test_what_is_set_is_what_the_interpreter_is_made_with(values, argument, right, tmp_path, monkeypatch) -> None:
    found = deployed(str(doubler(tmp_path)), tmp_path)
    made = []
    original = runtime.Interpreter
    monkeypatch.setattr(runtime, "Interpreter", lambda **given: made.append(given) or original(**given))
    found.runner.load(msgspec.structs.replace(found.job(), values=values), {}).close()
    assert made[-1][argument] == right


def test_a_model_that_no_delegate_takes_has_no_flags_of_one(tmp_path) -> None:
    found = deployed(str(doubler(tmp_path)), tmp_path)
    assert {"delegate", "no_clustering"} <= set(found.space.default)
    assert "delegate" not in {
        setting.parameter.name
        for setting in found.runner.settings(_without_delegate(found))
    }  # fmt: skip


def _without_delegate(found):
    from ridgeline.targets.changes.testing import fake_situation

    return fake_situation("tflite", providers=("builtin",), threads=2)
