"""callgrind and cachegrind out files, and what else writes that format (xdebug, pyprof2calltree): costs by function and by call.

This module decides the lines of the format: compressed names and positions, several events, calls with their inclusive cost, parts one after another.
How calls become stacks is `call_graph`'s business. A function is one whatever file its inlined lines come from. Format: the manual of Valgrind,
"Callgrind Format Specification".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ridgeline.core import Caution, Profile, Stacks

from .call_graph import CallGraph
from .lines import Lines
from .source import Source
from .stacking import LeftOut, believable, nothing

__all__ = ["Callgrind"]

_COMPRESSED = re.compile(r"\((\d{1,12})\)(?:\s+(.*))?")
_EVENTS = re.compile(r"^events:\s*\S", re.MULTILINE)
_FUNCTION = re.compile(r"^fn=", re.MULTILINE)
_COST = re.compile(r"[-+*\d]|0x[0-9a-fA-F]")
_TIME = re.compile(r"Time_\((\d*)(ns|µs|us|ms|s)\)")
_PER_SECOND = {"ns": 10**9, "µs": 10**6, "us": 10**6, "ms": 1000, "s": 1}
_MOST_EVENTS = 64
_KEYS = {"fl": "file", "fi": "file", "fe": "file", "fn": "function", "ob": "object", "cfl": "file", "cfi": "file", "cfn": "function", "cob": "object"}
_HEADER = ("creator", "cmd", "pid", "part", "version", "thread")
#: Bytes of a cost cell beyond any counter.
_LONGEST_CELL = 40


class _Place(NamedTuple):
    """Where costs belong: object, file, function by name or number."""

    object: str
    file: str
    function: str


class Callgrind:
    """Reads callgrind and cachegrind out files."""

    format = "callgrind"
    title = "callgrind and cachegrind out files"

    def recognises(self, source: Source) -> int:
        """By its first line, or an `events:` line above the first function."""
        text = source.head_text
        if text.startswith("# callgrind format"):
            return 100
        events = _EVENTS.search(text)
        function = _FUNCTION.search(text)
        return 80 if events and (function is None or events.start() < function.start()) and (function or "\nfl=" in text or "desc:" in text) else 0

    def read(self, source: Source) -> Profile:
        """Read all parts of a file.

        Raises:
            ReadError: no events line, no cost, or a name beyond the limits.
        """
        reading, lines = _Reading(source), Lines(source)
        number = 0
        for piece in lines.pieces():
            for line in piece.split("\n"):
                number += 1
                if line:
                    reading.line(line.rstrip(), number)
            number -= 1 if piece.endswith("\n") else 0
        stacks = reading.stacks()
        if not stacks:
            raise nothing(source, "costs of callgrind", reading.left_out.listed)
        creator = reading.facts.get("creator", "")
        called = reading.has_calls
        effect = "own costs are exact; shares of the callers of a function are an estimate"
        split = Caution(
            code="split-by-calls", message="the file has calls, not stacks: costs are split between callers by their calls", effect=effect
        )
        return Profile(
            format=self.format, files=(source.name,), tool=creator or ("callgrind" if called else "cachegrind"), stacks=stacks, facts=reading.facts,
            excluded=reading.left_out.listed, warnings=(*lines.warnings, *reading.warnings, *((split,) if called else ())),
        )  # fmt: skip


class _Reading:
    """The state of the format: what each line leaves for the next."""

    def __init__(self, source: Source) -> None:
        self.left_out = LeftOut()
        self.facts: dict[str, str] = {}
        self.warnings: list[Caution] = []
        self.has_calls = False
        self._source = source
        self._events: list[str] = []
        self._graph: CallGraph | None = None
        self._positions = 1
        self._names: dict[tuple[str, str], str] = {}
        self._functions: dict[tuple[str, ...], int] = {}
        self._here = _Place("", "", "")
        self._function = -1
        self._file_of_function = ""
        self._callee = _Place("", "", "")
        self._calling = False
        self._jump = False
        self._before: list[int] = []
        self._sums: dict[str, list[int]] = {}
        self._called = -1

    def line(self, line: str, number: int) -> None:
        """One line of the file."""
        if _COST.match(line):
            self._costs(line, number)
            return
        key, equals, value = line.partition("=")
        if equals and key in _KEYS:
            self._named(key, value.strip(), number)
        elif key == "calls":
            self._calling = True
        elif key in ("jump", "jcnd", "jfi", "jfn"):
            self._jump = key in ("jump", "jcnd")
        elif not line.startswith("#"):
            self._header(line, number)

    def _header(self, line: str, number: int) -> None:
        key, colon, value = line.partition(":")
        value = value.strip()
        if key == "events":
            self._set_events(value.split())
        elif key == "positions":
            self._positions = max(1, len(value.split()))
        elif key in ("summary", "totals"):
            found = [int(cell) for cell in value.split() if cell.isascii() and cell.isdigit() and len(cell) < _LONGEST_CELL]
            before = self._sums.get(key, [0] * len(found))
            self._sums[key] = [one + other for one, other in zip(before, found, strict=False)]
        elif key in _HEADER and value:
            self.facts.setdefault(key, value[:1000])
        elif not colon or not key.isidentifier():
            self.left_out.add("lines that the format does not have", f"line {number}")

    def _set_events(self, events: list[str]) -> None:
        if self._graph is not None and events != self._events:
            raise self._source.damaged("parts with the same events", f"{' '.join(self._events)[:80]} and {' '.join(events)[:80]}", "read them apart")
        if not 0 < len(events) <= _MOST_EVENTS:
            raise self._source.damaged(f"1 to {_MOST_EVENTS} events", str(len(events)))
        if self._graph is None:
            self._events, self._graph = events, CallGraph(self._source, len(events))
            self._before = [0] * len(events)

    def _named(self, key: str, value: str, number: int) -> None:
        name = self._uncompressed(_KEYS[key], value, number)
        if key == "fn":
            compressed = _COMPRESSED.fullmatch(value)
            identity = f"({compressed[1]})" if compressed else name
            self._here = self._here._replace(function=identity)
            self._function = self._number(self._here, name)
        elif key in ("fl", "fi", "fe"):
            self._here = self._here._replace(file=name)
        elif key == "ob":
            self._here = self._here._replace(object=name)
        elif key == "cfn":
            compressed = _COMPRESSED.fullmatch(value)
            place = _Place(
                self._callee.object or self._here.object, self._callee.file or self._here.file, f"({compressed[1]})" if compressed else name
            )
            self._called = self._number(place, name)
        elif key in ("cfl", "cfi"):
            self._callee = self._callee._replace(file=name)
        else:
            self._callee = self._callee._replace(object=name)

    def _uncompressed(self, kind: str, value: str, number: int) -> str:
        found = _COMPRESSED.fullmatch(value) if value.startswith("(") else None
        if found is None:
            return value
        key = (kind, found[1])
        if found[2]:
            self._names[key] = found[2]
        elif key not in self._names:
            self.left_out.add("names that are used before they are defined", f"line {number}")
        return self._names.get(key, value)

    def _number(self, place: _Place, name: str) -> int:
        """The number of a function: by its compressed number, else by name, file and object."""
        if self._graph is None:
            raise self._source.damaged("an events line above the first function", f"function {name[:80]!r} without", "it is cut or damaged")
        key = (place.function,) if place.function.startswith("(") else tuple(place)
        number = self._functions.get(key)
        if number is None:
            file = None if place.file in ("", "???") else place.file
            frame = self._graph.tree.frame(name, file=file, library=place.object, kind="native" if place.object else "")
            number = self._functions[key] = self._graph.function(frame)
        return number

    def _costs(self, line: str, number: int) -> None:
        if self._jump:
            self._jump = False
            return
        cells = line.split()[self._positions :]
        costs = [self._cost(cell, place) for place, cell in enumerate(cells)]
        if (
            self._graph is None
            or self._function < 0
            or len(costs) > len(self._events)
            or not all(cost is not None and believable(cost) for cost in costs)
        ):
            self.left_out.add("lines of costs that cannot be read", f"line {number}")
        else:
            known = [cost or 0 for cost in costs]
            if self._calling and self._called < 0:
                self.left_out.add("calls without the function called", f"line {number}")
            elif self._calling:
                self.has_calls = True
                self._graph.add_call(self._function, self._called, known)
            else:
                self._graph.add_own(self._function, known)
        if self._calling:
            self._calling, self._callee = False, _Place("", "", "")

    def _cost(self, cell: str, place: int) -> int | None:
        """A cost, relative to the one before in its column where it has a sign or a star."""
        if place >= len(self._before) or len(cell) > _LONGEST_CELL:
            return None
        before = self._before[place]
        if cell == "*":
            return before
        digits = cell[1:] if cell[0] in "+-" else cell
        if not (digits.isascii() and digits.isdigit()):
            return None
        value = int(digits)
        cost = value if digits is cell else before + (value if cell[0] == "+" else -value)
        self._before[place] = cost
        return cost

    def stacks(self) -> tuple[Stacks, ...]:
        """One for each event that has a cost."""
        if self._graph is None or not len(self._graph):
            return ()
        self._check_summary()
        made = [self._stacks_of(place, event) for place, event in enumerate(self._events)]
        return tuple(each for each in made if each is not None)

    def _stacks_of(self, place: int, event: str) -> Stacks | None:
        assert self._graph is not None
        if timed := _TIME.fullmatch(event):
            step = int(timed[1] or 1)
            per_second = _PER_SECOND[timed[2]]
            unit, per_unit = ("s", per_second // step) if step and per_second % step == 0 else ("count", 1)
            return self._graph.stacks(place, name="wall" if unit == "s" else event, unit=unit, per_unit=per_unit)
        unit = "B" if event.lower() in ("memory_(bytes)", "bytes") else "cycle" if event in ("Cycle", "Cycles", "CEst") else "count"
        return self._graph.stacks(place, name=event, unit=unit)

    def _check_summary(self) -> None:
        assert self._graph is not None
        # callgrind's own `summary` may count a few instructions that are in no function; its `totals` are of what is written.
        for place, expected in enumerate((self._sums.get("totals") or self._sums.get("summary") or [])[: len(self._events)]):
            found = self._graph.whole(place)
            if found != expected:
                message = f"own costs of {self._events[place]} sum to {found:.12g}, and the file says {expected}"
                self.warnings.append(Caution(code="sum-differs", message=message, effect="the file may be cut short or lack a part"))
                return
