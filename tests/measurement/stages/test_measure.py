"""Stages of a call: recorded and clean calls in turn, models where nothing is marked, and what marks a target."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import types

import numpy as np
import pytest

import ridgeline
from ridgeline.core import TargetInfo
from ridgeline.measurement.stages.marks import marks_of
from ridgeline.measurement.stages.measure import entry_cost_s, measure_stages
from ridgeline.measurement.stages.models import model_stages, watching_cost_s
from ridgeline.measurement.stages.recorder import recording
from ridgeline.measurement.stages.table import table_of
from ridgeline.targets import Prepared, ProcessFlavour


def test_recorded_and_clean_calls_take_turns():
    calls = []

    def call():
        calls.append(None)
        with ridgeline.stage("a"):
            sum(range(2000))
        with ridgeline.stage("b"), ridgeline.stage("c"):
            sum(range(2000))

    report = measure_stages(call, seconds=0.05)
    a, b, c = report.table.stages
    assert [stage.name for stage in (a, b, c)] == ["a", "b", "c"]
    assert c.parent == 1
    assert not report.table.automatic
    assert len(calls) > 2 * report.table.iterations
    assert a.site.file == __file__
    assert report.ratio.low <= report.ratio.value <= report.ratio.high
    assert report.table.cost_s is not None
    assert report.table.cost_s > 0
    assert "ns an entry" in report.table.instrument


def test_a_stage_that_awaits_takes_the_time_it_waits():
    """A consumer that starts first waits for each item in `get`; what the producer does lies inside that, `use` is between two waits."""

    @ridgeline.stage("fetch")
    async def fetch(index):
        await asyncio.sleep(0.001)
        return index

    async def produce(queue):
        for index in range(5):
            await queue.put(await fetch(index))
        await queue.put(None)

    async def main():
        queue: asyncio.Queue[int | None] = asyncio.Queue()
        producer = asyncio.create_task(produce(queue))
        with ridgeline.stage("get"):
            item = await queue.get()
        while item is not None:
            with ridgeline.stage("use"):
                sum(range(100))
            with ridgeline.stage("get"):
                item = await queue.get()
        await producer

    with recording() as found:
        asyncio.run(main())
    table = table_of([found])
    get, fetch_stage, use = table.stages
    assert [(stage.name, stage.calls, stage.parent) for stage in table.stages] == [("get", 6.0, None), ("fetch", 5.0, None), ("use", 5.0, None)]
    # The consumer is in one of its stages at a time, so that what each shares with the producer adds up to what the producer shares.
    assert get.overlapped_s + use.overlapped_s == pytest.approx(fetch_stage.overlapped_s)
    # The first wait is around the first fetch.
    gets, fetches = (found.events[found.events["name"] == found.names.index(name)] for name in ("get", "fetch"))
    assert gets["start_ns"][0] <= fetches["start_ns"][0]
    assert fetches["end_ns"][0] <= gets["end_ns"][0]
    assert fetch_stage.overlapped_s >= (fetches["end_ns"][0] - fetches["start_ns"][0]) / 1e9 - 1e-9
    assert fetch_stage.lanes == get.lanes


def test_a_call_without_stages_or_models_is_made_few_times():
    calls = []
    report = measure_stages(lambda: calls.append(None), seconds=5.0)
    assert report.table.stages == ()
    assert len(calls) == 2  # a clean and a recorded one, which hears marks and models


def test_a_failing_call_leaves_no_recorder_behind():
    def call():
        with ridgeline.stage("x"):
            raise ValueError("from the program")

    with pytest.raises(ValueError, match="from the program"):
        measure_stages(call, seconds=0.1)
    with recording():
        pass


def test_the_outermost_model_is_a_stage():
    torch = pytest.importorskip("torch")
    inner = torch.nn.Linear(4, 4)
    net = torch.nn.Sequential(inner, torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(4, 2)))
    before = torch.nn.Module.__call__
    report = measure_stages(lambda: (net(torch.ones(1, 4)), inner(torch.ones(1, 4))), seconds=0.05)
    assert [(stage.name, stage.calls) for stage in report.table.stages] == [("model: Sequential", 1.0), ("model: Linear", 1.0)]
    assert report.table.automatic
    assert torch.nn.Module.__call__ is before


def test_models_inside_marked_stages_are_told_apart():
    torch = pytest.importorskip("torch")
    net, head = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)), torch.nn.Linear(512, 512)

    def call():
        with ridgeline.stage("prepare"):
            x = torch.ones(2048, 512)
        with ridgeline.stage("infer"):
            x = head(net(x))
        with ridgeline.stage("model: Linear"):  # by chance what ridgeline would call it
            head(x)

    table = measure_stages(call, seconds=0.2).table
    assert not table.automatic
    assert [(s.name, s.parent, s.model, s.calls) for s in table.stages] == [
        ("prepare", None, False, 1.0),
        ("infer", None, False, 1.0),
        ("model: Linear", None, False, 1.0),
        ("model: Sequential", 1, True, 1.0),
        ("model: Linear", 1, True, 1.0),
        ("model: Linear", 2, True, 1.0),
    ]
    prepare, infer, *_ = table.stages
    assert prepare.models_s.value == 0.0
    assert 0.5 * infer.total_s.value < infer.models_s.value <= infer.total_s.value
    assert infer.own_s.value < 0.5 * infer.total_s.value
    assert table.models_s.value >= infer.models_s.value
    assert table.stages[3].site.file == __file__
    assert "calls of models" in table.instrument


@pytest.mark.parametrize("marked", [True, False])
def test_stages_do_not_pay_for_models_that_are_too_small_to_watch(monkeypatch, marked):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("ridgeline.measurement.stages.measure.watching_cost_s", lambda: (1.0, 1.0))
    net = torch.nn.Identity()

    def call():
        with ridgeline.stage("all") if marked else contextlib.nullcontext():
            net(1)

    report = measure_stages(call, seconds=0.05)
    if marked:
        assert [(stage.name, stage.models_s) for stage in report.table.stages] == [("all", None)]
        assert "not told apart" in report.table.instrument
        assert report.ratio.high < 1e3
    else:
        assert [stage.name for stage in report.table.stages] == ["model: Identity"]
        assert report.ratio.high > 1e3  # what watching costs is said where it cannot be avoided


def test_watching_a_model_has_a_cost():
    outer, inner = watching_cost_s(200)
    assert 0 < inner < 1e-3
    assert 0 < outer < 1e-3


def test_a_session_is_named_after_its_file(monkeypatch):
    class Session:
        _model_path = "/models/net.onnx"

        def run(self, outputs, feeds):
            if outputs == "nested":
                return "inner"
            return self.run("nested", feeds)

    class InferenceSession(Session):
        pass

    fake = types.ModuleType("onnxruntime")
    fake.InferenceSession = InferenceSession
    monkeypatch.setitem(sys.modules, "onnxruntime", fake)
    original = InferenceSession.run
    with recording() as found, model_stages():
        assert InferenceSession().run(None, {}) == "inner"
    assert [found.names[index] for index in found.events["name"]] == ["model: net.onnx"]
    assert found.models == {0}
    assert found.entered
    assert not found.marked
    assert InferenceSession.run is original
    assert "run" not in vars(InferenceSession)


def test_the_cost_of_an_entry_is_that_of_an_empty_one():
    assert 0 < entry_cost_s(500) < 1e-3


def _prepared(kind, flavour=None, files=()):
    info = TargetInfo(spec="x", kind=kind, name="x")
    return Prepared(call=lambda: None, info=info, flavour=flavour, user_files=files)


def test_marks(tmp_path):
    assert marks_of(_prepared("onnx"), marked=True) == ()
    assert "ridgeline.stage" in marks_of(_prepared("python"), marked=True)
    assert "ridgeline.stage" not in marks_of(_prepared("python"), marked=False)
    script, helper = tmp_path / "pipeline.py", tmp_path / "parts.py"
    script.write_text("import parts\nparts.main()\n")
    helper.write_text("import numpy as np, onnxruntime as ort\nfrom ridgeline import stage\n")
    process = ProcessFlavour(argv=("python",), load=lambda transform: lambda: None)
    assert marks_of(_prepared("script", process, (str(script),)), marked=False) == ("onnxruntime", "ridgeline.stage")
    (tmp_path / "stranger.py").write_text("import torch\n")
    assert marks_of(_prepared("script", process, (str(script),)), marked=False) == ("onnxruntime", "ridgeline.stage")
    assert marks_of(_prepared("command", ProcessFlavour(argv=("sleep",))), marked=False) == ()
    helper.write_bytes(b"\xff\xfe\x00")
    script.write_text("print('the torch is lit')\n")
    assert marks_of(_prepared("script", process, (str(script), str(tmp_path / "gone.py"))), marked=False) == ()


def test_a_million_entries_are_all_counted():
    mark = ridgeline.stage("tick")

    def call():
        for _ in range(200_000):
            with mark:
                pass

    with recording() as found:
        for _ in range(5):
            call()
    assert len(found.events) + found.missed == 1_000_000
    assert np.all(np.diff(found.events["id"]) == 1)


def test_a_real_session_is_a_stage_and_is_put_back():
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", kind, [4])],
        [helper.make_tensor_value_info("y", kind, [4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString())
    feeds = {"x": np.ones(4, np.float32)}
    before = runtime.InferenceSession.run
    report = measure_stages(lambda: [session.run(None, feeds) for _ in range(3)], seconds=0.05)
    assert [(stage.name, stage.calls) for stage in report.table.stages] == [("model: InferenceSession", 3.0)]
    assert runtime.InferenceSession.run is before


def test_lines_of_other_threads_are_seen_in_their_stages():
    def work():
        with ridgeline.stage("worker"):
            total = 0
            for index in range(200_000):
                total += index % 3

    def call():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    (worker,) = measure_stages(call, seconds=1.0, user_files=(__file__,)).table.stages
    first = work.__code__.co_firstlineno
    assert worker.lines
    assert all(first < line.site.line <= first + 4 for line in worker.lines)
    assert worker.lanes == ("work",)
