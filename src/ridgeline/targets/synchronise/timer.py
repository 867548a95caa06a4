"""`DeviceTimer`: seconds of each sample by the device's own clock, beside the host's.

The host's time of a call has in it what the host did and waited for; the device's own, what the device did from when the call began to give it work.
Nothing is read while the samples are taken: an event is put behind the work of a call before that is waited for, which the device's work hides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .clocks import DeviceClock

__all__ = ["DeviceTimer", "EventTimer", "MarkTimer"]

#: Samples whose events are kept: a device has only so many.
_MOST = 1 << 16


class DeviceTimer(ABC):
    """Times samples by a device's clock.

    `begin()` before the host's clock is read, `end(result)` after the call and before its result is waited for; of several calls in a sample the last
    `end` counts. `close()` where calls come that belong to no sample. `read()` when all are taken and waited for.

    Attributes:
        problem: why `read` has nothing, in one sentence.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._spans: list[tuple[Any, Any]] = []
        self._open = False

    def __len__(self) -> int:
        return len(self._spans)

    def begin(self) -> None:
        """A sample begins."""
        if len(self._spans) >= _MOST:
            self.problem = self.problem or f"no more than {_MOST:,} samples of a process are timed by the device"
        self._open = not self.problem
        if self._open:
            self._spans.append((self._asked(self._first), None))

    def end(self, result: Any = None) -> None:
        """A call of the sample has returned; its work may go on."""
        if self._open and not self.problem:
            self._spans[-1] = (self._spans[-1][0], self._asked(self._last, result))

    def close(self) -> None:
        """What comes now, such as a batch, belongs to no sample."""
        self._open = False

    def read(self) -> NDArray[np.float64] | None:
        """Seconds of each sample by the device, shape (n,); `None` where it does not tell, for all of them if for one."""
        import numpy as np  # late: a process that is measured has no use for it before

        if any(last is None for _, last in self._spans):
            self.problem = self.problem or "a sample has no end on the device"
        if self.problem:
            return None
        seconds = np.asarray(self._asked(lambda: [self._seconds(first, last) for first, last in self._spans]) or [], dtype=np.float64)
        if not self.problem and not (np.isfinite(seconds) & (seconds >= 0)).all():
            self.problem = "the device gave times that are none"
        return None if self.problem else seconds

    @abstractmethod
    def _first(self) -> Any:
        """What stands for the begin."""

    @abstractmethod
    def _last(self, result: Any) -> Any:
        """What stands for the end; `None` where there is nothing."""

    @abstractmethod
    def _seconds(self, first: Any, last: Any) -> float:
        """Between the two; may wait."""

    def _asked(self, question: Any, *given: Any) -> Any:
        try:
            return question(*given)
        except Exception as error:  # whatever a driver raises: the host's times stand without the device's
            said = str(error).partition("\n")[0] or type(error).__name__
            self.problem = self.problem or f"events of the device could not be read: {said}"
            return None


class MarkTimer(DeviceTimer):
    """By events that are put in front of the work and behind it: the time has in it what the device waited for the host in between."""

    def __init__(self, clock: DeviceClock) -> None:
        super().__init__()
        self._clock = clock

    def _first(self) -> Any:
        return self._needed()

    def _last(self, result: Any) -> Any:
        return self._needed()

    def _needed(self) -> Any:
        mark = self._clock.mark()
        if mark is None:
            raise RuntimeError("it takes none now")
        return mark

    def _seconds(self, first: Any, last: Any) -> float:
        self._clock.wait(first)
        self._clock.wait(last)
        return self._clock.elapsed_s(first, last)


class EventTimer(DeviceTimer):
    """By the start and end of commands whose events the call returns: from the first start to the last end.

    Args:
        events: finds them in a result.
        span_s: (start, end) of one that has happened, in seconds of the device's clock.
    """

    def __init__(self, events: Any, span_s: Any) -> None:
        super().__init__()
        self._events, self._span_s = events, span_s

    def _first(self) -> Any:
        return ()

    def _last(self, result: Any) -> Any:
        return self._events(result) or None

    def _seconds(self, first: Any, last: Sequence[Any]) -> float:
        spans = [self._span_s(event) for event in last]
        return float(max(end for _, end in spans) - min(start for start, _ in spans))
