"""Work on an asynchronous device: by events of a fake device whose clock we set, by waiting, and by OpenCL's own events where it is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import ridgeline
from ridgeline import _native
from ridgeline.measurement.stages.device import DeviceTimes, OpenClClock
from ridgeline.measurement.stages.recorder import recording
from ridgeline.measurement.stages.table import table_of


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
    with recording(devices=DeviceTimes(clock_of=lambda given: given)) as found:
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
    with recording(devices=DeviceTimes(clock_of=lambda given: given)):
        with ridgeline.stage("a", device=device):
            pass
        before = device.waited  # once, to lay the clocks on each other
        with ridgeline.stage("b", device=device, synchronise=True):
            pass
        assert (before, device.waited) == (1, 2)


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

    with recording(devices=DeviceTimes(clock_of=lambda given: given)) as found, ridgeline.stage("x", device=Broken()):
        pass
    assert len(found.events) == 1


def test_without_a_recorder_a_device_is_never_touched():
    with ridgeline.stage("x", device=FakeDevice(), synchronise=True) as mark:
        assert mark.device.waited == 0


needs_opencl = pytest.mark.skipif(importlib.util.find_spec("pyopencl") is None, reason="pyopencl is not installed; see the extra [opencl]")


@needs_opencl
def test_opencl_events_on_a_profiling_queue():
    import pyopencl

    platforms = pyopencl.get_platforms()
    if not platforms:
        pytest.skip("no OpenCL platform")
    context = pyopencl.Context(devices=platforms[0].get_devices())
    queue = pyopencl.CommandQueue(context, properties=pyopencl.command_queue_properties.PROFILING_ENABLE)
    source = """__kernel void spin(__global float *a) {
        int i = get_global_id(0); float x = a[i]; for (int k = 0; k < 2000; k++) x = x * 1.0001f + 0.5f; a[i] = x; }"""
    program = pyopencl.Program(context, source).build()
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
