"""speedscope's own JSON, all versions from 0.0.1 on: sampled and evented profiles over shared frames.

This module decides what a profile of it means: one `Stacks` each, and a `Timeline` of the evented ones. A profile whose events do not nest, do not
follow in time or do not end is left out whole, with the place: parts of it would be guesses. Format: speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from ridgeline.core import Frame, Profile, Stacks, Timeline

from .source import Source
from .spans import SpanTrack, spans_timeline
from .stacking import LeftOut, StackTree, believable, nothing

__all__ = ["Speedscope"]

_SCHEMA = re.compile(rb'"\$schema"\s*:\s*"https?:\\?/\\?/www\.speedscope\.app')
_SHARED = re.compile(rb'"shared"\s*:\s*\{\s*"frames"\s*:\s*\[')
_PROFILES = re.compile(rb'"type"\s*:\s*"(?:evented|sampled)"')
#: Unit of a file → our unit and how many of the file's make one.
_UNITS = {
    "nanoseconds": ("s", 10**9), "microseconds": ("s", 10**6), "milliseconds": ("s", 10**3), "seconds": ("s", 1), "bytes": ("B", 1),
    "none": ("count", 1),
}  # fmt: skip
_PYTHON_TOOLS = ("py-spy", "austin", "pyinstrument", "scalene", "viztracer", "cprofile", "pyroscope")
_UNBELIEVABLE = "weights that are not between 0 and 2⁶³"


class _Frame(msgspec.Struct):
    name: str
    file: str | None = None
    line: int | None = None


class _Event(msgspec.Struct, gc=False):
    type: Literal["O", "C"]
    frame: int
    at: int | float


class _Evented(msgspec.Struct, tag_field="type", tag="evented", rename="camel"):
    events: list[_Event]
    unit: str = "none"
    name: str = ""
    start_value: int | float = 0
    end_value: int | float = 0


class _Sampled(msgspec.Struct, tag_field="type", tag="sampled", rename="camel"):
    samples: list[list[int]]
    weights: list[int | float]
    unit: str = "none"
    name: str = ""
    start_value: int | float = 0
    end_value: int | float = 0


class _Shared(msgspec.Struct):
    frames: list[_Frame]


class _File(msgspec.Struct, rename="camel"):
    shared: _Shared
    profiles: list[_Evented | _Sampled]
    name: str | None = None
    exporter: str | None = None
    version: str | None = None
    active_profile_index: int | None = None


class Speedscope:
    """Reads speedscope files."""

    format = "speedscope"
    title = "speedscope (py-spy, rbspy, austin, …)"

    def recognises(self, source: Source) -> int:
        """By the address of its schema; else by shared frames or a typed profile."""
        head = source.head
        if not head.lstrip().startswith(b"{"):
            return 0
        if _SCHEMA.search(head):
            return 100
        return 75 if _SHARED.search(head) else 40 if b'"profiles"' in head and _PROFILES.search(head) else 0

    def read(self, source: Source) -> Profile:
        """Read all profiles of a file.

        Raises:
            ReadError: damaged JSON (with the byte), or no profile that holds together (with the place).
        """
        try:
            file = msgspec.json.decode(source.data.removeprefix(b"\xef\xbb\xbf"), type=_File, strict=True)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise source.damaged("a speedscope file", str(error)) from error
        reading = _Reading(source, file)
        for place, profile in enumerate(file.profiles):
            reading.one(profile, f"profiles[{place}]")
        if not reading.stacks:
            raise nothing(source, "a profile of speedscope with weights", reading.left_out.listed)
        facts = {"name": file.name} if file.name else {}
        return Profile(
            format=self.format, files=(source.name,), tool=(file.exporter or "").replace("@", " ", 1), stacks=tuple(reading.stacks),
            timeline=reading.timeline(), facts=facts, excluded=reading.left_out.listed,
        )  # fmt: skip


class _Reading:
    """What the profiles of one file give."""

    def __init__(self, source: Source, file: _File) -> None:
        self.left_out = LeftOut()
        self.stacks: list[Stacks] = []
        self._source, self._file = source, file
        self._python = (file.exporter or "").lower().startswith(_PYTHON_TOOLS)
        self._tracks: list[SpanTrack] = []

    def one(self, profile: _Evented | _Sampled, place: str) -> None:
        """One profile, or an entry in what is left out."""
        unit, per_unit = _UNITS.get(profile.unit, ("", 0))
        if not unit:
            self.left_out.add(f"profiles in a unit that speedscope has not: {profile.unit[:40]!r}", place)
            return
        tree = StackTree(self._source)
        frames = [self._frame(tree, frame) for frame in self._file.shared.frames]
        if isinstance(profile, _Evented):
            track = SpanTrack(profile.name or place, profile.unit)
            wrong = _evented(profile, tree, frames, track)
            if not wrong and unit == "s":
                self._tracks.append(track)
        else:
            wrong = _sampled(profile, tree, frames, self.left_out, place)
        if wrong:
            count = len(profile.events) if isinstance(profile, _Evented) else len(profile.samples)
            self.left_out.add(wrong[0], f"{place}{wrong[1]}", max(1, count))
            return
        measure = "wall" if unit == "s" else "allocated" if unit == "B" else "samples"
        self.stacks.append(
            tree.stacks(measure=measure, unit=unit, per_unit=per_unit, sampled=isinstance(profile, _Sampled), lane=profile.name)
        )  # fmt: skip

    def _frame(self, tree: StackTree, frame: _Frame) -> int:
        python = self._python or (frame.file or "").endswith(".py")
        return tree.frame(
            frame.name, file=frame.file or None, line=frame.line if frame.line and frame.line > 0 else None, kind="python" if python else ""
        )

    def timeline(self) -> Timeline | None:
        """The evented profiles in time, one track each."""
        frames = self._file.shared.frames
        texts = [Frame(function=frame.name, file=frame.file, line=frame.line) for frame in frames]
        return spans_timeline(self._tracks, texts, "python" if self._python else "other", self.left_out) if self._tracks else None


def _sampled(profile: _Sampled, tree: StackTree, frames: Sequence[int], left_out: LeftOut, place: str) -> tuple[str, str] | None:
    """Add all samples; what is wrong with the profile as a whole, and where, if anything is."""
    if len(profile.samples) != len(profile.weights):
        return f"profiles with {len(profile.samples)} samples and {len(profile.weights)} weights"[:200], ".weights"
    known = range(len(frames))
    nodes: dict[tuple[int, ...], int] = {}
    for number, (sample, weight) in enumerate(zip(profile.samples, profile.weights, strict=True)):
        if not believable(weight):
            left_out.add(_UNBELIEVABLE, f"{place}.weights[{number}]")
            continue
        if not sample:
            left_out.add("samples without a stack", f"{place}.samples[{number}]")
            continue
        key = tuple(sample)
        node = nodes.get(key)
        if node is None:
            if min(sample) not in known or max(sample) not in known:
                return "profiles with frames that the file does not have", f".samples[{number}]"
            node = nodes[key] = tree.node([frames[frame] for frame in sample])
        tree.add(node, weight)
    return None


def _evented(profile: _Evented, tree: StackTree, frames: Sequence[int], track: SpanTrack) -> tuple[str, str] | None:
    """Add the own time between events, and each frame as a span; what is wrong and where, if anything is."""
    last: int | float = profile.start_value
    open_frames: list[tuple[int, int, int | float]] = []  # frame, node, since when
    for number, event in enumerate(profile.events):
        if not (event.at >= last and believable(abs(event.at))):
            return "profiles whose events do not follow in time", f".events[{number}]"
        if open_frames and event.at > last:
            tree.add(open_frames[-1][1], event.at - last)
        last = event.at
        if event.type == "O":
            if not 0 <= event.frame < len(frames):
                return "profiles with frames that the file does not have", f".events[{number}]"
            tree.shallow(len(open_frames) + 1)
            node = tree.child(open_frames[-1][1] if open_frames else -1, frames[event.frame])
            tree.add(node, 0)
            open_frames.append((event.frame, node, event.at))
            continue
        if not open_frames or open_frames[-1][0] != event.frame:
            return "profiles whose events do not nest", f".events[{number}]"
        frame, _, since = open_frames.pop()
        track.add(frame, since, event.at)
    return ("profiles with frames that never end", f".events[{len(profile.events)}]") if open_frames else None
