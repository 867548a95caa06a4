"""`Iteration`: one instrumented call of the target as events that all know what they saw.

Taking details costs more than the operation where arrays are small, so most calls are recorded without; their events get the details of a call that
ran through the same sites in the same order. Where a call took another way, nothing is lent and the caller records with details instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .capture import Seen
from .tape import Event, Tape

__all__ = ["NO_KIND", "Iteration", "RowKey", "Track", "lend", "ordered", "row_key", "same_way", "snapshot"]

#: What executions of one row have in common: place, kind, shapes, and which operands are the same memory.
RowKey = tuple[object, ...]
NO_KIND = Seen(kind="other", arrays=False)


@dataclass(frozen=True, kw_only=True)
class Track:
    """What one thread did: whether it called the target, its events, and what did not fit by site as (count, exclusive ns)."""

    main: bool
    events: list[Event]
    beyond: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Iteration:
    """Wall in ns by the recorder's clock and by an independent one, and the threads that recorded."""

    wall_ns: int
    check_ns: int
    tracks: tuple[Track, ...]


def snapshot(tapes: Sequence[tuple[bool, Tape]]) -> tuple[Track, ...]:
    """The tapes as they are now."""
    return tuple(Track(main=main, events=tape.events, beyond=tape.beyond) for main, tape in tapes)


def same_way(one: Iteration, other: Iteration) -> bool:
    """Whether two calls went through the same sites in the same order, thread by thread."""
    return [[event.site for event in track.events] for track in one.tracks] == [[event.site for event in track.events] for track in other.tracks]


def lend(detailed: Iteration, plain: Iteration) -> Iteration:
    """`plain` with what `detailed` saw, which must have gone the same way."""
    tracks = [
        Track(main=to.main, beyond=to.beyond, events=[event._replace(seen=known.seen) for event, known in zip(to.events, by.events, strict=True)])
        for to, by in zip(plain.tracks, detailed.tracks, strict=True)
    ]
    return Iteration(wall_ns=plain.wall_ns, check_ns=plain.check_ns, tracks=tuple(tracks))


def ordered(iteration: Iteration) -> list[Event]:
    """Events of all threads by their start."""
    return sorted((event for track in iteration.tracks for event in track.events), key=lambda event: event.start_ns)


def row_key(event: Event) -> RowKey:
    """Executions with equal keys are one row of the table."""
    seen = event.seen or NO_KIND
    shapes = (tuple((a.shape, a.dtype) for a in seen.inputs), tuple((a.shape, a.dtype) for a in seen.outputs))
    return (event.site, seen.kind, *shapes, _same(seen) if len(seen.inputs) > 1 else ())


def _same(seen: Seen) -> tuple[int, ...]:
    """For each operand the first that starts at the same place: one that is used twice is read once, and half a product with its own transpose."""
    places = [(array.buffer, array.offset) for array in seen.inputs]
    return tuple(places.index(place) for place in places)
