"""Blocks of events, as the tables of a file give them, put together to a `Timeline`.

This module decides what damage of times is (missing, ending before the beginning, lying or lasting far outside all the rest) and counts it; names and
lanes are interned. What an event is, and which event follows which, is for the readers to say. All is columns: no event is an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ridgeline.core import EVENT_KINDS, LINK_KINDS, Column, CounterTrack, Excluded, Links, Marks, Timeline, Track

from .databases import MISSING

__all__ = ["Assembly", "Whole", "kind_of"]

Whole = NDArray[np.int64]
#: Ticks beyond this are no times (73 years in nanoseconds from an origin); differences of those within cannot overflow.
_MOST_TICK = 2**61
#: How many times as long as all the rest together something must be, and how long in seconds at least, to be a fault and no long pause.
_TIMES, _SECONDS = 100, 3600


class Assembly:
    """Collects events, names, lanes and links; `timeline` closes it.

    Args:
        tick_s: seconds of a tick.
    """

    def __init__(self, tick_s: float) -> None:
        self._tick_s = tick_s
        self.strings: dict[str, int] = {}
        self._tracks: dict[Track, int] = {}
        self._blocks: list[dict[str, NDArray[np.generic]]] = []
        self._links: list[tuple[Whole, Whole, int]] = []
        self._marks: list[tuple[Whole, Whole, Whole]] = []
        self._counters: list[CounterTrack] = []
        self._excluded: dict[str, Excluded] = {}
        self._texts: set[str] = set()
        self._places: list[tuple[int, str]] = []
        self._size = 0

    def name(self, text: str) -> int:
        """Index of an interned name."""
        return self.strings.setdefault(text, len(self.strings))

    def names(self, texts: Sequence[str]) -> Whole:
        """Indices of many names, shape (n,)."""
        return np.fromiter((self.strings.setdefault(text, len(self.strings)) for text in texts), np.int64, len(texts))

    def lane(self, track: Track) -> int:
        """Index of a lane; where the names of two are alike, the second gets a number behind it."""
        return self._tracks.setdefault(track, len(self._tracks))

    def add(
        self,
        start: ArrayLike,
        end: ArrayLike,
        *,
        name: ArrayLike,
        lane: ArrayLike,
        kind: ArrayLike,
        numbers: Mapping[str, ArrayLike] | None = None,
        texts: Mapping[str, ArrayLike] | None = None,
        place: str = "",
    ) -> Whole:
        """Add a block of n events.

        Args:
            start, end: ticks, `MISSING` where there is none.
            name, lane: indices by `name` and `lane`; kind: names of kinds' indices in `EVENT_KINDS`; one for all, or shape (n,).
            numbers, texts: further columns; negative numbers and texts of −1 mean that an event has none.
            place: what the rows are called in `Excluded.first`, such as `table OSRT_API row`.

        Returns:
            What the events are called in `link`, shape (n,).
        """
        begun = np.asarray(start, np.int64)
        size = len(begun)
        block: dict[str, NDArray[np.generic]] = {"start": begun, "end": _spread(end, size), "name": _spread(name, size)}
        block |= {"lane": _spread(lane, size), "kind": _spread(kind, size)}
        for key, values in (numbers or {}).items():
            block[key] = _spread(values, size)
        for key, values in (texts or {}).items():
            block[key] = _spread(values, size)
            self._texts.add(key)
        self._blocks.append(block)
        self._places.append((self._size, place))
        self._size += size
        return np.arange(self._size - size, self._size)

    def link(self, source: Whole, target: Whole, kind: str) -> None:
        """Links between events as `add` called them."""
        if len(source):
            self._links.append((source, target, LINK_KINDS.index(kind)))

    def mark(self, tick: Whole, name: Whole, lane: Whole) -> None:
        """Points in time."""
        sound = (tick != MISSING) & (np.abs(tick) < _MOST_TICK)
        self.leave_out("marks without a time", int((~sound).sum()))
        if sound.any():
            self._marks.append((tick[sound], name[sound], lane[sound]))

    def counter(self, name: str, tick: Whole, value: NDArray[np.float64], *, process: str = "", device: str = "") -> None:
        """A number over time; brought into order here."""
        sound = np.isfinite(value) & (tick != MISSING) & (np.abs(tick) < _MOST_TICK)
        self.leave_out("values of counters without a time or a number", int((~sound).sum()))
        order = np.argsort(tick[sound], kind="stable")
        if len(order):
            values = Column(value[sound][order], "1", "float64")
            self._counters.append(
                CounterTrack(name=name, tick=Column(tick[sound][order], "count", "int64"), value=values, process=process, device=device)
            )

    def leave_out(self, reason: str, events: int, total_s: float = 0.0, first: str = "") -> None:
        """Count what is in no figure."""
        if events:
            had = self._excluded.get(reason)
            self._excluded[reason] = Excluded(
                reason=reason,
                events=events + (had.events if had else 0),
                total_s=total_s + (had.total_s if had else 0.0),
                first=(had.first if had else "") or first,
            )

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The lanes so far."""
        return tuple(self._tracks)

    def __len__(self) -> int:
        return self._size

    def timeline(self) -> tuple[Timeline | None, tuple[Excluded, ...]]:
        """The timeline, or `None` where there is nothing in it, and all that is not."""
        kept = self._sound()
        if not kept.any() and not self._marks and not self._counters:
            return None, tuple(self._excluded.values())
        columns = {key: self._column(key)[kept] for key in {key: None for block in self._blocks for key in block}}
        for key in ("start", "end", "name", "lane", "kind"):
            columns.setdefault(key, np.empty(0, np.int64))
        start, end = columns.pop("start").astype(np.int64), columns.pop("end").astype(np.int64)
        name, lane, kind = (columns.pop(key) for key in ("name", "lane", "kind"))
        texts = {key: Column(columns.pop(key), "count", "int32") for key in sorted(self._texts) if key in columns}
        return Timeline(
            tick_s=self._tick_s,
            start_tick=Column(start, "count", "int64"),
            duration_tick=Column(end - start, "count", "int64"),
            name=Column(name, "count", "int32"),
            track=Column(lane, "count", "int32"),
            strings=tuple(self.strings),
            tracks=self._lanes(),
            links=self._kept_links(kept),
            kind=Column(kind, "count", "uint8"),
            numbers={key: Column(values, "B" if key == "bytes" else "1") for key, values in columns.items()},
            texts=texts,
            marks=self._kept_marks(),
            counters=tuple(self._counters),
        ), tuple(self._excluded.values())

    def _lanes(self) -> tuple[Track, ...]:
        made: list[Track] = []
        taken: set[str] = set()
        for track in self._tracks:
            name, number = track.name, 2
            while name in taken:
                name, number = f"{track.name} ({number})", number + 1
            taken.add(name)
            made.append(msgspec.structs.replace(track, name=name))
        return tuple(made)

    def _column(self, key: str) -> NDArray[np.generic]:
        parts = [block[key] if key in block else np.full(len(block["start"]), -1, np.int64) for block in self._blocks]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _sound(self) -> NDArray[np.bool_]:
        """Which events have times that can be believed; the others are counted."""
        start, end = self._column("start").astype(np.int64), self._column("end").astype(np.int64)
        there = (np.abs(start) < _MOST_TICK) & (np.abs(end) < _MOST_TICK) & (start != MISSING) & (end != MISSING)
        self._tell("times that are missing, or no times", ~there)
        forward = there & (end >= start)
        self._tell("ending before they begin", there & ~forward)
        least = max(1, int(_SECONDS / self._tick_s))
        outside = _far_off(start, end, forward, least)
        self._tell(f"times more than {_TIMES} times as far off, or as long, as all the rest together", outside)
        sound: NDArray[np.bool_] = forward & ~outside
        return sound

    def _tell(self, reason: str, which: NDArray[np.bool_]) -> None:
        count = int(which.sum())
        if count:
            self.leave_out(reason, count, first=self._place(int(np.argmax(which))))

    def _place(self, event: int) -> str:
        begun, place = max((each for each in self._places if each[0] <= event), default=(0, ""))
        return f"{place} {event - begun + 1}".strip() if place else f"event {event}"

    def _kept_links(self, kept: NDArray[np.bool_]) -> Links | None:
        if not self._links:
            return None
        source, target = (np.concatenate([link[side] for link in self._links]) for side in (0, 1))
        kind = np.concatenate([np.full(len(link[0]), link[2], np.uint8) for link in self._links])
        whole = kept[source] & kept[target] & (source != target)
        position = np.cumsum(kept) - 1
        return Links(
            source=Column(position[source[whole]], "count", "int64"),
            target=Column(position[target[whole]], "count", "int64"),
            kind=Column(kind[whole], "count", "uint8"),
        )

    def _kept_marks(self) -> Marks | None:
        if not self._marks:
            return None
        tick, name, lane = (np.concatenate([mark[index] for mark in self._marks]) for index in range(3))
        return Marks(tick=Column(tick, "count", "int64"), name=Column(name, "count", "int32"), track=Column(lane, "count", "int32"))


def kind_of(name: str) -> int:
    """Index of a kind of event."""
    return EVENT_KINDS.index(name)


def _spread(values: ArrayLike, size: int) -> NDArray[np.generic]:
    array = np.asarray(values)
    return np.full(size, array) if array.ndim == 0 else array


def _far_off(start: Whole, end: Whole, among: NDArray[np.bool_], least: int) -> NDArray[np.bool_]:
    """Events that lie, or last, `_TIMES` times as far as all the others together, and `least` ticks at least."""
    outside = np.zeros(len(start), np.bool_)
    rows = np.flatnonzero(among)
    if len(rows) < 3:
        return outside
    # Far off: the largest hole between two beginnings parts the few from the many.
    order = rows[np.argsort(start[rows], kind="stable")]
    while len(order) >= 3:
        holes = np.diff(start[order])
        at = int(np.argmax(holes)) + 1
        many, few = (order[at:], order[:at]) if at <= len(order) // 2 else (order[:at], order[at:])
        span = int(start[many[-1]] - start[many[0]])
        if len(few) * 2 >= len(many) or holes[at - 1] < least or holes[at - 1] < _TIMES * max(span, 1):
            break
        outside[few] = True
        order = many
    # Too long: by rising length, each against the window of all the shorter ones.
    length = (end - start)[order]
    order = order[np.argsort(length, kind="stable")]
    length = (end - start)[order]
    window = np.maximum.accumulate(end[order]) - np.minimum.accumulate(start[order])
    long = (length[1:] >= least) & (length[1:] // _TIMES > np.maximum(window[:-1], 1))
    long[: max(0, len(order) // 2)] = False  # the many say what is usual
    if long.any():
        outside[order[1 + int(np.argmax(long)) :]] = True
    return outside
