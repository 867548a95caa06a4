"""The row of counters: each field against a second source, and threads and forks kept apart."""

import mmap
import os
import resource
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline import _native

Row = NDArray[np.int64]


def read(ends: bool = False) -> Row:
    row = np.full(10, -7, dtype=np.int64)
    _native.counters_read(row.data, ends)
    return row


@pytest.mark.parametrize("ends", [False, True])
def test_all_ten_fields_are_written_and_no_more(ends: bool) -> None:
    row = np.full(12, -7, dtype=np.int64)
    _native.counters_read(row.data, ends)
    assert (row[:10] != -7).all()
    assert (row[10:] == -7).all()


def test_fields_never_run_backwards() -> None:
    rows = np.stack([read(bool(number % 2)) for number in range(200)])
    assert (np.diff(rows, axis=0) >= 0).all()


def test_clocks_are_those_of_python() -> None:
    before = (time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.thread_time_ns(), time.process_time_ns())
    row = read()
    after = (time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.thread_time_ns(), time.process_time_ns())
    assert all(low <= value <= high for low, value, high in zip(before, row[:3].tolist(), after, strict=True))
    assert before[0] <= _native.clock_ns()


def test_run_queue_delay_is_that_of_schedstat() -> None:
    def schedstat() -> int:
        try:
            with open("/proc/thread-self/schedstat") as file:
                return int(file.read().split()[1])
        except OSError:
            return -1

    low = schedstat()
    value = int(read()[3])
    assert low <= value <= schedstat()


def test_switches_and_faults_are_those_of_getrusage() -> None:
    low = resource.getrusage(resource.RUSAGE_THREAD)
    row = read()
    high = resource.getrusage(resource.RUSAGE_THREAD)
    for at, name in ((5, "ru_nivcsw"), (6, "ru_nvcsw"), (7, "ru_minflt"), (8, "ru_majflt")):
        assert getattr(low, name) <= row[at] <= getattr(high, name)


def test_fresh_pages_are_counted_one_by_one() -> None:
    pages = 500
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        before = read()
        for page in range(pages):
            memory[page * mmap.PAGESIZE] = 1
        faults = (read() - before)[7]
    assert pages <= faults <= pages + 50


def test_sleeping_is_a_voluntary_switch_without_cpu() -> None:
    before = read()
    time.sleep(0.03)
    delta = read() - before
    assert delta[6] >= 1
    assert delta[1] < delta[0]


def in_thread(function: Callable[[], Row]) -> Row:
    result: list[Row] = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def test_each_thread_has_its_own_row() -> None:
    read()
    fresh = in_thread(read)
    assert fresh[1] < read()[1]
    assert fresh[2] > fresh[1]


def test_threads_do_not_leak_descriptors() -> None:
    in_thread(read)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        in_thread(read)
    # `join` returns before the destructors of the thread have run, and those close what it had open.
    for _ in range(200):
        if len(os.listdir("/proc/self/fd")) <= before:
            break
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_forked_child_reads_its_own_run_queue() -> None:
    read()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        row = read()
        own = int(open("/proc/thread-self/schedstat").read().split()[1])  # noqa: SIM115
        os.write(writer, b"yes" if row[3] == -1 or own - 10**8 < int(row[3]) <= own else b"no")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 10) == b"yes"
    os.close(reader)


@pytest.mark.parametrize(
    "out",
    [
        np.zeros(9, dtype=np.int64),
        np.zeros(20, dtype=np.int32),
        np.zeros((20, 2), dtype=np.int64)[:, 0],
        bytes(80),
        bytearray(79),
    ],
)
def test_buffers_that_do_not_fit_are_refused(out: object) -> None:
    with pytest.raises(ValueError, match=r"10 int64|contiguous"):
        _native.counters_read(out)  # type: ignore[arg-type]


def test_a_bytearray_of_eighty_bytes_fits() -> None:
    out = bytearray(80)
    _native.counters_read(out)
    assert any(out)


def test_what_is_no_buffer_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        _native.counters_read(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [(), (bytearray(80), True, 1)])
def test_a_buffer_and_at_most_one_more_are_taken(given: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        _native.counters_read(*given)  # type: ignore[arg-type]
