"""The sampling loop in C: what it keeps, when it stops, and that nothing the call does can hurt it."""

from __future__ import annotations

import gc
import signal
import threading
import time

import pytest

from ridgeline import _native

FAR = 2**62


def rows(number: int) -> bytearray:
    return bytearray(40 * number)


def ints(buffer: bytes | bytearray) -> list[int]:
    return memoryview(buffer).cast("q").tolist()


def test_each_sample_makes_its_calls_and_keeps_its_start_and_end() -> None:
    calls: list[int] = []
    kept = rows(7)
    taken = _native.take_samples(lambda: calls.append(time.monotonic_ns()), None, None, kept, bytearray(), 3, 2, FAR)
    values = ints(kept)
    assert taken == 7
    assert len(calls) == 21
    for sample in range(7):
        start, end = values[5 * sample], values[5 * sample + 1]
        assert start <= calls[3 * sample] <= calls[3 * sample + 2] <= end
        assert sample == 0 or start >= values[5 * sample - 4]


def test_it_stops_after_the_time_is_up_but_takes_one_sample_whatever_the_time() -> None:
    assert _native.take_samples(_native.nothing, None, None, rows(10), bytearray(), 1, 1, 0) == 1
    until = time.monotonic_ns() + 20_000_000
    taken = _native.take_samples(lambda: time.sleep(0.005), None, None, rows(1000), bytearray(), 1, 1, until)
    assert 1 <= taken <= 5
    assert time.monotonic_ns() >= until


def test_results_are_waited_for_inside_and_prepared_for_outside_the_interval() -> None:
    events: list[tuple[str, object]] = []
    kept = rows(2)

    def call() -> object:
        events.append(("call", None))
        return object()

    marks: list[int] = []

    def before(index: int) -> None:
        events.append(("before", index))
        time.sleep(0.002)
        marks.append(time.monotonic_ns())

    def wait(result: object) -> None:
        assert type(result) is object
        events.append(("wait", None))
        marks.append(time.monotonic_ns())

    _native.take_samples(call, wait, before, kept, bytearray(), 2, 1, FAR)
    assert [name for name, _ in events] == ["before", "call", "wait", "call", "wait"] * 2
    assert [value for name, value in events if name == "before"] == [0, 1]
    first = ints(kept)
    assert marks[0] <= first[0] <= marks[1] <= marks[2] <= first[1]


def test_counters_stand_around_blocks_as_far_as_there_is_room() -> None:
    counters = bytearray(80 * 4)  # two blocks of the three
    _native.take_samples(_native.nothing, None, None, rows(5), counters, 1, 2, FAR)
    values = ints(counters)
    times = values[0::10]
    assert all(times)
    assert times == sorted(times)


def test_a_single_reading_is_no_pair() -> None:
    counters = bytearray(80)
    _native.take_samples(_native.nothing, None, None, rows(2), counters, 1, 1, FAR)
    assert not any(ints(counters))


def test_collections_are_counted_with_their_time() -> None:
    gc.callbacks.append(_native.collection_seen)
    try:
        before, kept = _native.collections(), rows(3)
        _native.take_samples(gc.collect, None, None, kept, bytearray(), 1, 1, FAR)
    finally:
        gc.callbacks.remove(_native.collection_seen)
    values = ints(kept)
    assert values[2::5] == [before[0] + 1, before[0] + 2, before[0] + 3]
    spent = values[3::5]
    assert before[1] < spent[0] < spent[1] < spent[2]
    assert spent[2] - before[1] <= sum(end - start for start, end in zip(values[0::5], values[1::5], strict=True))


def test_what_a_call_raises_passes_and_what_was_taken_stays() -> None:
    left = [3]

    def call() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise LookupError("enough")

    kept = rows(10)
    with pytest.raises(LookupError, match="enough"):
        _native.take_samples(call, None, None, kept, bytearray(), 1, 1, FAR)
    starts = ints(kept)[0::5]
    assert all(starts[:3])
    assert not any(starts[3:])
    for broken in ((None, lambda value: 1 / 0, None), (None, None, lambda index: 1 / 0)):
        with pytest.raises(ZeroDivisionError):
            _native.take_samples(_native.nothing, broken[1], broken[2], rows(3), bytearray(), 1, 1, FAR)
    with pytest.raises(ZeroDivisionError):
        _native.take_batch(lambda: 1 / 0, None, 3)
    with pytest.raises(ZeroDivisionError):
        _native.take_batch(_native.nothing, lambda value: 1 / 0, 3)


@pytest.mark.parametrize(
    ("rows_given", "counters", "inner", "block"),
    [
        (bytearray(31), bytearray(), 1, 1),
        (bytearray(40), bytearray(79), 1, 1),
        (bytearray(40), bytearray(), 0, 1),
        (bytearray(40), bytearray(), 1, 0),
    ],
)
def test_wrong_sizes_are_refused(rows_given: bytearray, counters: bytearray, inner: int, block: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        _native.take_samples(_native.nothing, None, None, rows_given, counters, inner, block, FAR)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="callable"):
        _native.take_samples(1, None, None, rows(1), bytearray(), 1, 1, FAR)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="callable"):
        _native.take_batch(_native.nothing, 1, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1"):
        _native.take_batch(_native.nothing, None, 0)
    with pytest.raises(BufferError):
        _native.take_samples(_native.nothing, None, None, b"\0" * 40, bytearray(), 1, 1, FAR)  # type: ignore[arg-type]


def test_a_batch_is_waited_for_once_and_for_its_last_result() -> None:
    made: list[object] = []
    waited: list[object] = []

    def call() -> object:
        made.append(object())
        return made[-1]

    start, end = _native.take_batch(call, waited.append, 5)
    assert len(made) == 5
    assert waited == [made[-1]]
    assert start <= end


def test_no_room_takes_nothing() -> None:
    assert _native.take_samples(lambda: 1 / 0, None, None, bytearray(), bytearray(), 1, 1, FAR) == 0


def test_an_interrupt_gets_through_a_loop_of_calls_in_c() -> None:
    before = signal.signal(signal.SIGALRM, lambda number, frame: (_ for _ in ()).throw(TimeoutError))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with pytest.raises(TimeoutError):
            _native.take_samples(_native.nothing, None, None, rows(20_000_000), bytearray(), 1, 1000, FAR)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_get_their_turn_between_calls_in_c() -> None:
    turns = [0]
    over = threading.Event()

    def beside() -> None:
        while not over.is_set():
            turns[0] += 1

    thread = threading.Thread(target=beside)
    thread.start()
    try:
        seen = turns[0]
        for _ in range(50):
            _native.take_samples(_native.nothing, None, None, rows(200_000), bytearray(), 1, 1000, time.monotonic_ns() + 20_000_000)
            if turns[0] > seen:
                break
        assert turns[0] > seen
    finally:
        over.set()
        thread.join()


def test_a_callable_object_and_a_class_are_called_like_a_function() -> None:
    class Called:
        times = 0

        def __call__(self) -> int:
            Called.times += 1
            return Called.times

    assert _native.take_samples(Called(), None, None, rows(3), bytearray(), 2, 1, FAR) == 3
    assert Called.times == 6
    assert _native.take_samples(dict, None, None, rows(3), bytearray(), 1, 1, FAR) == 3
