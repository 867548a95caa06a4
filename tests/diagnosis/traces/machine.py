"""A host thread and the queues of devices, played forwards on a clock of its own: what a recorder would have seen of a known program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ridgeline.core import Timeline, Track
from timeline.building import HOST, stream, timeline_of

#: Ticks (ns) from the end of a launch to its work, that a call to launch takes, and by which a host wakes after what it waited for.
LATENCY, CALL, WAKE = 3_000, 5_000, 2_000


class Machine:
    """Actions of one host thread, in order; queues do their work as soon as it was launched and they are free."""

    def __init__(self, *, wake: int = WAKE, devices: int = 1) -> None:
        self.now, self.wake, self.devices = 0, wake, devices
        self.rows: list[list[object]] = []
        self.links: list[tuple[int, int, str]] = []
        self.free: dict[Track, int] = {}
        self.last: dict[Track, int] = {}

    def event(self, track: Track, kind: str, name: str, start: int, end: int) -> int:
        self.rows.append([track, kind, name, start, end])
        return len(self.rows) - 1

    @contextmanager
    def inside(self, kind: str, name: str) -> Iterator[None]:
        at = self.event(HOST, kind, name, self.now, self.now)
        yield
        self.rows[at][4] = self.now

    def host(self, kind: str, name: str, ticks: int) -> None:
        self.event(HOST, kind, name, self.now, self.now + ticks)
        self.now += ticks

    def launch(self, name: str, ticks: int, *, kind: str = "compute", queue: int = 7, device: int = 0, after: int | None = None) -> None:
        self.replay([(name, ticks, kind)], queue=queue, device=device, after=after)

    def replay(self, work: list[tuple[str, int, str]], *, queue: int = 7, device: int = 0, after: int | None = None, pause: int = 500) -> None:
        """One call that starts work, piece after piece; `after` is a queue whose last piece it waits for."""
        call = self.event(HOST, "runtime", "launch", self.now, self.now + CALL)
        self.now += CALL
        track = stream(queue, device)
        ready = self.now + LATENCY
        needed = self.last.get(stream(after, device)) if after is not None else None
        if needed is not None:
            ready = max(ready, int(self.rows[needed][4]))
        for number, (name, ticks, kind) in enumerate(work):
            start = max(ready, self.free.get(track, 0)) + (pause if number else 0)
            piece = self.event(track, kind, name, start, start + ticks)
            self.links.append((call, piece, "launch"))
            if needed is not None and not number:
                self.links.append((needed, piece, "signal"))
            self.free[track], self.last[track] = start + ticks, piece

    def op(
        self, name: str, before: int, kernel: str, ticks: int, *, kind: str = "compute", queue: int = 7, device: int = 0, after: int | None = None
    ) -> None:
        """An operator that takes a while and then launches its kernel."""
        with self.inside("operator", name):
            self.now += before
            self.launch(kernel, ticks, kind=kind, queue=queue, device=device, after=after)

    def sync(self, queue: int = 7, device: int = 0) -> None:
        start, track = self.now, stream(queue, device)
        self.now = max(self.now, self.free.get(track, 0)) + self.wake
        at = self.event(HOST, "wait", "synchronize", start, self.now)
        if track in self.last:
            self.links.append((self.last[track], at, "wait"))

    @property
    def end(self) -> int:
        return max([self.now, *self.free.values()])

    def timeline(self) -> Timeline:
        return timeline_of([tuple(row) for row in self.rows], self.links)  # type: ignore[misc]
