"""Which thread ran on which CPU, from the scheduler's switches; other events of the kernel are counted and left out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ridgeline.core import Track

from ..assembling import Assembly, kind_of
from ..wire import fields, signed, varints
from . import messages
from .tracks import Tracks

__all__ = ["Switches"]

_SWITCH, _TIME = 4, 1


class Switches:
    """Switches by CPU: time, thread that goes on, its name."""

    def __init__(self) -> None:
        self._switches: dict[int, list[tuple[int, int, str]]] = {}
        self._other = 0

    def take(self, data: bytes) -> None:
        """`FtraceEventBundle`, in full or in columns."""
        cpu = messages.whole(data, 1)[0]
        found = self._switches.setdefault(cpu, [])
        for event in messages.pairs(data, 2):
            held = {number: value for number, _, value in fields(event)}
            switch = held.get(_SWITCH)
            if isinstance(switch, bytes):
                found.append((signed(messages.whole(event, _TIME)[0]), signed(messages.whole(switch, 6)[0]), messages.text(switch, 5)))
            else:
                self._other += 1
        for compact in messages.pairs(data, 4):
            found.extend(_compact(compact))

    def close(self, assembly: Assembly, tracks: Tracks) -> None:
        """To lanes of CPUs: ranges beside the threads' own, from one switch to the next; the idle thread is none."""
        for cpu, switches in sorted(self._switches.items()):
            switches.sort()
            lane = assembly.lane(Track(name=f"CPU {cpu}", role="ranges"))
            rows = [
                (begun, ended, assembly.name(tracks.thread_name(thread) or name or f"thread {thread}"))
                for (begun, thread, name), (ended, _, _) in pairwise(switches)
                if thread
            ]
            columns = np.array(rows, np.int64).reshape(-1, 3).T
            assembly.add(columns[0], columns[1], name=columns[2], lane=lane, kind=kind_of("annotation"), place=f"switch of CPU {cpu}")
        assembly.leave_out("events of the kernel other than switches between threads", self._other)


def _compact(data: bytes) -> list[tuple[int, int, str]]:
    """`CompactSched`: columns of switches, times as differences."""
    columns = {number: value for number, _, value in fields(data) if isinstance(value, bytes) and number != 5}
    names = [value.decode("utf-8", "replace") for value in messages.pairs(data, 5)]
    time, thread, name = (varints(columns.get(number, b"")).view(np.int64) for number in (1, 3, 6))
    size = min(len(time), len(thread))
    place = name.tolist() if len(name) >= size else [-1] * size
    rows = zip(np.cumsum(time[:size]).tolist(), thread[:size].tolist(), place, strict=False)
    return [(at, number, names[index] if 0 <= index < len(names) else "") for at, number, index in rows]
