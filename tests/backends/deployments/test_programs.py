"""Programs: functions with torch and without, scripts; threads, and changes that go around each other."""

from __future__ import annotations

import os

import msgspec
import numpy as np
import pytest

from ridgeline.backends import BuildFailed, RunFailed
from ridgeline.backends.deployments import EVERY_PRECISION
from ridgeline.backends.deployments.programs import Program, PythonFunction
from ridgeline.backends.testing import RunnerConformance
from ridgeline.machine import Worker

from .deployed import agrees, deployed, ran

HERE = os.path.dirname(__file__)
DOUBLER = "import numpy as np\ndef work():\n    return {'twice': np.arange(3.0) * 2, 'text': 'as it is'}\n"
NETWORK = """\
import torch
torch.manual_seed(0)
def make():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10)).eval()
    image = torch.randn(1, 3, 8, 8)
    def work():
        return net(image)
    return work
"""


def written(folder, text, name="program.py"):
    (folder / name).write_text(text)
    return folder / name


class TestConformance(RunnerConformance):
    def runner(self):
        return PythonFunction()

    def good(self, folder):
        return deployed(f"{written(folder, DOUBLER)}:work", folder).job(gc_freeze=True)

    def expected(self, job):
        return {"result['twice']": np.array([0.0, 2.0, 4.0])}

    def others(self, folder):
        job = self.good(folder)
        written(folder, DOUBLER.replace("* 2", "* 3"))
        yield "source", job
        target = job.options["target"]
        yield "function", msgspec.structs.replace(job, options={"target": {**target, "function": "other"}})

    def failing(self, folder):
        lines = "COUNT = [0]\ndef work():\n    COUNT[0] += 1\n    if COUNT[0] > 2:\n        raise ValueError('enough')\n    return 1.0\n"
        return msgspec.structs.replace(self.good(folder), options={"target": f"{written(folder, lines, 'failing.py')}:work"})


def test_results_of_every_kind_are_outputs(tmp_path) -> None:
    found = deployed(f"{written(tmp_path, DOUBLER)}:work", tmp_path)
    assert {output.name for output in found.found.outputs} == {"result['twice']", "result['text']"}
    assert agrees(found.job(gc_disable=True), found.runner)


def test_a_function_has_a_process_of_its_own_with_the_threads_it_was_given(tmp_path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU has no choice of threads")
    found = deployed(f"{written(tmp_path, DOUBLER)}:work", tmp_path)
    plain = found.runner.environment(found.job())
    assert plain.alone
    assert "OMP_NUM_THREADS" not in plain.variables
    assert found.runner.environment(found.job(own_threads=False, threads=2)).variables["OMP_NUM_THREADS"] == "2"


def test_a_script_is_tuned_by_the_process_it_gets(tmp_path) -> None:
    script = written(tmp_path, "import os\nopen(os.path.dirname(__file__) + '/seen', 'w').write(os.environ.get('MALLOC_MMAP_MAX_', 'none'))\n")
    found = deployed(str(script), tmp_path)
    assert found.runner.name == Program.name
    assert found.found.outputs == ()
    assert "process of its own" in found.found.unchecked
    job = found.job(keep_freed_memory=True)
    with Worker(
        environment={**found.runner.environment(job).variables, "PYTHONPATH": os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")])},
        directory=tmp_path,
    ) as worker:
        assert worker.call("in_child:run", {"job": job}, int) == 0
    assert (tmp_path / "seen").read_text() == "0"


def test_a_script_that_fails_says_so(tmp_path) -> None:
    script = written(tmp_path, "import os, sys\nsys.exit(os.path.exists('stop'))\n")
    found = deployed(str(script), tmp_path)
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        kernel = found.runner.load(found.job(), {})
        (tmp_path / "stop").touch()
        with pytest.raises(RunFailed, match="1"):
            kernel.run()
    finally:
        os.chdir(before)


class TestTorch:
    @pytest.fixture
    def found(self, tmp_path):
        pytest.importorskip("torch", reason="its runner needs torch")
        return deployed(f"{written(tmp_path, NETWORK, 'network.py')}:make", tmp_path, EVERY_PRECISION)

    def test_it_is_a_deployment_of_torch(self, found) -> None:
        assert found.runner.name == "torch"
        assert [output.name for output in found.found.outputs] == ["result"]

    @pytest.mark.parametrize("change", ["channels_last", "inference_mode", "autocast_bf16", "gc_freeze", "torch_int8_dynamic"])
    def test_each_change_alone(self, found, change) -> None:
        if change in found.space.default:
            assert agrees(found.job(**{change: True}), found.runner)

    def test_a_lower_precision_comes_back_in_the_type_of_the_deployment(self, found) -> None:
        (array,) = ran(found.job(autocast_bf16=True), found.runner).values()
        assert array.dtype == np.float32

    def test_one_goes_around_the_other(self, tmp_path) -> None:
        pytest.importorskip("torch", reason="its runner needs torch")
        last = "torch.channels_last"
        seen = f"torch.tensor([torch.is_inference_mode_enabled(), image.is_contiguous(memory_format={last})])"
        program = written(tmp_path, NETWORK.replace("return net(image)", f"return net(image), {seen}"), "seen.py")
        found = deployed(f"{program}:make", tmp_path)
        for values, right in (({}, [False, False]), ({"inference_mode": True, "channels_last": True}, [True, True])):
            assert ran(found.job(**values), found.runner)["result[1]"].tolist() == right

    def test_threads_are_those_of_torch(self, found) -> None:
        import torch

        before = torch.get_num_threads()
        if len(os.sched_getaffinity(0)) < 2:
            pytest.skip("one CPU has no choice of threads")
        try:
            for threads in (1, 2):
                found.runner.load(found.job(own_threads=False, threads=threads), {}).close()
                assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)

    def test_the_mode_is_that_of_the_compiler(self, found, monkeypatch) -> None:
        import torch

        modes = []
        monkeypatch.setattr(torch, "compile", lambda call, **given: modes.append(given["mode"]) or call)
        for mode in ("default", "max-autotune-no-cudagraphs"):
            job = msgspec.structs.replace(found.job(), values={"torch_compile": True, "compile_mode": mode})
            found.runner.load(job, {}).close()
        assert modes == ["default", "max-autotune-no-cudagraphs"]

    def test_a_change_that_has_no_place_is_left_out(self, found) -> None:
        import torch

        if not torch.cuda.is_available():
            assert "a device to transfer to" in found.space.left_out["pinned-memory"]
            with pytest.raises(BuildFailed, match="device") as raised:
                found.runner.load(msgspec.structs.replace(found.job(), values={"pinned_memory": True}), {})
            assert raised.value.invalid
