"""Tracks of a Perfetto trace: descriptors to lanes, with the names of processes and threads wherever a packet gives them."""

from __future__ import annotations

import re

from ridgeline.core import Track

from ..wire import signed
from . import messages

__all__ = ["Tracks"]

#: Tracks that a profiler of a GPU sets for its device, by their name: Perfetto itself knows only threads and counters.
_DEVICE = re.compile(r"\b(?P<type>GPU|NPU|TPU|AGENT)\s*\[?(?P<number>\d+)\]?", re.IGNORECASE)
_QUEUE = re.compile(r"\b(?:queue|stream|compute|copy|kernel)\b", re.IGNORECASE)
_DEEP = 32


class Tracks:
    """What is known of tracks, processes and threads so far."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._parents: dict[int, int] = {}
        self._threads: dict[int, tuple[int, int]] = {}
        self._processes: dict[int, int] = {}
        self._units: dict[int, str] = {}
        self._thread_names: dict[tuple[int, int], str] = {}
        self._by_thread: dict[int, str] = {}
        self._process_names: dict[int, str] = {}

    def describe(self, data: bytes) -> None:
        """`TrackDescriptor`."""
        track, parent = messages.whole(data, 1, 5)
        name = messages.text(data, 2, 10, 13)
        if name:
            self._names[track] = name
        if parent:
            self._parents[track] = parent
        for thread in messages.pairs(data, 4):
            self._threads[track] = self.thread(thread)
        for process in messages.pairs(data, 3):
            self._processes[track] = self.process(process)
        for counter in messages.pairs(data, 8):
            self._units[track] = messages.text(counter, 6)

    def thread(self, data: bytes) -> tuple[int, int]:
        """`ThreadDescriptor`: process and thread."""
        process, thread = (signed(value) for value in messages.whole(data, 1, 2))
        self._named(process, thread, messages.text(data, 5))
        return process, thread

    def _named(self, process: int, thread: int, name: str) -> None:
        if name:
            self._thread_names[process, thread] = name
            self._by_thread[thread] = name

    def process(self, data: bytes) -> int:
        """`ProcessDescriptor`: the process."""
        process = signed(messages.whole(data, 1)[0])
        name = messages.text(data, 6) or messages.text(data, 2)
        if name:
            self._process_names[process] = name
        return process

    def tree(self, data: bytes) -> None:
        """`ProcessTree`."""
        for process in messages.pairs(data, 1):
            self._process_names.setdefault(messages.whole(process, 1)[0], messages.text(process, 3))
        for each in messages.pairs(data, 2):
            thread, owner = messages.whole(each, 1, 3)
            self._named(owner, thread, messages.text(each, 2))

    def thread_name(self, thread: int) -> str:
        """Name of a thread by its number alone."""
        return self._by_thread.get(thread, "")

    def lane(self, key: object) -> Track:
        """The lane of a track by its number, of a thread by (process, thread), or of an asynchronous event by (process, kind of number, number)."""
        if isinstance(key, tuple) and len(key) == 3:
            return Track(name=f"process {key[0]} asynchronous {key[2]}", role="ranges", process=str(key[0]), thread=str(key[2]))
        if isinstance(key, tuple):
            return self._of_thread(*key)
        if isinstance(key, int) and key in self._threads:
            return self._of_thread(*self._threads[key])
        chain = self._chain(key)
        number = next((self._processes[each] for each in chain if each in self._processes), None)
        process = "" if number is None else str(number)
        owner = self._process_names.get(number, "") if number is not None else ""
        name = " / ".join(self._names[each] for each in reversed(chain) if each in self._names) or owner or f"track {key}"
        device = self.device(key)
        return Track(name=name, device=device, role="queue" if device else "ranges", process=process, thread=str(key))

    def device(self, key: object) -> str:
        """The device that a track belongs to by its name or those above it; empty for threads and all else."""
        chain = self._chain(key)
        if isinstance(key, tuple) or key in self._threads:
            return ""
        text = " / ".join(self._names.get(each, "") for each in reversed(chain))
        found = _DEVICE.search(text)
        return f"GPU {found['number']}" if found and _QUEUE.search(text) else ""

    def counter(self, track: int) -> tuple[str]:
        """Name of a counter, with its unit."""
        unit = self._units.get(track, "")
        name = " / ".join(self._names[each] for each in reversed(self._chain(track)) if each in self._names) or f"counter {track}"
        return (f"{name} ({unit})" if unit else name,)

    def _chain(self, key: object) -> list[int]:
        """A track and those above it."""
        chain: list[int] = []
        while isinstance(key, int) and key and key not in chain and len(chain) < _DEEP:
            chain.append(key)
            key = self._parents.get(key, 0)
        return chain

    def _of_thread(self, process: int, thread: int) -> Track:
        name = self._thread_names.get((process, thread), "")
        label = f"process {process} thread {thread}" + (f" ({name})" if name else "")
        return Track(name=label, role="thread", process=str(process), thread=str(thread))
