"""Traces of real targets: a PyTorch function and an ONNX model recorded, what is left of a recording that changed the calls, where none is to be had.

No time is asserted, so a recording may turn out perturbed or not: what must hold in both cases is asked, the rest is of recordings made by hand.
"""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ridgeline.flows.diagnose as diagnosing
from ridgeline.core import BackendUnavailable, Diagnosis, Quantity, ReadReport, TargetFailed, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.flows import trace as module
from ridgeline.flows.diagnose import diagnose
from ridgeline.flows.read import read
from ridgeline.flows.reading.untimed import untimed
from ridgeline.flows.show import replay
from ridgeline.flows.trace import Tracing, trace
from ridgeline.measurement.agent import TraceTaken
from ridgeline.notebook import Notebook
from ridgeline.reporting import page, terminal
from ridgeline.targets import parse_target
from support.facts_by_hand import device
from support.traces import launch_bound
from timeline.building import HOST, timeline_of

PROGRAM = """
import torch

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
rows = torch.ones(32, 64)

def step():
    with torch.no_grad():
        return model(rows)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    # Asked for without importing it: only the process that holds the target needs it.
    if find_spec("torch") is None:
        pytest.skip("a PyTorch function to record needs torch")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime", reason="an ONNX model to record")
    onnx = pytest.importorskip("onnx", reason="the model of the test is made with onnx")
    from support.onnx_models import model as made
    from support.onnx_models import tensor, zeros

    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["h"], name="first"), onnx.helper.make_node("Sin", ["h"], ["y"], name="second")]
    path = tmp_path / "model.onnx"
    onnx.save(made(nodes, [tensor("x", 4, 8)], ["y"], {"w": zeros(8, 8)}), path)
    return path


def calls(found: ReadReport) -> dict[str, int]:
    """Name → calls, whether the recording was perturbed or not."""
    return {one.name: one.calls for one in (*found.operators, *found.counts)}


def test_ten_calls_of_a_module_are_recorded_and_read(program: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    found = trace(parse_target(f"{program}:step"), file=kept, budget_s=0.4)
    assert found.format == "chrome"
    assert found.recording is not None
    assert (found.recording.instrument, found.recording.calls, found.recording.file) == ("torch.profiler", 10, str(kept))
    # Two linear layers and one activation a call.
    assert (calls(found)["aten::addmm"], calls(found)["aten::relu"]) == (20, 10)
    again = read(kept)
    assert again.iterations is not None
    assert (again.iterations.how, len(again.iterations.spans_s)) == ("marks", 10)
    assert calls(again)["aten::addmm"] == 20
    assert "Input Dims" not in kept.read_text()
    assert not any(event.get("cat") == "python_function" for event in json.loads(kept.read_text())["traceEvents"])


def test_shapes_and_stacks_are_recorded_only_where_they_are_asked_for(program: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json.gz"
    found = trace(parse_target(f"{program}:step"), iterations=3, shapes=True, stacks=True, file=kept, budget_s=0.4)
    assert found.recording is not None
    assert (found.recording.calls, found.recording.shapes, found.recording.stacks) == (3, True, True)
    text = gzip.decompress(kept.read_bytes()).decode()
    assert "Input Dims" in text
    functions = [event["name"] for event in json.loads(text)["traceEvents"] if event.get("cat") == "python_function"]
    assert any(name.endswith(": step") for name in functions)


def test_ten_runs_of_a_model_are_recorded_without_those_that_warm_up(model: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    found = trace(parse_target(str(model)), shapes=True, file=kept, budget_s=0.4)
    assert found.format == "onnxruntime"
    assert found.recording is not None
    assert (found.recording.calls, found.recording.shapes) == (10, False)
    assert (calls(found)["first"], calls(found)["second"], calls(found)["model_run"]) == (10, 10, 10)
    assert "session_initialization" not in calls(found)
    assert "no-shapes-or-stacks" in [warning.code for warning in found.warnings]
    # The file holds all that the profiler wrote.
    assert calls(read(kept))["model_run"] == 13


def test_a_diagnosis_has_the_trace_in_its_record_and_a_replay_keeps_it(model: Path, tmp_path: Path) -> None:
    with Notebook.open(tmp_path / "notebook.sqlite") as notebook:
        found = diagnose(parse_target(str(model)), time_budget_s=1.0, notebook=notebook, device=device(), tracing=Tracing(iterations=4))
        assert found.run is not None
        run = notebook.get(found.run)
    assert found.trace is not None
    assert found.trace.recording is not None
    assert calls(found.trace)["first"] == 4
    assert run.diagnosis is not None
    assert run.diagnosis.trace == found.trace
    assert replay(run).trace == found.trace
    assert decode(encode(found), Diagnosis) == found
    assert "TRACE\n" in terminal(page(found), 100)


def test_a_program_without_a_framework_has_no_trace_and_keeps_its_verdict(tmp_path: Path) -> None:
    kept, program = tmp_path / "kept.json", tmp_path / "program.py"
    program.write_text("def plain():\n    return sum(range(1000))\n")
    found = diagnose(parse_target(f"{program}:plain"), time_budget_s=0.5, device=device(), tracing=Tracing(file=str(kept)))
    assert found.trace is None
    assert found.ground_truth is not None
    (level,) = [level for level in found.levels if level.instrument == "trace"]
    assert level.skipped is not None
    assert "expected a trace of a PyTorch function or an ONNX model" in level.skipped
    assert f"trace: {level.skipped}"[:60] in " ".join(terminal(page(found), 200).split())
    assert not kept.exists()


def test_a_script_has_no_trace_and_is_told_what_has(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print(1)\n")
    with pytest.raises(BackendUnavailable, match="name a function that calls torch"):
        trace(parse_target(str(script)), budget_s=0.2)


@pytest.mark.parametrize(("iterations", "words"), [(1000, "ridgeline bench"), (101, "it grows with each"), (0, "at least one"), (-1, "at least one")])
def test_a_trace_of_a_thousand_calls_is_refused_before_anything_runs(
    iterations: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Worker", None)
    program = tmp_path / "program.py"
    program.write_text("def work():\n    pass\n")
    with pytest.raises(UsageError, match=words):
        trace(parse_target(f"{program}:work"), iterations=iterations)


def _exact(value: float, *ends: float) -> Quantity:
    low, high = ends or (value, value)
    return Quantity(value=value, low=low, high=high, confidence=0.95, unit="s", source="measured", origin="by hand")


class _Held:
    """Stands in for a process that holds a target: writes a trace that is known."""

    def __init__(
        self,
        ratio: tuple[float, float, float],
        recorded: int = 10,
        content: bytes | None = None,
        richer: tuple[float, float, float] | None = None,
    ) -> None:
        self.ratio, self.recorded, self.richer = ratio, recorded, richer or ratio
        self.content = launch_bound() if content is None else content
        self.asked: list[tuple[bool, bool]] = []

    def call(self, function: str, arguments: dict[str, Any], returns: type) -> TraceTaken:
        self.asked.append((arguments["shapes"], arguments["stacks"]))
        file = Path(arguments["folder"]) / "trace.json"
        file.write_bytes(self.content)
        value, low, high = self.richer if arguments["shapes"] or arguments["stacks"] else self.ratio
        ratio = Quantity(value=value, low=low, high=high, confidence=0.95, unit="1", source="measured", origin="by hand")
        return TraceTaken(
            file=str(file), instrument="by hand", calls=self.recorded, before=0, shapes_and_stacks=True, wall_s=_exact(1.0), clean_s=_exact(1.0),
            ratio=ratio,
        )  # fmt: skip


def _recorded(ratio: tuple[float, float, float], tracing: Tracing | None = None, calls: int = 10) -> ReadReport:
    return module.record(_Held(ratio, calls), tracing or Tracing(), 1.0, lambda label, fraction: None)  # type: ignore[arg-type]


def _host(*spans: tuple[str, int, int]) -> bytes:
    """Operators on one thread of a window of 100 µs: (name, from, to) in µs."""
    events = [{"ph": "X", "cat": "cpu_op", "name": name, "ts": low, "dur": high - low, "pid": 1, "tid": 1} for name, low, high in spans]
    return json.dumps({"traceEvents": events}).encode()


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (_host(("aten::relu", 0, 100)), []),
        (_host(("aten::mm", 0, 19), ("aten::relu", 19, 100)), []),
        (_host(("aten::mm", 0, 20), ("aten::relu", 20, 100)), [(True, False)]),
        (_host(("aten::relu", 0, 50), ("aten::relu", 69, 100)), []),
        (_host(("aten::relu", 0, 50), ("aten::relu", 70, 100)), [(False, True)]),
        (_host(("aten::mm", 0, 50), ("aten::relu", 70, 100)), [(True, True)]),
    ],
)
def test_shapes_and_stacks_are_recorded_where_the_first_trace_raises_their_question(content: bytes, wanted: list[tuple[bool, bool]]) -> None:
    held = _Held((1.0, 0.95, 1.05), content=content)
    found = module.record(held, Tracing(), 1.0, lambda label, fraction: None)  # type: ignore[arg-type]
    assert held.asked == [(False, False), *wanted]
    assert found.recording is not None
    assert (found.recording.shapes, found.recording.stacks) == ((False, False), *wanted)[-1]


def test_a_second_recording_that_changed_the_calls_is_left_out() -> None:
    held = _Held((1.0, 0.95, 1.05), content=_host(("aten::mm", 0, 100)), richer=(1.5, 1.4, 1.6))
    found = module.record(held, Tracing(), 1.0, lambda label, fraction: None)  # type: ignore[arg-type]
    assert found.recording is not None
    assert (found.recording.perturbed, found.recording.shapes) == (False, False)
    assert found.operators
    (said,) = [warning.message for warning in found.warnings if warning.code == "perturbed"]
    assert said == "recorded once more with shapes, calls took 1.5 times [1.4, 1.6] as long as clean ones: that recording is left out"


def test_a_second_recording_in_doubt_that_is_much_slower_is_left_out() -> None:
    held = _Held((1.0, 0.95, 1.05), content=_host(("aten::mm", 0, 100)), richer=(36.0, 0.9, 80.0))
    found = module.record(held, Tracing(), 1.0, lambda label, fraction: None)  # type: ignore[arg-type]
    assert found.recording is not None
    assert (found.recording.shapes, found.recording.perturbed) == (False, False)


def test_a_second_recording_that_fails_leaves_the_first(tmp_path: Path) -> None:
    class Once(_Held):
        def call(self, function: str, arguments: dict[str, Any], returns: type) -> TraceTaken:
            if self.asked:
                raise TargetFailed("a target that runs", found="boom")
            return super().call(function, arguments, returns)

    kept = tmp_path / "kept.json"
    held = Once((1.0, 0.95, 1.05), content=_host(("aten::mm", 0, 100)))
    found = module.record(held, Tracing(file=str(kept)), 1.0, lambda label, fraction: None)  # type: ignore[arg-type]
    assert found.operators
    assert kept.exists()
    (said,) = [warning.message for warning in found.warnings if warning.code == "recorded-once"]
    assert said == "recording once more with shapes failed: expected a target that runs; found: boom"


@pytest.mark.parametrize("ratio", [(1.5, 1.4, 1.6), (1.0, 0.95, 1.05)])
def test_nothing_is_recorded_twice_after_a_trace_that_changed_the_calls_or_was_told_what_to_record(ratio: tuple[float, float, float]) -> None:
    held = _Held(ratio, content=_host(("aten::mm", 0, 50)))
    asked = Tracing(stacks=ratio[0] == 1.0)
    module.record(held, asked, 1.0, lambda label, fraction: None)  # type: ignore[arg-type]
    assert held.asked == [(False, asked.stacks)]


def test_a_trace_that_nobody_asked_for_takes_little_time_or_says_why_not() -> None:
    assert diagnosing._too_long(0.4, 10, 16.0) == ""
    assert diagnosing._too_long(None, 10, 16.0) == ""
    assert diagnosing._too_long(0.41, 10, 16.0) == (
        "10 calls take 4.10 s, more than a quarter of the time budget of 16.0 s; --trace records them all the same"
    )


def test_a_program_without_a_framework_says_nothing_of_a_trace_that_nobody_asked_for(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("def plain():\n    return sum(range(1000))\n")
    found = diagnose(parse_target(f"{program}:plain"), time_budget_s=0.5, device=device())
    assert found.trace is None
    assert [level for level in found.levels if level.instrument == "trace"] == []


def test_a_diagnosis_records_ten_calls_without_being_asked(model: Path) -> None:
    found = diagnose(parse_target(str(model)), time_budget_s=1.0, device=device())
    assert found.trace is not None
    assert found.trace.recording is not None
    assert (found.trace.recording.calls, found.trace.recording.unasked) == (10, True)
    text = " ".join(terminal(page(found), 100).split())
    assert ("--trace lists it" if found.trace.recording.perturbed else "--trace shows them") in text
    assert diagnose(parse_target(str(model)), time_budget_s=1.0, device=device(), tracing=None).trace is None


def test_an_unperturbed_trace_answers_as_read_does(tmp_path: Path) -> None:
    found = _recorded((1.02, 0.95, 1.08))
    (tmp_path / "trace.json").write_bytes(launch_bound())
    same = read(tmp_path / "trace.json")
    assert found.recording is not None
    assert found.recording.perturbed is False
    assert (found.devices, found.gaps, found.operators, found.findings) == (same.devices, same.gaps, same.operators, same.findings)
    assert found.findings[0].cause == "dispatch"
    assert (found.counts, found.warnings) == ((), same.warnings)
    # The file is gone with the folder that it was in: no name of one that nobody can read.
    assert found.files == ()


def test_a_trace_that_cannot_be_written_is_answered_all_the_same(tmp_path: Path) -> None:
    found = _recorded((1.02, 0.95, 1.08), Tracing(file=str(tmp_path / "gone" / "trace.json")))
    assert found.devices
    assert found.recording is not None
    assert (found.files, found.recording.file) == ((), "")
    assert "not-kept" in [warning.code for warning in found.warnings]


@pytest.mark.parametrize("ratio", [(1.5, 1.11, 1.9), (0.5, 0.3, 0.89)])
def test_a_perturbed_trace_keeps_counts_and_order_and_no_time(ratio: tuple[float, float, float]) -> None:
    found = _recorded(ratio)
    assert found.recording is not None
    assert found.recording.perturbed is True
    assert (found.window_s, found.devices, found.gaps, found.operators, found.lanes, found.what_if, found.figures) == (None, (), (), (), (), (), ())
    assert (found.critical_path, found.overhead, found.iterations, found.findings, found.healthy) == (None, None, None, (), None)
    assert [(one.name, one.kind, one.calls) for one in found.counts] == [
        ("ProfilerStep#0", "iteration", 1), ("aten::mm", "operator", 40), ("cudaLaunchKernel", "runtime", 40), ("gemm", "compute", 40),
        *((f"ProfilerStep#{step}", "iteration", 1) for step in range(1, 10)),
    ]  # fmt: skip
    assert [warning.code for warning in found.warnings if warning.code.startswith("pert")] == ["perturbed"]


def test_a_trace_of_which_that_cannot_be_told_keeps_its_times_and_says_so() -> None:
    found = _recorded((1.05, 0.9, 1.3), calls=3)
    assert found.recording is not None
    assert found.recording.perturbed is None
    assert found.devices
    assert {"perturbation-unknown", "fewer-calls"} <= {warning.code for warning in found.warnings}


def test_what_is_left_without_times_follows_the_first_start() -> None:
    events = [
        (HOST, "operator", "late", 50, 60), (HOST, "operator", "early", 10, 20), (HOST, "annotation", "outer", 10, 70),
        (HOST, "operator", "early", 65, 70),
    ]  # fmt: skip
    found = untimed(ReadReport(files=("a",), format="chrome", window_s=6e-8, healthy=True), timeline_of(events))
    assert [(one.name, one.calls) for one in found.counts] == [("outer", 1), ("early", 2), ("late", 1)]
    assert (found.window_s, found.healthy) == (None, None)
    assert untimed(ReadReport(files=("a",), format="chrome"), None).counts == ()
