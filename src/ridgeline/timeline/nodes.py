"""The nodes of a dependency graph: starts and ends of pieces of work, and the moments at which a thread meets something else.

This module decides which boundaries of events are a node and in which order those of one tick stand: ends of work before those of queues that wait,
ends of host events before starts. What comes after what is `edges`' business, how both become a graph `dependencies`'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .edges import Edges, Scene
from .events import Events, is_kind

__all__ = ["Nodes", "places_in", "tick_of"]

Ints = NDArray[np.int64]
#: Numbers of boundaries and of nodes: half the memory of ticks.
Places = NDArray[np.int32]
Flags = NDArray[np.bool_]
#: Places of boundaries at one tick: ends of device work, of queues that wait, of host events; then starts on the host and on devices.
_WORK_END, _SYNC_END, _HOST_END, _HOST_START, _DEVICE_START = range(5)


def tick_of(events: Events, boundary: Ints) -> Ints:
    """The tick of each boundary: of its event's end where it is odd, else of its start."""
    event = boundary // 2
    return np.where(boundary % 2 == 1, events.end[event], events.start[event])


class Nodes:
    """Nodes in order of (tick, phase), and where each boundary is among them.

    Attributes:
        tick, track: of each node, shape (m,); event: of which boundary it is, as 2 × event (+ 1 for an end); on_host: whether it is of a thread.
        middle: node in the middle of each piece of work that another one begins in the tail of, shape (pairs,).
        of: node of each boundary, −1 where it is none, shape (2 × events,).
    """

    def __init__(self, scene: Scene, found: list[Edges], pairs: tuple[Ints, Ints]) -> None:
        work = np.flatnonzero(scene.device)
        met = np.zeros(2 * len(scene.t), dtype=bool)
        for boundaries in [one[at] for one in found for at in range(2)] + [_outermost(scene)]:
            met[boundaries] = True
        ends = np.flatnonzero(met & np.repeat(scene.host, 2))
        moments, inverse = _moments(scene, ends)
        boundary = np.concatenate((2 * work, 2 * work + 1, 2 * pairs[0] + 1, moments))
        tick = tick_of(scene.events, boundary)
        middle = slice(2 * len(work), 2 * len(work) + len(pairs[0]))
        tick[middle] = scene.events.start[pairs[1]]
        phase = _phases(scene, boundary).astype(np.int8)
        phase[middle] = _WORK_END
        order = np.lexsort((phase, tick))
        number = places_in(order)
        self.tick, self.event = tick[order], boundary[order].astype(np.int32)
        self.track = scene.events.track[self.event // 2].astype(np.int32) if len(order) else self.event
        self.on_host = scene.host[self.event // 2] if len(order) else np.zeros(0, dtype=bool)
        self.middle = number[middle]
        self.of = np.full(2 * len(scene.t), -1, dtype=np.int32)
        self.of[boundary[: middle.start]] = number[: middle.start]
        self.of[ends] = number[middle.stop :][inverse]


def places_in(order: Ints) -> Places:
    """The place of each in an order."""
    out = np.empty(len(order), dtype=np.int32)
    out[order] = np.arange(len(order), dtype=np.int32)
    return out


def _moments(scene: Scene, ends: Ints) -> tuple[Ints, Ints]:
    """(one boundary for each moment of a thread, which of them each of the boundaries given is): those of one thread at one tick are one."""
    tick, phase, track = tick_of(scene.events, ends), _phases(scene, ends), scene.events.track[ends // 2] if len(ends) else ends
    order = np.lexsort((phase, tick, track))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any([column[order][1:] != column[order][:-1] for column in (track, tick, phase)], axis=0)
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.cumsum(fresh) - 1
    return ends[order[fresh]], inverse


def _outermost(scene: Scene) -> Ints:
    """First start and last end of each thread, as boundaries; with and without events of no length, which own no segment."""
    long = scene.events.end > scene.events.start
    return np.concatenate((_ends_of_tracks(scene, scene.host), _ends_of_tracks(scene, scene.host & long)))


def _ends_of_tracks(scene: Scene, chosen: Flags) -> Ints:
    at = np.flatnonzero(chosen)
    track = scene.events.track[at]
    first, last = np.lexsort((scene.events.start[at], track)), np.lexsort((scene.events.end[at], track))
    heads = np.unique(track[first], return_index=True)[1]
    tails = len(at) - 1 - np.unique(track[last][::-1], return_index=True)[1]
    return np.concatenate((2 * at[first[heads]], 2 * at[last[tails]] + 1))


def _phases(scene: Scene, boundary: Ints) -> Ints:
    event = boundary // 2
    if not len(event):
        return event.copy()
    ends = (boundary % 2 == 1) & (scene.events.end[event] > scene.events.start[event])
    on_device = np.where(ends, np.where(is_kind(scene.events, "sync")[event], _SYNC_END, _WORK_END), _DEVICE_START)
    return np.where(scene.device[event], on_device, np.where(ends, _HOST_END, _HOST_START))
