"""Each library's results: strict fakes of those that need a device, and JAX and OpenCL live, whose work goes on after a call on a CPU too."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.core import PluginError, plugins
from ridgeline.targets import adapter_for, unfinished
from ridgeline.targets.synchronise import synchronisation_of
from ridgeline.targets.synchronise.cupy_devices import CupyDevices
from ridgeline.targets.synchronise.opencl_queues import OpenClQueues
from ridgeline.targets.synchronise.python_results import PythonResults
from ridgeline.targets.synchronise.testing import Case, FakeDevice, FakeSynchroniser, SynchroniserConformance
from ridgeline.targets.synchronise.timer import MarkTimer
from ridgeline.targets.synchronise.torch_devices import TorchDevices
from support.opencl import built


class FakeKind:
    """`torch.cuda`, `torch.xpu` or `torch.mps` with queues of work, one a device, whose rules are those of the documentation."""

    def __init__(self, kind: str, devices: int = 2) -> None:
        self.kind, self.started = kind, False
        self.done_s, self.queue_s = [0.0] * devices, [0.0] * devices
        self.waits: list[int] = []
        outer = self

        class Event:
            def __init__(self, enable_timing: bool = False) -> None:
                self.timed, self.at_s = enable_timing, None

            def record(self, stream: int | None = None) -> None:
                assert (stream is None) == (kind == "mps")
                self.device = stream or 0
                self.at_s = outer.queue_s[self.device]

            def synchronize(self) -> None:
                outer.done_s[self.device] = max(outer.done_s[self.device], self.at_s)

            def elapsed_time(self, later: Event) -> float:
                if not self.timed or outer.done_s[self.device] < later.at_s:
                    raise RuntimeError("device not ready")
                return (later.at_s - self.at_s) * 1e3

        if kind == "mps":
            self.event = types.SimpleNamespace(Event=Event)
        else:
            self.Event = Event
            self.is_initialized = lambda: self.started
            self.current_device = lambda: 0
            self.current_stream = lambda index: index

    def synchronize(self, device: int | None = None) -> None:
        assert device is None or self.kind != "mps"
        self.waits.append(device or 0)
        self.done_s[device or 0] = self.queue_s[device or 0]


class FakeTensor:
    def __init__(self, device: str, torch: Any = None) -> None:
        self.device = device
        kind, _, number = device.partition(":")
        if torch is not None and hasattr(torch, kind):
            self.at = getattr(torch, kind), int(number or 0)
            self.at[0].queue_s[self.at[1]] += 0.25
            self.end_s = self.at[0].queue_s[self.at[1]]


@pytest.fixture
def fake_torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    torch: Any = types.ModuleType("torch")
    torch.Tensor, torch.device = FakeTensor, type("device", (), {})
    for kind in ("cuda", "xpu", "mps"):
        setattr(torch, kind, FakeKind(kind))
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


@pytest.mark.parametrize(
    ("device", "kind", "waits"),
    [("cuda:0", "cuda", [0]), ("cuda:1", "cuda", [1]), ("xpu:1", "xpu", [1]), ("mps:0", "mps", [0]), ("cpu", "cuda", []), ("meta", "cuda", [])],
)
def test_a_tensor_is_waited_for_on_its_device(fake_torch: Any, device: str, kind: str, waits: list[int]) -> None:
    result = {"y": [FakeTensor(device)]}
    wait = adapter_for(result)
    assert (wait is None) is (not waits)
    if wait is not None:
        wait(result)
    assert getattr(fake_torch, kind).waits == waits
    assert unfinished(result) is None


def test_tensors_on_two_devices_are_waited_for_on_both(fake_torch: Any) -> None:
    found = synchronisation_of([FakeTensor("cuda:0"), FakeTensor("cuda:1")])
    assert found.wait is not None
    found.wait(None)
    assert fake_torch.cuda.waits == [0, 1]
    assert found.timer is None  # no one clock


def test_a_device_in_use_is_waited_for_although_nothing_of_it_is_returned(fake_torch: Any) -> None:
    fake_torch.cuda.started = True
    found = synchronisation_of(None)
    assert found.by == ("torch",)
    assert found.wait is not None
    found.wait(None)
    assert fake_torch.cuda.waits == [0]
    assert found.timer is not None


def test_a_device_that_cannot_be_waited_for_is_warned_about(fake_torch: Any) -> None:
    result = FakeTensor("npu:0")
    assert adapter_for(result) is None
    caution = unfinished(result)
    assert caution is not None
    assert "npu" in caution.message


@pytest.mark.parametrize("kind", ["cuda", "xpu", "mps"])
def test_torch_events_time_the_device(fake_torch: Any, kind: str) -> None:
    device = getattr(fake_torch, kind)
    found = synchronisation_of(FakeTensor(f"{kind}:0"))
    assert found.timer is not None
    assert found.wait is not None
    timer = found.timer()
    for seconds in (0.25, 0.5):
        timer.begin()
        device.queue_s[0] += seconds
        timer.end(None)
        found.wait(None)
        device.queue_s[0] += 7.0  # of nobody
    assert timer.read() is not None
    assert list(timer.read()) == [0.25, 0.5]


def torch_cases(fake_torch: Any) -> list[Case]:
    def done(result: Any) -> bool:
        device, number = result.at
        return bool(device.done_s[number] >= result.end_s)

    return [
        Case(synchroniser=TorchDevices(), call=lambda place=place: FakeTensor(place, fake_torch), is_done=done)
        for place in ("cuda:0", "cuda:1", "xpu:0", "mps:0")
    ]


class TestTorch(SynchroniserConformance):
    @pytest.fixture(autouse=True)
    def _torch(self, fake_torch: Any) -> None:
        self.given = torch_cases(fake_torch)

    def cases(self):
        return self.given


class FakeArray:
    """A `cupy.ndarray`."""

    __module__ = "cupy"

    def __init__(self, device: Any) -> None:
        self.device = device
        device.queue_s += 0.125
        self.end_s = device.queue_s


class FakeCupyDevice:
    def __init__(self, number: int = 0) -> None:
        self.id, self.queue_s, self.done_s, self.waits = number, 0.0, 0.0, 0

    def synchronize(self) -> None:
        self.done_s = self.queue_s
        self.waits += 1


@pytest.fixture
def fake_cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    cupy: Any = types.ModuleType("cupy")
    cupy.here = FakeCupyDevice()
    cupy.held = 0

    class Event:
        def record(self, stream: Any) -> None:
            assert stream is cupy.stream
            self.at_s = cupy.here.queue_s

        def synchronize(self) -> None:
            cupy.here.done_s = max(cupy.here.done_s, self.at_s)

    def elapsed(first: Event, second: Event) -> float:
        assert cupy.here.done_s >= second.at_s, "not ready"
        return (second.at_s - first.at_s) * 1e3

    cupy.stream = types.SimpleNamespace(is_capturing=lambda: False)
    cupy.cuda = types.SimpleNamespace(Event=Event, get_elapsed_time=elapsed, get_current_stream=lambda: cupy.stream, Device=lambda: cupy.here)
    cupy.get_default_memory_pool = lambda: types.SimpleNamespace(total_bytes=lambda: cupy.held)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


class TestCupy(SynchroniserConformance):
    @pytest.fixture(autouse=True)
    def _cupy(self, fake_cupy: Any) -> None:
        self.cupy = fake_cupy

    def cases(self):
        done = lambda result: result.device.done_s >= result.end_s  # noqa: E731
        return [Case(synchroniser=CupyDevices(), call=lambda: FakeArray(self.cupy.here), is_done=done)]


def test_cupy_at_work_is_waited_for_although_nothing_is_returned(fake_cupy: Any) -> None:
    assert adapter_for(None) is None  # nothing was ever put on the device
    fake_cupy.held = 512
    wait = adapter_for(None)
    assert wait is not None
    wait(None)
    assert fake_cupy.here.waits == 1


def test_cupy_events_time_the_device(fake_cupy: Any) -> None:
    found = synchronisation_of(FakeArray(fake_cupy.here))
    assert found.timer is not None
    timer = found.timer()
    timer.begin()
    result = FakeArray(fake_cupy.here)
    timer.end(result)
    assert list(timer.read()) == [0.125]


class TestFake(SynchroniserConformance):
    pass


class Ready:
    """In the manner of JAX."""

    done = False

    def block_until_ready(self) -> None:
        self.done = True


class TestPython(SynchroniserConformance):
    def cases(self):
        from concurrent.futures import ThreadPoolExecutor
        from multiprocessing.pool import ThreadPool

        executor, pool = ThreadPoolExecutor(1), ThreadPool(1)
        self.pools = [executor, pool]
        yield Case(synchroniser=PythonResults(), call=Ready, is_done=lambda result: result.done)
        yield Case(synchroniser=PythonResults(), call=lambda: executor.submit(sum, range(1000)), is_done=lambda result: result.done())
        yield Case(synchroniser=PythonResults(), call=lambda: pool.apply_async(sum, (range(1000),)), is_done=lambda result: result.ready())
        executor.shutdown()
        pool.terminate()


# What a person says about waiting, and what does not load.


def test_a_function_that_was_given_waits_in_their_place() -> None:
    seen: list[Any] = []
    ready = Ready()
    found = synchronisation_of(ready, given=seen.append)
    assert found.wait is not None
    found.wait(ready)
    assert (seen, ready.done) == ([ready], False)


def test_a_function_that_takes_no_argument_is_called_without() -> None:
    calls = []
    wait = synchronisation_of(None, given=lambda: calls.append(1)).wait
    assert wait is not None
    wait("result")
    assert calls == [1]


def test_never_waiting_is_said_where_it_matters() -> None:
    found = synchronisation_of([Ready()], never=True)
    assert found.wait is None
    assert [caution.code for caution in found.cautions] == ["unsynchronised"]
    assert synchronisation_of([1], never=True).cautions == ()


def test_a_plugin_that_does_not_load_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    load = plugins.load

    def loading(kind: str, name: str) -> Any:
        if name == "broken_library":
            raise PluginError("a plugin", found="a broken one", remedy="remove it")
        return load(kind, name)

    names = plugins.names("synchronisers")
    monkeypatch.setattr(plugins, "names", lambda kind: ("broken_library", *names))
    monkeypatch.setattr(plugins, "load", loading)
    monkeypatch.setitem(sys.modules, "broken_library", types.ModuleType("broken_library"))
    ready = Ready()
    found = synchronisation_of(ready)
    assert found.wait is not None
    assert [caution.code for caution in found.cautions] == ["unsynchronised"]
    assert "broken" in found.cautions[0].message


def test_a_synchroniser_that_fails_is_said_and_takes_no_other_with_it(fake_cupy: Any) -> None:
    def fail() -> Any:
        raise RuntimeError("no device\nwith details")

    fake_cupy.get_default_memory_pool = fail
    ready = Ready()
    found = synchronisation_of(ready)
    assert found.by == ("builtins",)
    assert [caution.message for caution in found.cautions] == ["results of cupy are not waited for: RuntimeError: no device"]


def test_a_plugin_of_a_library_that_was_not_imported_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "names", lambda kind: ("a_library_that_nobody_imported",))
    assert synchronisation_of(Ready()).wait is None


# Timers.


def test_a_timer_takes_the_last_end_of_a_sample_and_none_outside() -> None:
    device = FakeDevice()
    timer = MarkTimer(device)
    timer.end("before any sample")
    timer.begin()
    for _ in range(3):
        device.work(1.0)
        timer.end()
    timer.close()
    device.work(1.0)
    timer.end("of a batch")
    timer.begin()
    device.work(0.5)
    timer.end()
    assert list(timer.read()) == [3.0, 0.5]
    assert len(timer) == 2


@pytest.mark.parametrize("broken", ["mark", "wait", "elapsed_s"])
def test_a_device_that_fails_says_so_and_disturbs_nothing(broken: str) -> None:
    def fail(*given: Any) -> Any:
        raise OSError("gone\nwith details")

    device = FakeDevice()
    setattr(device, broken, fail)
    timer = MarkTimer(device)
    for _ in range(2):
        timer.begin()
        timer.end()
    assert timer.read() is None
    assert timer.problem.endswith("gone")


@pytest.mark.parametrize("elapsed", [float("nan"), float("inf"), -1.0])
def test_times_that_are_none_are_not_given(elapsed: float) -> None:
    device = FakeDevice()
    device.elapsed_s = lambda first, second: elapsed  # type: ignore[method-assign]
    timer = MarkTimer(device)
    timer.begin()
    timer.end()
    assert timer.read() is None
    assert timer.problem


def test_a_sample_without_an_end_or_a_device_that_takes_no_event() -> None:
    timer = MarkTimer(FakeDevice())
    timer.begin()
    assert timer.read() is None
    device = FakeDevice()
    device.mark = lambda: None  # type: ignore[method-assign,return-value]
    capturing = MarkTimer(device)
    capturing.begin()
    capturing.end()
    assert capturing.read() is None


def test_no_samples_no_seconds() -> None:
    assert MarkTimer(FakeDevice()).read().shape == (0,)


# Live: JAX on the CPU dispatches asynchronously, pocl runs an OpenCL device there.

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
needs_opencl = pytest.mark.skipif(importlib.util.find_spec("pyopencl") is None, reason="pyopencl is not installed; see the extra [opencl]")


@needs_jax
def test_jax_in_a_process_of_its_own() -> None:
    """Its threads stay for the life of a process, and other tests fork: `live_jax.py` holds these tests."""
    file = Path(__file__).with_name("live_jax.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", os.devnull]
    command += ["-o", f"pythonpath={file.parents[1]}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


class OpenCl:
    """A kernel of some milliseconds on pocl."""

    def __init__(self, profiling: bool = True) -> None:
        import pyopencl

        platforms = pyopencl.get_platforms()
        if not platforms:
            pytest.skip("OpenCL has no platform here")
        self.cl = pyopencl
        self.context = pyopencl.Context(devices=platforms[0].get_devices())
        source = "__kernel void k(__global float *x) { float v = x[get_global_id(0)]; for (int i = 0; i < 2000; i++) v = v * 0.999f + 1.0f; x[get_global_id(0)] = v; }"  # noqa: E501
        self.kernel = pyopencl.Kernel(built(self.context, source), "k")
        # Behind what may be skipped: a queue that is left alive would be waited for by other tests.
        self.queue = self.new_queue(profiling)
        self.data = pyopencl.Buffer(self.context, pyopencl.mem_flags.READ_WRITE, 4 << 14)
        self.kernel.set_args(self.data)

    def new_queue(self, profiling: bool = True) -> Any:
        flags = self.cl.command_queue_properties.PROFILING_ENABLE if profiling else 0
        return self.cl.CommandQueue(self.context, properties=flags)

    def run(self) -> Any:
        return self.cl.enqueue_nd_range_kernel(self.queue, self.kernel, (1 << 14,), None)


@pytest.fixture
def opencl() -> OpenCl:
    return OpenCl()


def complete(event: Any) -> bool:
    import pyopencl

    return bool(event.command_execution_status == pyopencl.command_execution_status.COMPLETE)


@needs_opencl
class TestOpenCl(SynchroniserConformance):
    def cases(self):
        work = OpenCl()
        return [Case(synchroniser=OpenClQueues(), call=work.run, is_done=complete)]


@needs_opencl
@pytest.mark.parametrize("returned", ["event", "array", "queue", "buffer", "nothing"])
def test_opencl_work_is_waited_for_whatever_is_returned(opencl: OpenCl, returned: str) -> None:
    import pyopencl.array

    array = pyopencl.array.zeros(opencl.queue, 4, np.float32)
    events: list[Any] = []

    def call() -> Any:
        events.append(opencl.run())
        return {"event": events[-1], "array": array, "queue": opencl.queue, "buffer": opencl.data, "nothing": None}[returned]

    found = synchronisation_of(call())
    assert found.by == ("pyopencl",)
    assert found.cautions == ()
    assert found.wait is not None
    found.wait(call())
    assert all(complete(event) for event in events)


@needs_opencl
def test_opencl_events_time_the_command_itself(opencl: OpenCl) -> None:
    found = synchronisation_of(opencl.run())
    assert found.timer is not None
    assert found.wait is not None
    timer, expected = found.timer(), []
    for _ in range(4):
        timer.begin()
        event = opencl.run()
        timer.end(event)
        found.wait(event)
        expected.append((event.profile.end - event.profile.start) / 1e9)
    assert timer.read() == pytest.approx(expected)
    assert min(expected) > 0


@needs_opencl
def test_opencl_markers_hold_what_the_queue_did(opencl: OpenCl) -> None:
    events: list[Any] = []

    def call() -> None:
        events[:] = [opencl.run(), opencl.run()]

    call()
    found = synchronisation_of(None)
    if found.timer is None:
        pytest.skip("another queue is alive in this process, so that no one clock has the time")
    assert found.wait is not None
    timer = found.timer()
    timer.begin()
    call()
    timer.end(None)
    found.wait(None)
    seconds = timer.read()
    assert seconds is not None, timer.problem
    assert seconds[0] >= (events[1].profile.end - events[0].profile.start) / 1e9


@needs_opencl
def test_a_queue_without_profiling_has_no_clock_and_is_waited_for() -> None:
    work = OpenCl(profiling=False)
    found = synchronisation_of(work.run())
    assert found.timer is None
    assert found.wait is not None
    event = work.run()
    found.wait(event)
    assert complete(event)


@needs_opencl
def test_an_event_of_the_user_is_waited_for_itself(opencl: OpenCl) -> None:
    user = opencl.cl.UserEvent(opencl.context)
    user.set_status(opencl.cl.command_execution_status.COMPLETE)
    wait = adapter_for([user])
    assert wait is not None
    wait([user])


def test_ours_are_entry_points_named_after_their_module() -> None:
    assert set(plugins.names("synchronisers")) >= {"builtins", "torch", "jax", "cupy", "pyopencl"}
    assert {type(plugins.load("synchronisers", "torch")()), FakeSynchroniser} == {TorchDevices, FakeSynchroniser}
