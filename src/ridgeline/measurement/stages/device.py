"""How long the work of a stage took on an asynchronous device: by the device's own events, or by waiting for it.

A stage that only gives work to a queue is over in microseconds while the device works for milliseconds; such a time is never reported. Which devices
have events is decided in `targets.synchronise.clocks`; here, what two events say. The recorder calls `begin` before it starts, `opening` and
`closing` around each stage and `resolved` when all is over. Between a stage's two events lies all that its queue did in the meantime. Of a stage
that names its device that is its device time. Of one that names none it could as well be the end of an earlier stage's work, or a device that waits
while a CPU works: there it counts only where the device was still at it when the program had left the stage, by more than the two clocks are known
against each other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline import _native
from ridgeline.targets.synchronise.clocks import DeviceClock, clock_of, place_of, torch_in_use

__all__ = ["DeviceSpans", "DeviceTimes"]

#: Times that an event is given and waited for to lay two clocks on each other; the quickest counts, since the queue was empty then.
_ROUNDS = 3
#: Stages whose events are kept at a time: a device has only so many.
_MOST_MARKS = 1 << 16
#: What `opening` returns where nothing may be asked of the device, not even to be waited for.
_NOT_NOW = "not now"


@dataclass(frozen=True)
class DeviceSpans:
    """What the device did for each entry, by index into the recorded events.

    Attributes:
        seconds: by the device's own events; NaN where nothing is known.
        start_ns, end_ns: the same on the host's monotonic clock; 0 where nothing is known.
    """

    seconds: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    start_ns: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    end_ns: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class _Laid:
    """A device's clock laid on ours: `origin` happened at `origin_ns`, give or take half of `doubt_ns`. No clock: it must be waited for."""

    clock: DeviceClock | None = None
    origin: Any = None
    origin_ns: int = 0
    doubt_ns: int = 0


@dataclass(frozen=True)
class _Marked:
    """Two events around an entry, and when the second had been given to the device, which was not before the program had left the stage."""

    entry: int
    laid: _Laid
    clock: DeviceClock
    first: Any
    last: Any
    left_ns: int
    named: bool


class DeviceTimes:
    """The device side of one recording.

    Attributes:
        everywhere: whether stages that name no device are timed too, since torch has started one.
        problems: one sentence for each kind of work that could not be timed.
    """

    def __init__(self, wait: Callable[[], Any] | None = None, clock: Callable[[Any], DeviceClock | None] = clock_of) -> None:
        self.everywhere = torch_in_use() is not None
        self.problems: list[str] = []
        self._wait = wait
        self._clock = clock
        self._laid: dict[Hashable, _Laid] = {}
        self._marked: list[_Marked] = []

    def begin(self) -> None:
        """Lay the clock of the device that is in use while its queue is empty, and not inside the first stage."""
        if self.everywhere:
            with contextlib.suppress(Exception):  # a device that is lost is the program's to find
                self._on(place_of(torch_in_use()))

    def opening(self, stage: _native.Stage) -> Any:
        """A mark in front of the stage's work, `None` where its device has no events or it has no device."""
        place = place_of(stage.device if stage.device is not None else torch_in_use())
        if place is None:
            return None
        laid = self._on(place)
        if laid is None:
            return _NOT_NOW
        if laid.clock is None:
            return None
        if len(self._marked) >= _MOST_MARKS:
            self._problem(f"only the first {_MOST_MARKS:,} entries of a call are timed by a device")
            return _NOT_NOW
        mark = laid.clock.mark()
        return _NOT_NOW if mark is None else (laid, laid.clock, mark)

    def closing(self, stage: _native.Stage, opened: Any, entry: int) -> bool:
        """A mark behind it, or waiting; whether it waited, so that the end must be read again."""
        if opened is _NOT_NOW:
            return False
        if opened is not None:
            laid, clock, first = opened
            last = clock.mark()
            if last is None:
                return False
            self._marked.append(_Marked(entry, laid, clock, first, last, _native.clock_ns(), stage.device is not None))
            if stage.synchronise:
                clock.wait(last)
            return stage.synchronise
        if not stage.synchronise and place_of(stage.device) is None:
            return False
        return self._waited(stage.device)

    def resolved(self, events: NDArray[Any]) -> DeviceSpans:
        """What the device did, for events of the recorder; waits until it is done."""
        count = len(events)
        spans = DeviceSpans(np.full(count, np.nan), np.zeros(count, np.int64), np.zeros(count, np.int64))
        places = {int(entry): index for index, entry in enumerate(events["id"])} if self._marked else {}
        for marked in self._marked:
            if marked.entry not in places:
                continue
            index = places[marked.entry]
            try:
                begin_s, length_s = _between(marked)
            except Exception as error:  # whatever a driver raises: the program has had its call, and keeps its other times
                self._problem(f"events of a device could not be read: {str(error).partition(chr(10))[0] or type(error).__name__}")
                continue
            # Work begins at the earliest when it is given, whatever the clocks say.
            start = max(marked.laid.origin_ns + round(begin_s * 1e9), int(events["start_ns"][index]))
            end = start + round(length_s * 1e9)
            if marked.named or end - max(start, marked.left_ns) > marked.laid.doubt_ns:
                spans.seconds[index], spans.start_ns[index], spans.end_ns[index] = length_s, start, end
        return spans

    def _on(self, place: Hashable) -> _Laid | None:
        """The laid clock of a place; `None` where it takes no event now."""
        if place not in self._laid:
            clock = self._clock(place)
            laid = _Laid() if clock is None else _laid(clock)
            if laid is None:
                return None
            self._laid[place] = laid  # keeps the device as well, so that nothing else takes its place
        return self._laid[place]

    def _waited(self, device: Any) -> bool:
        for name in ("synchronize", "synchronise", "finish", "block_until_ready"):
            waiting = getattr(device, name, None)
            if callable(waiting):
                waiting()
                return True
        if self._wait is not None:
            self._wait()
            return True
        self._problem(f"nothing is known of waiting for a {type(device).__name__}" if device is not None else "nothing to wait for was found")
        return False

    def _problem(self, said: str) -> None:
        if said not in self.problems:
            self.problems.append(said)


def _laid(clock: DeviceClock) -> _Laid | None:
    rounds = []
    for _ in range(_ROUNDS):
        before = _native.clock_ns()
        origin = clock.mark()
        if origin is None:
            return None
        clock.wait(origin)
        after = _native.clock_ns()
        rounds.append((after - before, before, origin))
    doubt, before, origin = min(rounds, key=lambda found: found[0])
    return _Laid(clock, origin, before + doubt // 2, doubt)


def _between(marked: _Marked) -> tuple[float, float]:
    """Seconds from the clock's origin to the first event, and from there to the last."""
    marked.clock.wait(marked.first)  # of another stream where the stage changed it: not behind the last then
    marked.clock.wait(marked.last)
    return marked.clock.elapsed_s(marked.laid.origin, marked.first), max(0.0, marked.clock.elapsed_s(marked.first, marked.last))
