"""Records the stages of one call of a target at a time: what happened, as arrays; what it means is left to `table`.

One recorder runs in a process at a time; it hears all threads. In the child of a fork it is forgotten, since what the child does reaches nobody.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline import _native

from .children import ChildProcesses
from .device import DeviceSpans, DeviceTimes

__all__ = ["EVENT", "MODEL", "Recording", "recording"]

# The layout of `struct event` in src/native/stages.c.
_INT64 = ("id", "parent", "start_ns", "end_ns", "cpu_ns", "process_cpu_ns")
_INT32 = ("name", "lane", "sample_from", "sample_to")
EVENT = np.dtype([*((name, "i8") for name in _INT64), *((name, "i4") for name in _INT32)])
#: What a call may enter; beyond it entries are counted and not kept (128 MiB).
_MOST_EVENTS = 1 << 21
_OTHER = "(other stages)"
#: What the names of calls of models begin with until they are shown, so that a stage that a program calls the same is kept apart.
MODEL = "\x1f"
#: `LONGEST_NAME` of stages.c, here for the names of threads.
_LONGEST_NAME = 120


@dataclass
class Recording:
    """What one recorded stretch holds.

    Attributes:
        events: finished entries in the order in which they ended, dtype `EVENT`; times in ns of the monotonic clock.
        names: of stages, by the events' index; fit to be shown.
        models: those of these indices that are calls of models and not the program's own stages.
        sites: (file, line, function) that entered each name first.
        lanes: names of threads, by the events' index.
        idents: the same threads as `threading.get_ident` knows them.
        device: what an asynchronous device did for each of them.
        start_ns, end_ns: of the stretch.
        missed: entries that did not fit.
        merged: entries whose names came after the last that is kept apart; they share the name `(other stages)`.
        unfinished: entries that were still open at the end, by name.
        children: child processes that were seen, at least; their stages are not.
        problems: devices whose work could not be timed, one sentence each.
    """

    events: NDArray[Any] = field(default_factory=lambda: np.zeros(0, EVENT))
    names: tuple[str, ...] = ()
    models: frozenset[int] = frozenset()
    sites: tuple[tuple[str, int, str] | None, ...] = ()
    lanes: tuple[str, ...] = ()
    idents: tuple[int, ...] = ()
    device: DeviceSpans = field(default_factory=DeviceSpans)
    start_ns: int = 0
    end_ns: int = 0
    missed: int = 0
    merged: int = 0
    unfinished: dict[str, int] = field(default_factory=dict)
    children: int = 0
    problems: tuple[str, ...] = ()

    @property
    def entered(self) -> bool:
        """Whether any stage was entered."""
        return len(self.events) > 0 or self.missed > 0 or bool(self.unfinished)

    @property
    def marked(self) -> bool:
        """Whether any stage of the program's own was entered."""
        return self.entered and len(self.models) < len(self.names) - 1  # the last is `(other stages)`


@contextmanager
def recording(
    *, wait: Callable[[], Any] | None = None, resources: bool = False, most: int = _MOST_EVENTS, devices: DeviceTimes | None = None
) -> Iterator[Recording]:
    """Record every stage while the block runs; the yielded object is filled in when it ends.

    Args:
        wait: waits for the device that the target's results live on; called at the end of every stage that says `synchronise`, or names a device
            without events of its own.
        resources: read CPU clocks and the count of program counters at both ends too (costs about 1 µs a stage).
        most: entries kept.
        devices: how devices are timed, a fake one in tests.

    Raises:
        RuntimeError: a recorder runs already.
    """
    times = devices or DeviceTimes(wait)
    found = Recording()
    idents: list[int] = []

    def lane() -> str:
        idents.append(threading.get_ident())
        return threading.current_thread().name

    children = ChildProcesses()
    times.begin()
    _native.stages_start(most, resources, times.everywhere, lane, times.opening, times.closing)
    found.start_ns = _native.clock_ns()
    try:
        yield found
    finally:
        found.end_ns = _native.clock_ns()
        raw, names, sites, lanes, found.missed, still_open = _native.stages_stop()
        found.children = children.used()
        events = np.frombuffer(raw, EVENT).copy()
        # −1 is what came after the last name that is kept.
        found.merged = int((events["name"] < 0).sum())
        events["name"][events["name"] < 0] = len(names)
        found.models = frozenset(index for index, name in enumerate(names) if name.startswith(MODEL))
        found.names, found.sites, found.lanes = (*(shown(n.removeprefix(MODEL)) for n in names), _OTHER), (*sites, None), tuple(map(shown, lanes))
        found.idents = tuple(idents)
        for index in np.flatnonzero(still := np.frombuffer(still_open, np.int64)):
            name = found.names[min(int(index), len(names))]
            found.unfinished[name] = found.unfinished.get(name, 0) + int(still[index])
        found.events, found.device = events, times.resolved(events)
        found.problems = tuple(times.problems)


def shown(name: str) -> str:
    """A name as it may be printed and written: no control characters, no half characters, not endless.

    >>> shown("a\\x1b[31mb")
    'a�[31mb'
    """
    clean = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name[: _LONGEST_NAME + 1])
    clean = clean.encode("utf-8", "replace").decode()
    return clean if len(clean) <= _LONGEST_NAME else clean[: _LONGEST_NAME - 1] + "…"


os.register_at_fork(after_in_child=_native.stages_discard)
