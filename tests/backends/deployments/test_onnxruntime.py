"""Sessions of onnxruntime: every setting and change alone, several at once, what an own process gets, and what is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

pytest.importorskip("onnx", reason="the models of the tests are made with onnx")
pytest.importorskip("onnxruntime", reason="its runner needs onnxruntime")

import onnx
import onnxruntime
from onnx import TensorProto, helper

from ridgeline.backends import BuildFailed, Job
from ridgeline.backends.deployments import EVERY_PRECISION, look
from ridgeline.backends.deployments.onnxruntime import OnnxRuntime
from ridgeline.backends.testing import RunnerConformance
from ridgeline.core import ReadError, UsageError
from ridgeline.machine import Worker
from ridgeline.targets import parse_target
from ridgeline.tuning.space import Configurations
from support.onnx_models import model, tensor

from .deployed import agrees, deployed, ran


def doubler(folder, factor=2.0):
    made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", "rows", 3)], ["y"], {"w": factor * np.eye(3, dtype=np.float32)})
    onnx.save(made, folder / "doubler.onnx")
    np.save(folder / "x.npy", np.array([[1.0, 2.0, 3.0]], np.float32))
    return folder / "doubler.onnx"


@pytest.fixture
def branches(tmp_path):
    """Convolutions of which two do not depend on each other, and a product."""
    random = np.random.default_rng(1)
    weights = {
        name: random.standard_normal(shape).astype(np.float32) / 10
        for name, shape in {"a": (16, 3, 3, 3), "b": (16, 16, 3, 3), "c": (16, 16, 1, 1), "d": (16 * 64, 10)}.items()
    }
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["h"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Conv", ["r", "b"], ["left"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["r", "c"], ["right"]),
        helper.make_node("Add", ["left", "right"], ["s"]),
        helper.make_node("Flatten", ["s"], ["f"]),
        helper.make_node("MatMul", ["f", "d"], ["y"]),
    ]
    onnx.save(model(nodes, [tensor("x", 1, 3, 8, 8)], ["y"], weights), tmp_path / "branches.onnx")
    return tmp_path / "branches.onnx"


class TestConformance(RunnerConformance):
    def runner(self):
        return OnnxRuntime()

    def good(self, folder):
        found = deployed(str(doubler(folder)), folder, input=str(folder / "x.npy"))
        return found.job(ort_no_arena=True, optimisation="basic")

    def expected(self, job):
        return {"result[0]": np.array([[2.0, 4.0, 6.0]], np.float32)}

    def others(self, folder):
        job = self.good(folder)
        target = job.options["target"]
        yield "seed", msgspec.structs.replace(job, options={"target": {**target, "seed": 1}})
        yield "shape", msgspec.structs.replace(job, options={"target": {**target, "shapes": {"x": (2, 3)}}})
        np.save(folder / "x.npy", np.array([[3.0, 2.0, 1.0]], np.float32))
        yield "input", job
        doubler(folder, 3.0)
        yield "model", job
        doubler(folder)
        (folder / "doubler.onnx.data").write_bytes(b"weights")
        yield "weights beside it", job
        (folder / "doubler.onnx.data").unlink()

    def invalid(self, folder):
        found = deployed(str(doubler(folder)), folder, EVERY_PRECISION)
        return msgspec.structs.replace(found.job(), values={"ort_int8_static": True})


def test_each_setting_alone_gives_what_the_deployment_gives(branches, tmp_path) -> None:
    found = deployed(str(branches), tmp_path)
    configurations = Configurations(found.space.space)
    seen = 0
    for place in configurations.neighbours(configurations.row(found.space.default)):
        config = configurations.config(place)
        job = found.job(**{**dict.fromkeys(found.space.default), **config})
        assert agrees(job, found.runner), config
        seen += 1
    assert seen >= 10


def test_several_at_once(branches, tmp_path) -> None:
    found = deployed(str(branches), tmp_path)
    together = dict.fromkeys(
        ("ort_no_arena", "ort_no_memory_pattern", "ort_no_spinning", "no_prepacking", "device_allocator", "ort_io_binding"), True
    )
    assert agrees(found.job(**together, optimisation="extended"), found.runner)


@pytest.mark.parametrize(("values", "option", "right"), [
    ({"optimisation": "none"}, "graph_optimization_level", onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL),
    ({"ort_no_arena": True}, "enable_cpu_mem_arena", False),
    ({"ort_no_memory_pattern": True, "ort_io_binding": True}, "enable_mem_pattern", False),
    ({"ort_parallel": True, "inter_op_threads": 1}, "inter_op_num_threads", 1),
    ({"ort_parallel": True, "inter_op_threads": 2}, "inter_op_num_threads", 2),
    ({"ort_parallel": True, "inter_op_threads": 2}, "execution_mode", onnxruntime.ExecutionMode.ORT_PARALLEL),
    ({"threads": 2, "block_base": 4}, "session.dynamic_block_base", "4"),
    ({"threads": 2, "stop_spinning": True}, "session.force_spinning_stop", "1"),
    ({"no_prepacking": True}, "session.disable_prepacking", "1"),
    ({"device_allocator": True}, "session.use_device_allocator_for_initializers", "1"),
    ({"threads": 1}, "intra_op_num_threads", 1),
    ({"threads": 2}, "intra_op_num_threads", 2),
])  # fmt: skip
def test_what_is_set_is_what_the_session_has(values, option, right, branches, tmp_path, monkeypatch) -> None:
    found = deployed(str(branches), tmp_path)
    sessions = []
    original = onnxruntime.InferenceSession

    def session(path, options, **more):
        sessions.append(options)
        return original(path, options, **more)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    found.runner.load(msgspec.structs.replace(found.job(), values=values), {}).close()
    options = sessions[-1]
    assert (options.get_session_config_entry(option) if "." in option else getattr(options, option)) == right


def test_the_deployment_as_it_is_has_the_session_that_was_prepared(branches, tmp_path, monkeypatch) -> None:
    found = deployed(str(branches), tmp_path)
    made = []
    original = onnxruntime.InferenceSession
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *given, **more: made.append(given) or original(*given, **more))
    assert agrees(found.job(), found.runner)
    assert len(made) == 1


def test_lower_precision_is_checked_by_its_own_tolerance(branches, tmp_path) -> None:
    found = deployed(str(branches), tmp_path, EVERY_PRECISION)
    job = found.job(ort_int8_static=True)
    assert job.check.relative == pytest.approx(5e-2)
    assert agrees(job, found.runner)
    assert not agrees(msgspec.structs.replace(job, check=msgspec.structs.replace(job.check, relative=1e-6)), found.runner)


def test_what_has_no_place_is_found_by_looking(branches, tmp_path) -> None:
    found = deployed(str(branches), tmp_path, EVERY_PRECISION)
    assert "ort_int8_static" in found.space.default
    assert "products with a constant matrix" in found.space.left_out["ort-int8-dynamic"]


def test_an_own_process_has_the_variables_and_cpus_of_its_changes(branches, tmp_path) -> None:
    found = deployed(str(branches), tmp_path)
    plain = found.runner.environment(found.job())
    assert (plain.variables, plain.cpus, plain.alone) == ({}, None, False)
    assert found.runner.environment(msgspec.structs.replace(found.job(), values={"threads": 1})) == plain
    kept = found.runner.environment(msgspec.structs.replace(found.job(), values={"keep_freed_memory": True}))
    assert kept.variables["MALLOC_MMAP_MAX_"] == "0"
    one = found.runner.environment(msgspec.structs.replace(found.job(), values={"one_cpu": True}))
    assert one.cpus is not None
    assert len(one.cpus) == 1


def test_it_runs_in_a_worker_with_that_environment(branches, tmp_path) -> None:
    found = deployed(str(branches), tmp_path)
    job = msgspec.structs.replace(found.job(), values={"keep_freed_memory": True, "threads": 1})
    with Worker(environment=found.runner.environment(job).variables) as worker:
        seen = worker.call("ridgeline.backends.deployments:look", {"spec": found.spec, "reference": str(tmp_path / "other.npz")}, type(found.found))
    assert seen.info.environment["MALLOC_TRIM_THRESHOLD_"]
    assert seen.outputs == found.found.outputs


def test_a_target_may_be_a_text(branches) -> None:
    assert set(ran(Job(runner="onnxruntime", values={"ort_no_arena": True}, options={"target": str(branches)}), OnnxRuntime())) == {"result[0]"}


def test_a_value_of_no_such_name_is_refused_with_the_nearest(branches, tmp_path) -> None:
    found = deployed(str(branches), tmp_path)
    with pytest.raises(UsageError, match="write ort_no_arena"):
        found.runner.load(msgspec.structs.replace(found.job(), values={"ort_no_arenas": True}), {})


def test_no_target_is_one_line() -> None:
    with pytest.raises(UsageError, match="target"):
        OnnxRuntime().load(Job(runner="onnxruntime"), {})


def test_a_file_that_is_no_model_is_wrong_for_every_configuration(tmp_path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x01\x02broken")
    with pytest.raises(ReadError):
        OnnxRuntime().load(Job(runner="onnxruntime", options={"target": str(tmp_path / "broken.onnx")}), {})


def test_an_option_that_the_runtime_refuses_fails_this_configuration_alone(branches, tmp_path, monkeypatch) -> None:
    found = deployed(str(branches), tmp_path)
    original = onnxruntime.InferenceSession

    def session(path, options, **more):
        if not options.enable_cpu_mem_arena:
            raise RuntimeError("this build has no other allocator")
        return original(path, options, **more)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    with pytest.raises(BuildFailed, match="no other allocator") as raised:
        found.runner.load(found.job(ort_no_arena=True), {})
    assert not raised.value.invalid


def test_text_and_other_results_can_be_checked_too(tmp_path) -> None:
    """Text as its bytes: another one has another length or other values."""
    node = helper.make_node("Identity", ["x"], ["y"])
    made = model([node], [helper.make_tensor_value_info("x", TensorProto.STRING, [2])], [helper.make_tensor_value_info("y", TensorProto.STRING, [2])])
    onnx.save(made, tmp_path / "text.onnx")
    np.save(tmp_path / "x.npy", np.array(["one", "two"]))
    found = look(parse_target(str(tmp_path / "text.onnx"), input=str(tmp_path / "x.npy")), str(tmp_path / "reference.npz"))
    assert bool(found.outputs) != bool(found.unchecked)


def test_results_that_change_from_call_to_call_are_not_checked(tmp_path) -> None:
    made = model([helper.make_node("RandomUniformLike", ["x"], ["y"])], [tensor("x", 4, 3)], ["y"])
    onnx.save(made, tmp_path / "random.onnx")
    found = deployed(str(tmp_path / "random.onnx"), tmp_path)
    assert found.found.outputs == ()
    assert "from call to call" in found.found.unchecked
    assert found.job().check.reference == ""
