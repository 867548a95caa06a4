"""What is measured beside the time: memory of kernels and of processes, energy of runs, and a word where it cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ridgeline.backends import Argument, Attempt, Job, attempt, beside
from ridgeline.backends.beside import Beside, energy_of_run
from ridgeline.backends.testing import FakeRunner, fake_job
from ridgeline.machine import Worker

MIB = 2**20
OFF = 6 * MIB
JOB = fake_job({"tile": 8})
linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")


class Counter:
    """Moves by a joule for each second of runs that it is told of."""

    update_s = 0.01

    def __init__(self, joules: float = 1.0) -> None:
        self.runs, self._joules = 0, joules

    def run(self) -> None:
        self.runs += 1

    def read_j(self) -> float:
        return self.runs * self._joules


def hungry(mib: int, *, checked: int = 0) -> FakeRunner:
    """A kernel that holds so much while it runs, and whose results take so much to be looked at."""

    def spoil(outputs):
        held = np.ones(mib * MIB, np.uint8)
        assert held[0] == 1
        return outputs

    class Looked(FakeRunner):
        def load(self, job, built):
            kernel = super().load(job, built)
            outputs = kernel.outputs

            def looked():
                np.ones(checked * MIB, np.uint8)
                return outputs()

            kernel.outputs = looked
            return kernel

    return Looked(spoil=spoil)


@linux
@pytest.mark.parametrize("mib", [16, 96])
def test_memory_is_what_the_kernel_takes_and_not_what_checking_takes(tmp_path: Path, mib: int) -> None:
    found = attempt(JOB, runs=2, cache=str(tmp_path), beside=("memory",), runner=hungry(mib, checked=300))
    assert found.failure is None
    assert list(found.metrics) == ["peak_memory_bytes"]
    assert abs(found.metrics["peak_memory_bytes"] - mib * MIB) < OFF


HOLDS = """
#include <stdlib.h>
#include <string.h>
void hold(float *x, float *y) { char *more = malloc(MIB << 20); memset(more, 1, MIB << 20); y[0] = more[5] + x[0]; free(more); }
"""


@linux
@pytest.mark.parametrize("mib", [1, 40])
def test_memory_of_a_kernel_in_c_is_its_arrays_once_and_what_it_takes(tmp_path: Path, mib: int) -> None:
    (tmp_path / "hold.c").write_text(HOLDS)
    arguments = tuple(Argument(name=name, shape=(8 * MIB,), output=name == "y") for name in "xy")
    job = Job(runner="c", values={"MIB": mib}, options={"source": str(tmp_path / "hold.c"), "function": "hold"}, arguments=arguments)
    with Worker() as worker:
        given = {"job": job, "runs": 2, "cache": str(tmp_path / "cache"), "beside": ["memory"]}
        found = worker.call("ridgeline.backends.attempts:attempt", given, Attempt)
    assert found.failure is None, found.text
    assert abs(found.metrics["peak_memory_bytes"] - (64 + mib) * MIB) < 3 * MIB


def test_nothing_is_measured_beside_unless_it_is_asked_for(tmp_path: Path) -> None:
    assert attempt(JOB, runs=2, cache=str(tmp_path), runner=FakeRunner()).metrics == {}


def test_memory_of_a_kernel_on_a_gpu_is_not_that_of_the_process(tmp_path: Path) -> None:
    class OnGpu(FakeRunner):
        def device_of(self, job):
            return "gpu"

    found = attempt(JOB, runs=2, cache=str(tmp_path), beside=("memory",), runner=OnGpu())
    assert (found.metrics, found.text, found.failure) == ({}, "no memory: memory of a GPU is not counted", None)


@linux
@pytest.mark.parametrize("mib", [20, 300])
def test_memory_of_a_command_is_that_of_its_process(tmp_path: Path, mib: int) -> None:
    (tmp_path / "hold.py").write_text("import sys\nx = bytes([1]) * (int(sys.argv[1]) * 2**20)\n")
    job = Job(runner="command", values={"mib": mib}, options={"command": [sys.executable, "-I", "-S", str(tmp_path / "hold.py"), "{mib}"]})
    found = attempt(job, runs=2, beside=("memory",))
    assert found.failure is None
    assert mib * MIB < found.metrics["peak_memory_bytes"] < (mib + 25) * MIB


@linux
def test_memory_of_a_script_that_is_deployed_is_that_of_its_process(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("import time\nx = bytes([1]) * (80 * 2**20)\ntime.sleep(0.1)\n")
    job = Job(runner="program", values={"own_threads": True}, options={"target": str(tmp_path / "work.py")})
    with Worker() as worker:
        found = worker.call("ridgeline.backends.attempts:attempt", {"job": job, "runs": 1, "beside": ["memory"]}, Attempt)
    assert found.failure is None
    assert 80 * MIB < found.metrics["peak_memory_bytes"] < 140 * MIB


def test_energy_is_that_of_a_stretch_that_its_counter_can_tell() -> None:
    counter, told = Counter(), list[int]()
    assert energy_of_run(counter.run, counter, 1e-3, told.append) == (1.0, "")
    # A quarter of a second at a hundred updates in a second.
    assert (counter.runs, told) == (250, [250])
    long = Counter(3.0)
    assert energy_of_run(long.run, long, 2.0) == (3.0, "")
    assert long.runs == 1


def test_a_counter_that_does_not_move_gives_no_energy() -> None:
    still = Counter(0.0)
    found = Beside(("energy",), counter=still)

    class Kernel:
        run = still.run

    found.end(Kernel(), 0.1, lambda runs: None)
    assert (found.metrics, found.words) == ({}, ["no energy: its counter did not move in 3 runs"])


def test_energy_by_the_counter_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(0.5)
    monkeypatch.setattr(beside, "counter_of", lambda device: counter)

    class Counted(FakeRunner):
        def load(self, job, built):
            kernel = super().load(job, built)
            run = kernel.run
            kernel.run = lambda: (counter.run(), run())[1]
            return kernel

    found = attempt(JOB, runs=2, cache=str(tmp_path), beside=("energy",), runner=Counted(seconds=lambda values: 0.5))
    assert found.metrics == {"energy_j": pytest.approx(0.5)}


def test_where_there_is_no_counter_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "counter_of", lambda device: "no package in /sys/class/powercap")
    found = attempt(JOB, runs=2, cache=str(tmp_path), beside=("energy",), runner=FakeRunner())
    assert found.text == "no energy: no package in /sys/class/powercap"
    assert found.runs
