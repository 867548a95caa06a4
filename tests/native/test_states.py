"""The state sampler: who sleeps for whom. Counts are compared with each other, never with a time."""

from __future__ import annotations

import threading
import time

from ridgeline import _native


def looks(work) -> tuple[int, int, int, int]:
    _native.states_start(0.001)
    try:
        work()
    finally:
        found = _native.states_stop()
    return found


def spin(stop: threading.Event) -> None:
    # Native work that keeps a CPU without the interpreter's lock, as a thread pool does that spins.
    while not stop.is_set():
        _native.clock_rate(0.01, 0)


def test_a_busy_caller_is_awake():
    awake, served, alone, disk = looks(lambda: sum(i * i for i in range(2_000_000)))
    assert awake > served + alone + disk


def test_a_sleep_is_a_sleep_even_beside_a_thread_that_spins():
    stop = threading.Event()
    thread = threading.Thread(target=spin, args=(stop,))
    thread.start()
    try:
        _awake, served, alone, disk = looks(lambda: time.sleep(0.3))
    finally:
        stop.set()
        thread.join()
    assert alone > served + disk


def test_one_who_waits_for_a_working_thread_is_served():
    def wait_for_worker() -> None:
        thread = threading.Thread(target=lambda: [_native.clock_rate(0.05, 0) for _ in range(8)])
        thread.start()
        thread.join()

    _awake, served, alone, disk = looks(wait_for_worker)
    assert served > alone + disk
