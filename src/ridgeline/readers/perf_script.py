"""`perf script`: samples as text, each a header and its stack, innermost frame first (Linux perf; the same text that simpleperf and others write).

This module decides where a sample ends, what its frames are and what it weighs: its period where every sample of the event has one, else one. Each
event gives a `Stacks` of its own, below a frame for the command. Clock events count nanoseconds (perf_event_open(2): PERF_COUNT_SW_CPU_CLOCK).
"""

from __future__ import annotations

import re

from ridgeline.core import Caution, Profile, Stacks

from .frame_names import native_frame
from .lines import Lines
from .perf_header import Header, header_of, loose_header
from .source import Source
from .stacking import UNKNOWN, LeftOut, StackTree, believable, nothing

__all__ = ["PerfScript"]

_FRAME = re.compile(r"\s+(?P<address>[0-9a-f]+)\s(?P<rest>.*)")
_SOURCE_LINE = re.compile(r"\s+(?P<file>[^\s:][^:]*):(?P<line>\d{1,9})")
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
_ADDRESS = frozenset("0123456789abcdef")
_LOOKED_AT = 400
#: Texts of frames and of stacks that are remembered.
_REMEMBERED = 400_000
#: Characters of the stacks that are remembered.
_MOST_REMEMBERED = 2**26
#: Text behind the last blank line of a piece that waits for the next one.
_WAITING = 2**22
_CLOCKS = ("cpu-clock", "task-clock")
_CYCLES = ("cycles", "cpu-cycles", "ref-cycles", "bus-cycles", "cpu_core/cycles", "cpu_atom/cycles")
_HEAD_FACT = re.compile(r"# (captured on|hostname|os release|perf version|arch|cpudesc|nrcpus online|cmdline)\s*: (.*)")


class PerfScript:
    """Reads the text of `perf script`."""

    format = "perf-script"
    title = "perf script text"

    def recognises(self, source: Source) -> int:
        """By a header of a sample with an indented frame below it, or samples of one line."""
        lines = [line for line in source.head_text.split("\n")[:_LOOKED_AT] if not line.startswith("#")]
        for line, below in zip(lines, [*lines[1:], ""], strict=True):
            if line.strip() and not line.startswith("\t") and len(line) < 4096 and (header := header_of(line.rstrip("\r"))):
                framed = below.startswith("\t") and _FRAME.match(below[:4096]) is not None
                return 95 if framed else 70 if header.rest or not below.strip() else 30
        return 60 if _bare(lines) else 0

    def read(self, source: Source) -> Profile:
        """Read all samples.

        Raises:
            ReadError: no sample, or a stack or name beyond the limits.
        """
        samples, lines = _Samples(source), Lines(source)
        rest = ""
        for piece in lines.pieces():
            blocks = (rest + piece).split("\n\n")
            rest = blocks.pop()
            for block in blocks:
                samples.block(block)
            if len(rest) > _WAITING:
                whole, rest = _cut_before_last_header(rest)
                samples.block(whole, blank_after=False)
        samples.block(rest.removesuffix("\n"), blank_after=False)
        samples.finish(lines.ended)
        stacks = samples.stacks()
        if not stacks:
            raise nothing(source, "samples of perf script", samples.left_out.listed)
        return Profile(
            format=self.format, files=(source.name,), tool=f"perf {version}" if (version := samples.facts.get("perf version")) else "perf",
            resolution_s=samples.resolution_s, stacks=stacks, facts=samples.all_facts(), excluded=samples.left_out.listed,
            warnings=(*lines.warnings, *samples.warnings),
        )  # fmt: skip


class _Event:
    """What is known of the samples of one event."""

    def __init__(self) -> None:
        self.samples = 0
        self.with_period = 0
        self.periods: set[str] = set()
        self.first = ""


class _Samples:
    """Samples as they come, gathered into a tree."""

    def __init__(self, source: Source) -> None:
        self.left_out = LeftOut()
        self.facts: dict[str, str] = {}
        self.warnings: list[Caution] = []
        self._tree = StackTree(source)
        self._events: dict[str, _Event] = {}
        self._threads: set[str] = set()
        self._last = ""
        self._digits = 0
        self._line = 1
        self._frames: dict[str, int] = {}
        self._stacks: dict[str, tuple[int, ...]] = {}
        self._nodes: dict[tuple[str, str], int] = {}
        # The sample that is being read: its header, its frames and the line it began at.
        self._header: Header | None = None
        self._open: list[int] = []
        self._begun = 1
        self._headed = False
        self._remembered = 0

    def block(self, text: str, *, blank_after: bool = True) -> None:
        """Samples between two blank lines: mostly one."""
        if not (blank_after and self._quick(text)):
            self._slow(text)
            if blank_after:
                self._close()
        self._line += text.count("\n") + (2 if blank_after else 0)

    def _quick(self, text: str) -> bool:
        """Take a block that is one sample and nothing else, as nearly all are; whether it was."""
        head, _, body = text.partition("\n")
        if self._header is not None or not body:
            return False
        header = header_of(head)
        if header is None or header.rest:
            return False
        known = self._stacks.get(body)
        if known is None:
            found = [self._plain_frame(line) for line in body.split("\n")]
            known = tuple([frame for frame in found if frame is not None])
            if len(known) < len(found):
                return False
            self._remember(body, known)
        self._sample(header, known, body, self._line)
        return True

    def _plain_frame(self, line: str) -> int | None:
        """The frame of an indented line; `None` where the line may be something else."""
        frame = self._frames.get(line)
        if frame is not None or not line.startswith("\t") or _SOURCE_LINE.fullmatch(line[:4096]):
            return frame
        return self._new_frame(line)

    def _new_frame(self, line: str) -> int:
        if len(self._frames) >= _REMEMBERED:
            self._frames.clear()
        frame = self._frames[line] = self._parsed(line.strip())
        return frame

    def _remember(self, body: str, frames: tuple[int, ...]) -> None:
        if len(self._stacks) >= _REMEMBERED or self._remembered > _MOST_REMEMBERED:
            self._stacks.clear()
            self._nodes.clear()
            self._remembered = 0
        self._stacks[body] = frames
        self._remembered += len(body)

    def _slow(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if not line.strip():
                self._close()
            elif line.startswith("#"):
                self._comment(line)
            else:
                self._entry(line, self._line + number)

    def _entry(self, line: str, number: int) -> None:
        if not line.startswith("\t") and (header := self._header_at(line)):
            self._close()
            self._header, self._begun = header, number
            if header.rest and (frame := self._single(header.rest)) is not None:
                self._open.append(frame)
            return
        if self._header is None and line[0] not in " \t":
            self.left_out.add("lines that are neither a sample nor a frame", f"line {number}")
            return
        self._frame_line(line, number)

    def _header_at(self, line: str) -> Header | None:
        """A header: complete, or at the start of a sample whatever stands there without a margin."""
        return header_of(line) or (loose_header(line) if line[0] != " " and not self._open else None)

    def _frame_line(self, line: str, number: int) -> None:
        frame = self._frames.get(line)
        if frame is None:
            if (place := _SOURCE_LINE.fullmatch(line[:4096])) and self._open:
                self._open[-1] = self._tree.frame_at(self._open[-1], place["file"], int(place["line"]))
                return
            frame = self._new_frame(line)
        if self._header is None:
            if self._headed:
                self.left_out.add("frames without the header of a sample", f"line {number}")
                return
            self._header, self._begun = Header(""), number
        self._open.append(frame)

    def _parsed(self, text: str) -> int:
        """A frame: address, symbol with or without its offset, object in parentheses; each may be missing."""
        first, _, rest = text.partition(" ")
        address = int(first, 16) if rest and len(first) <= 16 and _ADDRESS.issuperset(first) else None
        name, library = _object_of(rest if address is not None else text)
        return native_frame(self._tree, _OFFSET.sub("", name[-_LONG:]) if len(name) < _LONG else name, library, address)

    def _single(self, rest: str) -> int | None:
        """The frame of a sample without a stack, on the line of its header; `None` where those are the fields of a tracepoint."""
        first, _, _ = rest.partition(" ")
        return self._parsed(rest) if len(first) >= 4 and _ADDRESS.issuperset(first) else None

    def _close(self) -> None:
        header = self._header
        if header is not None and not self._open and not header.event:
            self.left_out.add("lines that are neither a sample nor a frame", f"line {self._begun}")
        elif header is not None:
            self._sample(header, tuple(self._open), "", self._begun)
        self._header, self._open = None, []

    def _sample(self, header: Header, frames: tuple[int, ...], body: str, line: int) -> None:
        event = self._events.setdefault(header.event, _Event())
        self._headed = self._headed or bool(header.command)
        period = int(header.period) if header.period else None
        if period is not None and not believable(period):
            self.left_out.add("samples with a period beyond 2⁶³", f"line {line}")
            return
        node = self._nodes.get((header.command, body)) if body else None
        if node is None:
            root = self._tree.child(-1, self._tree.frame(header.command, kind="process")) if header.command else -1
            if root < 0 and not frames:
                return
            node = self._tree.node(frames[::-1], root)
            if body:
                self._nodes[header.command, body] = node
        self._tree.add(node, 1, f"n{header.event}")
        event.samples += 1
        if period is not None:
            event.with_period += 1
            self._tree.add(node, period, f"w{header.event}")
            if len(event.periods) < 2:
                event.periods.add(header.period)
        self._timed(header, event)

    def _timed(self, header: Header, event: _Event) -> None:
        if header.time:
            event.first = event.first or header.time
            self._last = header.time
            self._digits = max(self._digits, len(header.time.partition(".")[2]))
        if header.thread and len(self._threads) < _REMEMBERED:
            self._threads.add(header.thread)

    def _comment(self, line: str) -> None:
        if found := _HEAD_FACT.fullmatch(line[:4096].rstrip()):
            self.facts.setdefault(found[1], found[2].strip())

    def finish(self, ended: bool) -> None:
        """The last sample, which a file that was cut short holds in part."""
        if self._header is None:
            return
        if not ended and (not self._open or not self._whole_last()):
            self.left_out.add("samples that are cut off at the end of the file", f"line {self._begun}")
            self._header, self._open = None, []
            return
        alone = bool(self._header.rest) and len(self._open) < 2
        self._close()
        if alone:
            return
        message = "the file ends within its last sample, as if it were cut short or a blank line were lost"
        self.warnings.append(Caution(code="cut-short", message=message, effect="that stack may lack its outer frames"))

    def _whole_last(self) -> bool:
        """Whether the last frame names its object as those before it do."""
        libraries = [bool((told := self._tree.told(frame)).library) or told.function == UNKNOWN for frame in self._open]
        return libraries[-1] or not any(libraries[:-1])

    @property
    def resolution_s(self) -> float | None:
        """The last decimal of the time stamps."""
        return 10.0**-self._digits if 0 < self._digits <= 9 else None

    def all_facts(self) -> dict[str, str]:
        """What the header says, how many threads there are, and from when to when."""
        first = next((event.first for event in self._events.values() if event.first), "")
        timed = {"first sample": f"{first} s", "last sample": f"{self._last} s"} if first else {}
        threads = {"threads": str(len(self._threads))} if self._threads else {}
        return {**self.facts, **threads, **timed}

    def stacks(self) -> tuple[Stacks, ...]:
        """One for each event, in the order of the file."""
        return tuple(self._stacks_of(name, event) for name, event in self._events.items() if event.samples)

    def _stacks_of(self, name: str, event: _Event) -> Stacks:
        at_s = float(event.first) if event.first else None
        base = name.rstrip("/").partition(":")[0].rstrip("/")
        clock = base in _CLOCKS
        if event.with_period < event.samples:
            measure = f"samples of {name}" if name else "samples"
            if event.with_period:
                message = f"{event.with_period} of {event.samples} samples of {name} have a period: every sample weighs one"
                self.warnings.append(Caution(code="periods-missing", message=message, effect="shares are of samples"))
            return self._tree.stacks(f"n{name}", measure=measure, unit="count", at_s=at_s)
        unit = "s" if clock else "cycle" if base in _CYCLES else "count"
        interval_s = int(next(iter(event.periods))) / 1e9 if clock and len(event.periods) == 1 else None
        return self._tree.stacks(f"w{name}", measure=name, unit=unit, per_unit=10**9 if clock else 1, at_s=at_s, interval_s=interval_s or None)


#: A longer name is not searched for an offset.
_LONG = 2**14


def _object_of(text: str) -> tuple[str, str]:
    """Symbol and object of `SYMBOL (OBJECT)`; the object may itself end in ` (deleted)`.

    >>> _object_of("operator()(int) (/lib/a.so (deleted))")
    ('operator()(int)', '/lib/a.so')
    """
    if not text.endswith(")"):
        return text, ""
    inner = text[:-1].removesuffix(" (deleted)")
    if text.startswith("(") and " (" not in inner:
        return UNKNOWN, inner[1:]
    place = inner.rfind(" (")
    return (inner[:place], inner[place + 2 :]) if place >= 0 else (text, "")


def _bare(lines: list[str]) -> bool:
    """Whether the lines look like stacks under a command without time or event: `-F comm,ip,sym,dso`."""
    frames = [line for line in lines if line.startswith("\t") and _FRAME.match(line[:4096])]
    indented = [line for line in lines if line[:1].isspace() and line.strip()]
    return len(frames) > 0 and len(frames) == len(indented) and all(len(line) < 200 for line in lines if line not in indented)


def _cut_before_last_header(text: str) -> tuple[str, str]:
    """The text before its last line without a margin, and from there on; all of it where there is none."""
    place = max((found.start() for found in re.finditer(r"\n(?=[^\s])", text[-(2**20) :])), default=-1)
    if place < 0:
        return text, ""
    place += max(0, len(text) - 2**20)
    return text[:place], text[place + 1 :]
