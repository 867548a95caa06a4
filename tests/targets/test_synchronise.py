from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

from ridgeline.targets import adapter_for, unfinished


class Later:
    """A result in the manner of JAX."""

    def __init__(self) -> None:
        self.waited = 0

    def block_until_ready(self) -> None:
        self.waited += 1


@dataclasses.dataclass
class Holder:
    first: Any
    second: Any = None


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize("result", [None, 1, "text", [1, 2], {"a": np.ones(3)}, (None, [np.float64(1)]), Holder(1), type, Later])
def test_finished_results_need_nothing(result: Any) -> None:
    assert adapter_for(result) is None
    assert unfinished(result) is None


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: x,
        lambda x: [x],
        lambda x: (1, [None, {"k": x}]),
        lambda x: Holder(1, x),
        lambda x: Pair(x, 2),
        lambda x: OrderedDict(a={"b": [x]}),
        lambda x: {x},
    ],
)
def test_results_are_found_and_waited_for_wherever_they_are(wrap: Any) -> None:
    first = Later()
    wait = adapter_for(wrap(first))
    assert wait is not None
    later = Later()  # of another call
    wait(wrap(later))
    assert (first.waited, later.waited) == (0, 1)


def test_a_future_is_waited_for_and_its_error_raised() -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        futures = [pool.submit(lambda: 1), pool.submit(lambda: 1 / 0)]
        wait = adapter_for(futures)
        assert wait is not None
        with pytest.raises(ZeroDivisionError):
            wait(futures)


def test_several_kinds_at_once() -> None:
    later = Later()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: 1)
        wait = adapter_for([later, future])
        assert wait is not None
        wait([later, future])
    assert later.waited == 1
    assert future.done()


def test_a_circle_ends() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert adapter_for(circle) is None
    assert unfinished(circle) is None


async def coroutine() -> None:
    """Never awaited."""


def lazy_results() -> list[Any]:
    made = coroutine()
    made.close()
    return [(value for value in ()), map(str, [1]), filter(None, [1]), made]


@pytest.mark.parametrize("result", lazy_results(), ids=lambda result: type(result).__name__)
def test_lazy_results_are_warned_about(result: Any) -> None:
    caution = unfinished([1, {"a": result}])
    assert caution is not None
    assert caution.code == "unsynchronised"
    assert type(result).__name__ in caution.message


def test_a_task_nobody_awaits_is_warned_about() -> None:
    loop = asyncio.new_event_loop()
    caution = unfinished(loop.create_future())
    loop.close()
    assert caution is not None


class OnDevice:
    def __init__(self, kind: int) -> None:
        self.kind = kind

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.kind, 0)


@pytest.mark.parametrize(("kind", "warned"), [(1, False), (3, False), (2, True), (8, True), (13, True)])
def test_an_array_on_an_unknown_device_is_warned_about(kind: int, warned: bool) -> None:
    assert (unfinished(OnDevice(kind)) is not None) is warned
