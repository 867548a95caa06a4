"""How a timeline is written in Chrome's format: numbers for processes and threads, times as decimals, texts, names of lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
from numpy.typing import NDArray

from ridgeline.core import Track

__all__ = ["OWN_PID", "Clock", "Lanes", "json_text", "metadata", "named"]

#: The process whose lanes are ours; the largest that viewers take.
OWN_PID = 2**31 - 1
_LONGEST_NUMBER = 9


def json_text(value: str) -> str:
    """A JSON string; half of a surrogate pair, which is no text, as a question mark."""
    return msgspec.json.encode(value.encode("utf-8", "replace").decode()).decode()


class Clock:
    """Ticks as decimal microseconds, exactly: a tick is a decimal number of seconds."""

    def __init__(self, tick_s: float) -> None:
        tick_us = Decimal(repr(tick_s)) * 1_000_000
        # The tick as a whole number of 10^-digits microseconds.
        self._digits = max(0, -int(tick_us.as_tuple().exponent))
        self._factor = int(tick_us.scaleb(self._digits))

    def us(self, ticks: NDArray[Any]) -> list[str]:
        """Each as a JSON number, shape (n,)."""
        factor, digits, unit = self._factor, self._digits, 10**self._digits
        if not digits:
            return [str(tick * factor) for tick in ticks.tolist()]
        return [_decimal(tick * factor, unit, digits) for tick in ticks.tolist()]


def _decimal(value: int, unit: int, digits: int) -> str:
    whole, part = divmod(abs(value), unit)
    text = f"{whole}.{part:0{digits}d}".rstrip("0") if part else str(whole)
    return f"-{text}" if value < 0 else text


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """The process and thread numbers of each track: those of the file where they are numbers and nobody else has them.

    `stream`: of a lane of ranges the number of the queue that it lies beside, else its own.
    """

    pid: tuple[int, ...]
    tid: tuple[int, ...]
    stream: tuple[int, ...]

    @classmethod
    def of(cls, tracks: Sequence[Track]) -> Lanes:
        """A process for each process, device and rank; a thread for each track."""
        pids: dict[tuple[str, str, int | None], int] = {}
        taken: dict[int, set[int]] = {}
        pid, tid = [], []
        for track in tracks:
            key = _process_of(track)
            if key not in pids:
                pids[key] = _unused(_device_number(track.device) if track.device else track.process, set(pids.values()))
            process = pids[key]
            thread = _unused(track.thread, taken.setdefault(process, set()))
            taken[process].add(thread)
            pid.append(process)
            tid.append(thread)
        queues = {(*_process_of(track), track.thread): thread for track, thread in zip(tracks, tid, strict=True) if track.role == "queue"}
        stream = [
            queues.get((*_process_of(track), track.thread), thread) if track.role == "ranges" else thread
            for track, thread in zip(tracks, tid, strict=True)
        ]
        return cls(pid=tuple(pid), tid=tuple(tid), stream=tuple(stream))

    def where(self, track: int) -> str:
        """Process and thread of a track, as members of an event."""
        return f'"pid":{self.pid[track]},"tid":{self.tid[track]}'

    def placed(self, index: int, track: Track) -> str:
        """Where on a device a lane is, as the first arguments of its events."""
        if not track.device:
            return '"lane":' + json_text(track.role or "thread")
        number = _device_number(track.device)
        device = number if number.isdecimal() and track.device == f"GPU {number}" else json_text(track.device)
        return f'"device":{device},"stream":{self.stream[index]}'

    def process(self, tracks: Sequence[Track], process: str, device: str) -> int:
        """The number of a process, by its name or that of its device; ours where no track is of it."""
        found = (pid for track, pid in zip(tracks, self.pid, strict=True) if track.process == process and track.device == device)
        return next(found, OWN_PID)


def _process_of(track: Track) -> tuple[str, str, int | None]:
    return track.process, track.device, track.rank


def _device_number(device: str) -> str:
    return device.rpartition(" ")[2]


def _unused(text: str, taken: set[int]) -> int:
    """The number that a text is, or the next free one."""
    wanted = int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER else 1
    while wanted in taken:
        wanted += 1
    return wanted


def metadata(tracks: Sequence[Track], lanes: Lanes) -> Iterator[bytes]:
    """Names of processes and threads, and their order."""
    seen: set[int] = set()
    for track, pid, tid in zip(tracks, lanes.pid, lanes.tid, strict=True):
        if pid not in seen:
            seen.add(pid)
            yield from _process(track, pid, len(seen))
        yield named("thread_name", pid, tid, "name", json_text(track.name))
        yield named("thread_sort_index", pid, tid, "sort_index", str(len(seen)))
    yield named("process_name", OWN_PID, 0, "name", '"ridgeline"')


def _process(track: Track, pid: int, order: int) -> Iterator[bytes]:
    name = f"process {track.process}" if track.process else track.device or "host"
    yield named("process_name", pid, 0, "name", json_text(f"{name}, rank {track.rank}" if track.rank is not None else name))
    if track.device:
        yield named("process_labels", pid, 0, "labels", json_text(track.device))
    yield named("process_sort_index", pid, 0, "sort_index", str(order))


def named(what: str, pid: int, tid: int, key: str, value: str) -> bytes:
    """A metadata event; `value` is JSON."""
    return f'{{"ph":"M","name":"{what}","pid":{pid},"tid":{tid},"ts":0,"args":{{"{key}":{value}}}}}'.encode()
