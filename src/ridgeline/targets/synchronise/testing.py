"""For authors of synchronisers: a conformance test class, and a fake library with a device whose clock one sets.

Subclass `SynchroniserConformance` in a test module and give `synchronisers`; a test runner such as pytest finds the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Synchroniser, Wait
from .results import leaves_of, wait_each
from .timer import DeviceTimer, MarkTimer

__all__ = ["Case", "FakeDevice", "FakeResult", "FakeSynchroniser", "SynchroniserConformance"]


class FakeDevice:
    """Works off a queue in no time but its own: `now_s` is what its clock shows when all that was given to it is done."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.waits = 0

    def work(self, seconds: float) -> FakeResult:
        """Give it work."""
        self.now_s += seconds
        return FakeResult(self)

    def mark(self) -> float:
        """An event: the time at which it happens."""
        return self.now_s

    def wait(self, mark: float) -> None:
        """Wait for an event."""
        self.waits += 1

    def elapsed_s(self, first: float, second: float) -> float:
        """Seconds between two events."""
        return second - first


class FakeResult:
    """A result that is done once it was waited for."""

    def __init__(self, device: FakeDevice) -> None:
        self.device, self.done, self.waits = device, False, 0

    def finish(self) -> None:
        """Wait for it."""
        self.done, self.waits = True, self.waits + 1


class FakeSynchroniser(Synchroniser):
    """Of a library whose results are `FakeResult`."""

    def waiting(self, result: Any, leaves: Sequence[Any]) -> Wait | None:
        """Wait for each result."""
        return wait_each(self.knows, lambda leaf: leaf.finish()) if any(self.knows(leaf) for leaf in leaves) else None

    def timer(self, result: Any, leaves: Sequence[Any]) -> Callable[[], DeviceTimer] | None:
        """By the clock of the one device."""
        devices = {id(leaf.device): leaf.device for leaf in leaves if self.knows(leaf)}
        only = next(iter(devices.values())) if len(devices) == 1 else None
        return None if only is None else lambda: MarkTimer(only)

    def knows(self, leaf: Any) -> bool:
        """A `FakeResult`."""
        return isinstance(leaf, FakeResult)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A synchroniser and what it is tried with.

    Attributes:
        synchroniser: made anew.
        call: gives the device work and returns the result, which may not be done.
        is_done: whether the work behind a result is done; never waits.
    """

    synchroniser: Synchroniser
    call: Callable[[], Any]
    is_done: Callable[[Any], bool]


def _fake_case() -> Case:
    device = FakeDevice()
    return Case(synchroniser=FakeSynchroniser(), call=lambda: device.work(0.5), is_done=lambda result: bool(result.done))


class SynchroniserConformance:
    """What every synchroniser must keep; override `cases`."""

    def cases(self) -> Iterable[Case]:
        """What is under test."""
        return (_fake_case(),)

    def test_a_result_is_done_when_it_was_waited_for(self) -> None:
        """The first result, and a later one that it has not seen."""
        for case in self.cases():
            first = case.call()
            wait = _waiting(case, first)
            wait(first)
            assert case.is_done(first)
            later = case.call()
            wait(later)
            assert case.is_done(later)

    def test_waiting_twice_is_possible(self) -> None:
        """The cost of waiting is measured so."""
        for case in self.cases():
            result = case.call()
            wait = _waiting(case, result)
            wait(result)
            wait(result)
            assert case.is_done(result)

    def test_results_are_found_inside_others(self) -> None:
        """In lists, tuples, dicts."""
        for case in self.cases():
            for wrap in (lambda x: [x], lambda x: (1, {"key": [x, None]})):
                result = wrap(case.call())
                wait = _waiting(case, result)
                wait(result)
                assert all(case.is_done(leaf) for leaf in leaves_of(result) if case.synchroniser.knows(leaf))

    def test_its_own_results_are_known_and_no_others(self) -> None:
        """What is known is not warned about; numbers and arrays of the host are nobody's."""
        for case in self.cases():
            leaves = list(leaves_of(case.call()))
            assert any(case.synchroniser.knows(leaf) for leaf in leaves)
            for other in (None, 1, "text", np.ones(3), object()):
                assert not case.synchroniser.knows(other)
                assert case.synchroniser.unfinished(other) == ""

    def test_times_of_the_device_are_times(self) -> None:
        """One a sample, finite, not negative, and none of what lies between two samples."""
        for case in self.cases():
            first = case.call()
            wait = _waiting(case, first)
            wait(first)
            make = case.synchroniser.timer(first, list(leaves_of(first)))
            if make is None:
                continue
            timer = make()
            for _ in range(3):
                timer.begin()
                result = case.call()
                timer.end(result)
                wait(result)
                timer.close()
                between = case.call()
                timer.end(between)
                wait(between)
            seconds = timer.read()
            assert seconds is not None, timer.problem
            assert seconds.shape == (3,)
            assert (seconds >= 0).all()


def _waiting(case: Case, result: Any) -> Wait:
    wait = case.synchroniser.waiting(result, list(leaves_of(result)))
    assert wait is not None, f"{type(case.synchroniser).__name__} does not wait for a {type(result).__name__}"
    return wait
