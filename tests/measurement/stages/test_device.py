"""Work on an asynchronous device: by events of a fake device whose clock we set, by waiting, and by OpenCL's own events where it is installed."""

from __future__ import annotations

import importlib.util
import sys
import types

import numpy as np
import pytest

import ridgeline
from ridgeline import _native
from ridgeline.measurement.stages import device
from ridgeline.measurement.stages.device import DeviceTimes
from ridgeline.measurement.stages.recorder import recording
from ridgeline.measurement.stages.table import table_of
from ridgeline.targets.synchronise.clocks import OpenClClock
from support.opencl import built


class FakeDevice:
    """A queue whose work takes what we say; its clock starts at a number of its own."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.waited = 0

    def work(self, seconds: float) -> None:
        self.now_s += seconds

    def mark(self) -> float:
        return self.now_s

    def wait(self, mark: float) -> None:
        self.waited += 1

    def elapsed_s(self, first: float, second: float) -> float:
        return second - first


def test_a_stage_is_the_devices_time_and_not_that_of_enqueueing():
    device = FakeDevice()
    with recording(devices=DeviceTimes(clock=lambda given: given)) as found:
        with ridgeline.stage("upload", device=device):
            device.work(0.25)
        with ridgeline.stage("kernel", device=device):
            device.work(0.5)
        with ridgeline.stage("host"):
            pass
    upload, kernel, host = table_of([found]).stages
    assert upload.total_s.value == pytest.approx(0.25, rel=1e-3)
    assert kernel.total_s.value == pytest.approx(0.5, rel=1e-3)
    assert (upload.device_s.value, kernel.device_s.value) == (pytest.approx(0.25), pytest.approx(0.5))
    assert host.device_s is None
    # One queue: the second begins on the device where the first ends, although the host gave both at once.
    assert upload.overlapped_s < 0.01


def test_nothing_is_waited_for_inside_the_stages_unless_asked():
    device = FakeDevice()
    with recording(devices=DeviceTimes(clock=lambda given: given)):
        with ridgeline.stage("a", device=device):
            pass
        before = device.waited  # to lay the clocks on each other
        with ridgeline.stage("b", device=device, synchronise=True):
            pass
        assert (before, device.waited) == (3, 4)


def test_a_device_without_events_is_waited_for():
    class Queue:
        finished = 0

        def finish(self) -> None:
            self.finished += 1

    queue = Queue()
    with recording() as found, ridgeline.stage("x", device=queue):
        pass
    assert queue.finished == 1
    assert found.problems == ()


def test_the_targets_own_wait_serves_a_stage_that_asks():
    waited = []
    with recording(wait=lambda: waited.append(_native.clock_ns())) as found:
        with ridgeline.stage("waits", synchronise=True):
            pass
        with ridgeline.stage("does not"):
            pass
    assert len(waited) == 1
    first = found.events[found.events["name"] == 0][0]
    assert first["end_ns"] >= waited[0]


def test_what_cannot_be_waited_for_is_said():
    with recording() as found, ridgeline.stage("x", device=object()), ridgeline.stage("y", synchronise=True):
        pass
    assert found.problems == ("nothing to wait for was found", "nothing is known of waiting for a object")
    assert "nothing is known of waiting" in table_of([found]).instrument


def test_a_device_that_fails_does_not_fail_the_program():
    class Broken(FakeDevice):
        def mark(self):
            raise OSError("gone")

    with recording(devices=DeviceTimes(clock=lambda given: given)) as found, ridgeline.stage("x", device=Broken()):
        pass
    assert len(found.events) == 1


def test_without_a_recorder_a_device_is_never_touched():
    with ridgeline.stage("x", device=FakeDevice(), synchronise=True) as mark:
        assert mark.device.waited == 0


class FakeCuda:
    """`torch.cuda` with devices that we give work to and whose rules are those of its documentation: events on streams of their device, times only
    between events of one device that have happened, no waiting while a graph is captured."""

    def __init__(self) -> None:
        self.current, self.capturing, self.recorded, self.waits = 0, False, 0, 0
        self.streams = [FakeStream(self, index) for index in range(2)]
        outer = self

        class Event:
            def __init__(self, enable_timing: bool = False) -> None:
                self.timed, self.stream, self.done = enable_timing, None, False

            def record(self, stream: FakeStream) -> None:
                assert not outer.capturing
                outer.recorded += 1
                self.stream, self.at_ns = stream, max(_native.clock_ns(), stream.busy_until_ns)

            def synchronize(self) -> None:
                assert not outer.capturing
                outer.waits += 1
                self.done = True

            def elapsed_time(self, later: Event) -> float:
                if not (self.done and later.done and self.timed and later.timed):
                    raise RuntimeError("device not ready\nwith more lines")
                if self.stream.device.index != later.stream.device.index:
                    raise RuntimeError("events of different devices")
                return (later.at_ns - self.at_ns) / 1e6

        self.Event = Event

    def is_initialized(self) -> bool:
        return True

    def current_device(self) -> int:
        return self.current

    def current_stream(self, index: int) -> FakeStream:
        return self.streams[index]

    def is_current_stream_capturing(self) -> bool:
        return self.capturing


class FakeTorchDevice:
    def __init__(self, kind: str, index: int | None) -> None:
        self.type, self.index = kind, index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"


class FakeStream:
    def __init__(self, cuda: FakeCuda, index: int) -> None:
        self.device, self.busy_until_ns = FakeTorchDevice("cuda", index), 0

    def record_event(self) -> None:
        raise AssertionError("without timing")

    def work(self, seconds: float) -> None:
        self.busy_until_ns = max(self.busy_until_ns, _native.clock_ns()) + int(seconds * 1e9)


FakeStream.__module__ = "torch.cuda.streams"


@pytest.fixture
def cuda(monkeypatch):
    torch = types.ModuleType("torch")
    torch.cuda, torch.device = FakeCuda(), FakeTorchDevice
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch.cuda


def device_s(found) -> dict[str, float | None]:
    return {stage.name: stage.device_s.value if stage.device_s is not None else None for stage in table_of([found]).stages}


def test_torch_stages_that_name_nothing(cuda):
    with recording() as found:
        laid = cuda.waits
        with ridgeline.stage("decode"):
            pass
        with ridgeline.stage("infer"):
            cuda.streams[0].work(30.0)
        with ridgeline.stage("decode the next"):
            pass
        with ridgeline.stage("infer the next"):
            cuda.streams[0].work(20.0)
        assert (laid, cuda.waits) == (3, 3)  # the clocks are laid before the call, and nothing else is waited for in it
    assert found.problems == ()
    assert device_s(found) == {
        "decode": None,
        "infer": pytest.approx(30.0, abs=1),
        "decode the next": None,
        "infer the next": pytest.approx(20.0, abs=1),
    }
    _, infer, behind, last = table_of([found]).stages
    # What a CPU does while the queue is long is as short as it is, and work begins where that of the stage before ends.
    assert behind.total_s.value < 1.0 < last.total_s.value < 29.0 < infer.total_s.value
    assert last.overlapped_s < 1.0


def test_each_torch_device_has_events_of_its_own(cuda):
    with recording() as found:
        with ridgeline.stage("second", device="cuda:1"):
            cuda.streams[1].work(50.0)
        for _ in range(4):  # a new object each time is the same device
            with ridgeline.stage("first", device=FakeTorchDevice("cuda", 0)):
                cuda.streams[0].work(25.0)
        with ridgeline.stage("a stream", device=cuda.streams[1]):
            cuda.streams[1].work(200.0)
        cuda.current = 1
        with ridgeline.stage("whichever is current", device="cuda"):
            cuda.streams[1].work(400.0)
        with ridgeline.stage("changed inside"):
            cuda.streams[1].work(800.0)
            cuda.current = 0
    assert found.problems == ()
    assert device_s(found) == {
        name: pytest.approx(seconds, abs=5)
        for name, seconds in {"second": 50, "first": 100, "a stream": 200, "whichever is current": 400, "changed inside": 800}.items()
    }


def test_a_graph_that_is_captured_is_left_alone(cuda):
    with recording() as found:
        recorded, waits = cuda.recorded, cuda.waits
        cuda.capturing = True
        with ridgeline.stage("captured"), ridgeline.stage("named", device="cuda:1"):
            pass
        assert (cuda.recorded, cuda.waits) == (recorded, waits)
        cuda.capturing = False
    assert [found.names[name] for name in found.events["name"]] == ["named", "captured"]
    assert device_s(found) == {"captured": None, "named": None}
    assert found.problems == ()


def test_events_that_cannot_be_read_cost_no_call(cuda, monkeypatch):
    with recording() as found:
        with ridgeline.stage("lost", device="cuda"):
            cuda.streams[0].work(1.0)
        monkeypatch.setattr(cuda.Event, "synchronize", lambda self: None)
    assert found.problems == ("events of a device could not be read: device not ready",)
    assert device_s(found) == {"lost": None}


def test_the_cpu_is_no_device_to_wait_for(cuda):
    with recording() as found, ridgeline.stage("text", device="cpu"), ridgeline.stage("object", device=FakeTorchDevice("cpu", None)):
        pass
    assert found.problems == ()
    assert len(found.events) == 2


def test_a_device_has_only_so_many_events(cuda, monkeypatch):
    monkeypatch.setattr(device, "_MOST_MARKS", 2)
    with recording() as found:
        for _ in range(5):
            with ridgeline.stage("many", device="cuda"):
                cuda.streams[0].work(1.0)
    assert device_s(found) == {"many": pytest.approx(2.0, abs=0.5)}
    assert found.problems == ("only the first 2 entries of a call are timed by a device",)
    assert len(found.events) == 5


needs_opencl = pytest.mark.skipif(importlib.util.find_spec("pyopencl") is None, reason="pyopencl is not installed; see the extra [opencl]")


@needs_opencl
def test_opencl_events_on_a_profiling_queue():
    import pyopencl

    platforms = pyopencl.get_platforms()
    if not platforms:
        pytest.skip("no OpenCL platform")
    context = pyopencl.Context(devices=platforms[0].get_devices())
    source = """__kernel void spin(__global float *a) {
        int i = get_global_id(0); float x = a[i]; for (int k = 0; k < 2000; k++) x = x * 1.0001f + 0.5f; a[i] = x; }"""
    program = built(context, source)
    queue = pyopencl.CommandQueue(context, properties=pyopencl.command_queue_properties.PROFILING_ENABLE)
    data = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=np.ones(1 << 16, np.float32))
    kernel = program.spin
    kernel(queue, (1 << 16,), None, data).wait()
    with recording() as found, ridgeline.stage("spin", device=queue):
        event = kernel(queue, (1 << 16,), None, data)
    event.wait()
    (spin,) = table_of([found]).stages
    kernel_s = (event.profile.end - event.profile.start) / 1e9
    # The markers lie around the kernel: two independent readings of the device's clock agree in order.
    assert spin.device_s.value >= kernel_s
    assert isinstance(OpenClClock(queue), OpenClClock)
    assert found.problems == ()
