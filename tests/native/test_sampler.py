"""The CPU sampler sees where a busy thread is, sees nothing of a sleeping one, and leaves no trace of itself."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline import _native

SIGNAL = signal.SIGRTMIN + 7


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    yield
    with pytest.raises(RuntimeError):
        _native.sampler_stop()


def counters_while(work: Callable[[], object], interval_s: float = 1e-3, capacity: int = 10_000) -> tuple[NDArray[np.uint64], int]:
    _native.sampler_start(interval_s, capacity)
    try:
        work()
    finally:
        raw, missed = _native.sampler_stop()
    return np.frombuffer(raw, dtype=np.uint64), missed


def burn_cpu(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def ranges_of(part: str) -> list[tuple[int, int]]:
    found = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split()
            if "x" in fields[1] and len(fields) > 5 and part in fields[5]:
                low, high = fields[0].split("-")
                found.append((int(low, 16), int(high, 16)))
    return found


def share_within(counters: NDArray[np.uint64], ranges: list[tuple[int, int]]) -> float:
    inside = sum(((counters >= low) & (counters < high)).sum() for low, high in ranges)
    return float(inside) / len(counters)


def test_a_busy_loop_is_seen_in_the_library_that_runs_it() -> None:
    matrix = np.random.default_rng(0).standard_normal(200_000)

    def sort() -> None:
        end = time.thread_time() + 0.3
        while time.thread_time() < end:
            np.sort(matrix)

    counters, _missed = counters_while(sort)
    assert len(counters) >= 20
    assert share_within(counters, ranges_of("numpy")) > 0.8


def test_stored_and_missed_together_follow_the_cpu_time() -> None:
    counters, missed = counters_while(lambda: burn_cpu(0.3))
    assert 150 <= len(counters) + missed <= 600


def test_a_sleeping_thread_is_never_sampled() -> None:
    counters, missed = counters_while(lambda: time.sleep(0.1))
    assert len(counters) + missed <= 1


def test_other_threads_are_not_sampled() -> None:
    def watch_another() -> None:
        thread = threading.Thread(target=burn_cpu, args=(0.1,))
        thread.start()
        thread.join()

    counters, missed = counters_while(watch_another)
    assert len(counters) + missed <= 20


def test_a_full_ring_counts_what_it_cannot_hold() -> None:
    counters, missed = counters_while(lambda: burn_cpu(0.1), capacity=3)
    assert len(counters) == 3
    assert missed > 0


def test_count_grows_and_is_zero_when_nothing_runs() -> None:
    assert _native.sampler_count() == 0
    _native.sampler_start(1e-3, 1000)
    burn_cpu(0.05)
    assert _native.sampler_count() > 0
    _native.sampler_stop()
    assert _native.sampler_count() == 0


def test_the_former_handler_is_back_and_stray_signals_do_no_harm() -> None:
    seen: list[int] = []
    former = signal.signal(SIGNAL, lambda number, _frame: seen.append(number))
    try:
        _native.sampler_start(1e-3, 10)
        os.kill(os.getpid(), SIGNAL)  # not from the timer: ignored
        assert _native.sampler_count() == 0
        _native.sampler_stop()
        os.kill(os.getpid(), SIGNAL)
        assert seen == [SIGNAL]
    finally:
        signal.signal(SIGNAL, former)


def test_many_starts_and_stops_with_the_default_handler_survive() -> None:
    # With the default action a left-over signal would end this process.
    assert signal.getsignal(SIGNAL) == signal.SIG_DFL
    for _ in range(200):
        counters_while(lambda: sum(range(20_000)), interval_s=1e-4, capacity=5)


def test_only_one_at_a_time_and_only_its_own_thread_stops_it() -> None:
    _native.sampler_start(1e-3, 10)
    try:
        with pytest.raises(RuntimeError, match="already"):
            _native.sampler_start(1e-3, 10)
        failures: list[str] = []

        def stop() -> None:
            try:
                _native.sampler_stop()
            except RuntimeError as error:
                failures.append(str(error))

        thread = threading.Thread(target=stop)
        thread.start()
        thread.join()
        assert len(failures) == 1
    finally:
        _native.sampler_stop()


def test_a_thread_that_ends_without_stopping_does_not_block_the_next() -> None:
    thread = threading.Thread(target=lambda: _native.sampler_start(1e-3, 10))
    thread.start()
    thread.join()
    # join() returns a moment before the kernel forgets the thread.
    for _ in range(100):
        try:
            _native.sampler_start(1e-3, 10)
            break
        except RuntimeError:
            time.sleep(0.01)
    else:
        pytest.fail("the sampler of the thread that ended was never given up")
    taken, _missed = _native.sampler_stop()
    assert len(taken) % 8 == 0


def test_a_forked_child_starts_anew() -> None:
    _native.sampler_start(1e-3, 10)
    child = os.fork()
    if child == 0:
        _native.sampler_start(1e-3, 10)
        _native.sampler_stop()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    _native.sampler_stop()


#: What a library leaves that gave the thread a stack for its signals and freed it: no signal can be delivered there.
BAD_STACK = """
import ctypes, time
from ridgeline import _native

class Stack(ctypes.Structure):
    _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
bad = Stack(libc.mmap(None, 65536, 0, 0x22, -1, 0), 0, 65536)
assert libc.sigaltstack(ctypes.byref(bad), None) == 0
_native.sampler_start(1e-3, 1000)
end = time.thread_time() + 0.1
while time.thread_time() < end:
    sum(range(1000))
taken, missed = _native.sampler_stop()
after = Stack()
libc.sigaltstack(None, ctypes.byref(after))
assert (after.sp, after.flags, after.size) == (bad.sp, 0, 65536)
print(len(taken) > 0)
"""


def test_a_stack_for_signals_that_is_gone_ends_nothing_and_is_as_before() -> None:
    done = subprocess.run([sys.executable, "-c", BAD_STACK], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.parametrize(
    ("interval", "capacity"),
    [(0.0, 10), (-1.0, 10), (float("nan"), 10), (1e-9, 10), (1e-3, 0), (1e-3, -1), (1e-3, 2**40), (1e-3, 2**80)],
)
def test_arguments_that_make_no_sense_are_refused(interval: float, capacity: int) -> None:
    with pytest.raises(ValueError, match=r"interval|capacity"):
        _native.sampler_start(interval, capacity)
