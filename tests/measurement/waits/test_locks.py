"""Watched locks do everything a lock does, and tell when they are contended."""

from __future__ import annotations

import _thread
import copy
import os
import pickle
import queue
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from ridgeline.measurement.waits.tally import Recorder
from ridgeline.measurement.waits.wrapping import Wrapping

REAL_LOCK, REAL_RLOCK, REAL_SLEEP = threading.Lock, threading.RLock, time.sleep


@pytest.fixture
def recorder():
    recorder = Recorder((__file__,))
    with Wrapping(recorder) as wrapping:
        recorder.wrapping = wrapping
        yield recorder
    assert threading.Lock is REAL_LOCK
    assert threading.RLock is REAL_RLOCK
    assert time.sleep is REAL_SLEEP


@pytest.fixture(params=["Lock", "RLock"])
def lock(recorder, request):
    return getattr(threading, request.param)()


def sums_of(recorder, kind):
    return {key: found for tally in recorder.tallies for key, found in tally.sums.items() if key[0] == kind and found.calls}


def wait_until(question):
    deadline = time.monotonic() + 20
    while not question():
        assert time.monotonic() < deadline
        REAL_SLEEP(0.001)


def waits_now(recorder, kind):
    return any(tally.key is not None and tally.key[0] == kind for tally in list(recorder.tallies))


def test_it_locks(lock):
    taken = []
    with lock:
        thread = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
    assert taken == [False]
    assert lock.acquire(timeout=1)
    lock.release()
    with pytest.raises(RuntimeError):
        lock.release()
    with pytest.raises(ValueError, match="timeout"):
        lock.acquire(True, -5)
    with lock, ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="non-blocking"):
        pool.submit(lock.acquire, False, 5).result()


def test_only_one_thread_is_inside_at_a_time(lock):
    inside, most = [], []

    def enter():
        for _ in range(200):
            with lock:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) == 800


def test_a_timeout_ends(lock):
    with lock, ThreadPoolExecutor(1) as pool:
        assert pool.submit(lock.acquire, True, 0.01).result() is False


def test_an_rlock_is_entered_again_by_its_owner(recorder):
    lock = threading.RLock()
    recorder.wrapping.locks.mark()
    with lock, lock:
        assert lock._is_owned()
        assert lock.book.owner == threading.get_ident()
    assert not lock._is_owned()
    assert lock.book.acquisitions == 1


def test_a_condition_on_it_waits_and_wakes(lock):
    condition, said = threading.Condition(lock), []

    def listen():
        with condition:
            assert condition.wait_for(lambda: said, timeout=20)
            said.append("heard")

    thread = threading.Thread(target=listen)
    thread.start()
    with condition:
        said.append("hello")
        condition.notify_all()
    thread.join()
    assert said == ["hello", "heard"]


def test_a_condition_gives_a_nested_rlock_up_and_takes_it_back(recorder):
    lock = threading.RLock()
    condition = threading.Condition(lock)
    with lock, condition:
        assert condition.wait(0.01) is False
        assert lock._is_owned()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lock.acquire, False).result()


def test_it_is_of_the_type_of_a_lock(recorder):
    kind = type(threading.Lock())
    assert isinstance(threading.Lock(), kind)
    assert isinstance(_thread.allocate_lock(), kind)
    assert not isinstance(3, kind)
    assert isinstance(threading.RLock(), type(REAL_RLOCK()))


def test_it_is_not_pickled_or_copied(lock):
    for take in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(TypeError, match="cannot pickle"):
            take(lock)


def test_it_can_be_held_weakly(lock):
    assert weakref.ref(lock)() is lock


def test_it_survives_a_fork(lock):
    lock.acquire()
    child = os.fork()
    if child == 0:
        lock._at_fork_reinit()
        os._exit(0 if lock.acquire(blocking=False) else 1)
    lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_standard_library_keeps_its_own(recorder):
    for made in (queue.Queue().mutex, threading.Event()._cond._lock, threading.Semaphore()._cond._lock):
        assert type(made) is _thread.LockType
    assert threading.Condition()._lock.book is not None


def test_a_contended_wait_is_counted_with_the_holders_line(recorder):
    lock, go = threading.Lock(), threading.Event()

    def hold():
        with lock:
            go.set()
            wait_until(lambda: waits_now(recorder, "lock"))

    recorder.wrapping.locks.mark()
    with recorder:
        thread = threading.Thread(target=hold)
        thread.start()
        go.wait()
        with lock:
            pass
        for _ in range(10):
            with lock:
                pass
        thread.join()
    ((key, found),) = sums_of(recorder, "lock").items()
    assert found.calls == 1
    assert key[1] is lock
    assert key[2][0].co_name == "test_a_contended_wait_is_counted_with_the_holders_line"
    assert [place[0].co_name for place in found.holders] == ["wait_until"]
    assert lock.acquisitions == 12
    assert not lock.elsewhere


def test_a_lock_that_others_give_back_is_a_signal(recorder):
    lock = threading.Lock()
    with recorder:
        lock.acquire()
        thread = threading.Thread(target=lock.release)
        thread.start()
        thread.join()
    assert lock.elsewhere


def test_the_outermost_wait_is_the_one_that_counts(recorder):
    items = queue.Queue()
    with recorder:
        thread = threading.Thread(target=lambda: (wait_until(lambda: waits_now(recorder, "queue")), items.put(1)))
        thread.start()
        items.get()
        thread.join()
    assert [found.calls for key, found in sums_of(recorder, "queue").items() if key[1] == "queue.Queue.get"] == [1]
    # (starting a thread waits for its event, which is a wait of its own)
    assert "threading.Condition.wait" not in {key[1] for key in sums_of(recorder, "condition")}


def test_a_sleep_of_no_length_is_no_wait(recorder):
    with recorder:
        time.sleep(0)
        time.sleep(0.002)
    assert [found.calls for found in sums_of(recorder, "sleep").values()] == [1]


def test_nothing_is_recorded_outside(recorder):
    time.sleep(0.001)
    assert recorder.tallies == []


def test_a_future_knows_its_pool(recorder):
    go = threading.Event()
    with ThreadPoolExecutor(3) as pool, recorder:
        first, second = pool.submit(go.wait), pool.submit(go.wait)
        thread = threading.Thread(target=lambda: (wait_until(lambda: waits_now(recorder, "future")), go.set()))
        thread.start()
        first.result()
        second.result()
        thread.join()
    (found,) = [sums for key, sums in sums_of(recorder, "future").items() if key[1].startswith("a future of")][:1]
    assert (found.capacity, found.in_flight) == (3, 2)
