"""Where events come from: what all events of one phase, category, process and thread have in common, and the slots that they lie in.

This module decides what a phase and a category mean for an event before its track has a name; names are given in `tracks`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from .interning import as_text
from .kineto import FOUND, Class, class_of

__all__ = ["GROUP", "OURS", "Origin", "Origins", "Slot", "Slots", "device_slot"]

_PHASES = {
    "X": "span", "B": "begin", "E": "end", "b": "begin_async", "e": "end_async", "n": "mark", "S": "begin_async", "F": "end_async",
    "T": "mark", "p": "mark", "i": "mark", "I": "mark", "R": "mark", "s": "flow_start", "t": "flow_step", "f": "flow_end", "C": "counter",
    "M": "metadata",
}  # fmt: skip
#: What is done with events of a phase, by name and number.
GROUP = {group: number for number, group in enumerate((*dict.fromkeys(_PHASES.values()), "ignored"))}
#: What ridgeline itself wrote, in place of a phase.
OURS = "found"
_UNIT = re.compile(r"^([A-Z]+) (\d+)$")
_STREAM = re.compile(r"^stream\s*#?\s*(?=\d)", re.IGNORECASE)


class Slot(msgspec.Struct, frozen=True, gc=False):
    """Where an event lies before its track has a name: `where` as in `kineto.Class` or `async`, and what identifies it there."""

    where: str
    process: str
    thread: str
    device: str = ""
    unit: str = ""


class Origin:
    """What all events of one phase, category, process and thread have in common."""

    def __init__(self, key: tuple[Any, Any, Any, Any], slots: Slots, most_characters: int) -> None:
        phase, category, process, thread = key
        self.group = GROUP[_PHASES.get(phase, "ignored") if isinstance(phase, str) else "ignored"]
        self.category = as_text(category)
        self.ignored = OURS if self.category in FOUND else as_text(phase)[:20]
        if self.category in FOUND:
            self.group = GROUP["ignored"]
        self.process = as_text(process)
        self.thread = as_text(thread)
        self.too_long = max(len(self.category), len(self.process), len(self.thread)) > most_characters
        known = class_of(category)
        self.known = known is not None and category not in (None, "")
        self.cls: Class = known or _OTHER
        self.on_host = self.cls.where in ("thread", "ranges")
        self.slot = slots[Slot(self.cls.where if self.on_host else "thread", self.process, self.thread)]
        if self.group in (GROUP["begin_async"], GROUP["end_async"]):
            self.slot = slots[Slot("async", self.process, self.category)]


_OTHER = class_of("") or Class("other")


class Origins(dict[tuple[Any, Any, Any, Any], int]):
    """(phase, category, process, thread) → the number of what is `all` of it."""

    def __init__(self, slots: Slots, most_characters: int) -> None:
        super().__init__()
        self.all: list[Origin] = []
        self._slots = slots
        self._most_characters = most_characters

    def __missing__(self, key: tuple[Any, Any, Any, Any]) -> int:
        self.all.append(Origin(key, self._slots, self._most_characters))
        number = self[key] = len(self.all) - 1
        return number


class Slots(dict[Slot, int]):
    """Slot → its number."""

    def __missing__(self, slot: Slot) -> int:
        number = self[slot] = len(self)
        return number


def device_slot(origin: Origin, device: Any, stream: Any) -> Slot:
    """Device and stream as the arguments say them; where they do not, the process is the device and the thread the stream."""
    device = as_text(device) or origin.process
    stream = as_text(stream) if origin.cls.unit != "MTIA" else ""
    known = _UNIT.match(device)
    # Words are a name, such as that of a device of one rank in a file of ours.
    unit, number = known.groups() if known else ("" if " " in device else origin.cls.unit, device)
    return Slot(origin.cls.where, "", _STREAM.sub("", stream or origin.thread), number, unit)
