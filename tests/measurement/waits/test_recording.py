"""A program's waits from end to end, by counts alone: what was contended, who was caller, what a call's share is."""

from __future__ import annotations

import functools
import itertools
import queue
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from ridgeline.core import Quantity
from ridgeline.measurement.waits import observe
from ridgeline.measurement.waits.sampler import Sampler, SpinSum
from ridgeline.measurement.waits.table import table_of
from ridgeline.measurement.waits.tally import Recorder, Tally
from ridgeline.measurement.waits.wrapping import Wrapping
from ridgeline.targets import load_module

CONTENDED = """
import threading
from concurrent.futures import ThreadPoolExecutor
lock, pool = threading.Lock(), ThreadPoolExecutor(2)

def holds(taken, tried):
    with lock:
        taken.set()
        tried.wait(20)

def wants(taken, tried):
    taken.wait(20)
    threading.Timer(0.005, tried.set).start()
    with lock:
        return 7

def workload():
    taken, tried = threading.Event(), threading.Event()
    first = pool.submit(holds, taken, tried)
    return pool.submit(wants, taken, tried).result() + (first.result() or 0)
"""

SERIAL = """
import time
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(4)

def item():
    time.sleep(0.002)

def workload():
    for _ in range(5):
        pool.submit(item).result()
"""

SLEEPS = """
import time

def fetch():
    time.sleep(0.001)

def polls(left=2):
    while left:
        left -= 1
        time.sleep(0.001)

def workload():
    for _ in range(4):
        fetch()
    polls()
"""

CHILDREN = """
import subprocess

def make():
    subprocess.run(["true"], check=True)

def workload():
    make()
    make()
"""


@pytest.fixture
def waits_of(tmp_path):
    def waits(source, **options):
        path = tmp_path / f"program_{abs(hash(source))}.py"
        path.write_text(textwrap.dedent(source))
        return observe(lambda: load_module(str(path)).workload, seconds=0.05, user_files=(str(path),), **options)

    yield waits
    sys.path[:] = [entry for entry in sys.path if entry != str(tmp_path)]


def one(table, kind, function):
    (found,) = [wait for wait in table.waits if wait.kind == kind and wait.site.function == function]
    return found


def test_a_contended_lock(waits_of):
    table = waits_of(CONTENDED)
    lock = one(table, "lock", "wants")
    assert lock.on.startswith("threading.Lock made at program_")
    assert lock.holder.function == "holds"
    assert lock.calls == pytest.approx(1.0, abs=0.05)
    assert lock.acquisitions == pytest.approx(2.0)
    assert lock.caller_s.value == 0.0
    assert lock.total_s.value > 0
    assert lock.held_s.value >= lock.total_s.value
    assert one(table, "future", "workload").caller_s.value > 0


def test_one_task_at_a_time(waits_of):
    future = one(waits_of(SERIAL), "future", "workload")
    assert future.calls == pytest.approx(5.0)
    assert (future.in_flight, future.capacity) == (pytest.approx(1.0), 4)
    assert future.caller_s.value == future.total_s.value
    assert future.native == 0.0


def test_children(waits_of):
    child = one(waits_of(CHILDREN), "process", "make")
    assert child.calls == pytest.approx(2.0)
    assert child.site.line == 5
    assert child.total_s.value / 2 <= child.longest_s <= child.total_s.value


def test_who_has_ended_is_not_waited_for():
    ticks = itertools.count()
    with Recorder(clock=lambda: float(next(ticks))) as recorder, Wrapping(recorder), subprocess.Popen(["true"]) as process:
        process.wait()
        process.wait()
    (tally,) = recorder.tallies
    assert [(key[:2], found.calls, found.total_s) for key, found in tally.sums.items()] == [(("process", "subprocess.Popen.wait"), 1, 1.0)]


def test_a_function_in_the_place_of_the_class_of_processes_is_left_alone(monkeypatch):
    own = functools.partial(subprocess.Popen, close_fds=True)
    monkeypatch.setattr(subprocess, "Popen", own)
    with Recorder() as recorder, Wrapping(recorder):
        assert subprocess.Popen is own
        assert subprocess.run(["true"], check=True).returncode == 0


def test_what_fails_to_be_wrapped_leaves_nothing_wrapped(monkeypatch):
    before = threading.Lock, time.sleep
    monkeypatch.setattr(queue, "SimpleQueue", None)
    with pytest.raises(TypeError), Wrapping(Recorder()):
        pass
    assert (threading.Lock, time.sleep) == before


def test_waits_in_turn_are_counted_and_told_from_waits_until(waits_of):
    sleeps = waits_of(SLEEPS)
    assert [(found.calls, found.until) for found in (one(sleeps, "sleep", name) for name in ("fetch", "polls"))] == [(4.0, False), (2.0, True)]


def test_what_the_target_raises_goes_up_and_leaves_nothing_behind(waits_of):
    import threading
    import time

    before, threads = (threading.Lock, time.sleep, sys.getswitchinterval()), set(threading.enumerate())
    with pytest.raises(ZeroDivisionError):
        waits_of("def workload():\n    return 1 / 0\n")
    assert (threading.Lock, time.sleep, sys.getswitchinterval()) == before
    # Threads of tests before this one may end meanwhile.
    assert set(threading.enumerate()) <= threads


def seconds(value):
    return Quantity.exact(value, "s", source="measured", origin="made by hand")


def test_sums_become_those_of_one_call():
    """Three calls of 2, 2 and 5 s, of which 3 s were waited: a third of the wall, and so a third of the typical 2 s."""
    recorder = Recorder()
    tally = Tally(recorder.caller)
    place = (seconds.__code__, 12)
    found = tally.sum_of(("future", "a future", place))
    found.calls, found.total_s, found.longest_sum_s = 6, 3.0, 2.25
    looked = Tally(recorder.caller)
    seen = looked.sum_of(("future", "a future", place))
    seen.sampled_s, seen.native_s, seen.asleep_s, seen.interpreted_s = 4.0, 2.0, 1.0, 0.5
    recorder.tallies = [tally]
    sampler = Sampler(recorder)
    sampler.looked_s = 8.0
    sampler.spins[(recorder.caller, place, "x")] = SpinSum(total_s=4.0, native_s=1.0, asleep_s=3.0)
    table = table_of(recorder, sampler, [looked], walls=[2.0, 2.0, 5.0], wall_s=seconds(2.0), instrument="by hand")
    spin, future = table.waits
    assert (future.kind, future.calls) == ("future", 2.0)
    assert future.total_s.value == pytest.approx(2 / 3)
    assert future.longest_s == pytest.approx(0.5)
    assert (future.native, future.asleep, future.interpreted) == (0.5, 0.25, 0.125)
    assert (spin.kind, spin.total_s.value, spin.native, spin.asleep) == ("spin", pytest.approx(1.0), 0.25, 0.75)
    assert spin.total_s.low < spin.total_s.value < spin.total_s.high
