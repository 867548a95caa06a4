"""pprof: profile.proto of google/pprof (Go, gperftools, Node, rbspy, parca, …), one `Stacks` for each of its sample types.

This module decides what its tables mean: a location may hold several lines (calls inlined into one another, innermost first), and its sample type of
choice comes first. Legacy text and binary profiles of gperftools are other formats and not read. Format: proto/profile.proto of google/pprof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ridgeline.core import Profile, Stacks

from .source import Source
from .stacking import UNKNOWN, LeftOut, StackTree, nothing
from .wire import LENGTH, VARINT, WireError, fields, signed, varints

__all__ = ["Pprof"]

_UNITS = {
    "nanoseconds": ("s", 10**9), "ns": ("s", 10**9), "microseconds": ("s", 10**6), "us": ("s", 10**6), "µs": ("s", 10**6),
    "milliseconds": ("s", 1000), "ms": ("s", 1000), "seconds": ("s", 1), "s": ("s", 1), "bytes": ("B", 1), "byte": ("B", 1), "b": ("B", 1),
    "count": ("count", 1), "cycles": ("cycle", 1),
}  # fmt: skip
# Field numbers of Profile.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = 1, 2, 3, 4, 5, 6
_DROP, _KEEP, _TIME, _DURATION, _PERIOD_TYPE, _PERIOD, _COMMENT, _DEFAULT_TYPE, _DOC = 7, 8, 9, 10, 11, 12, 13, 14, 15
_LENGTHS = frozenset({_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING, _PERIOD_TYPE, _DOC})
_MOST_TYPES = 64
#: A longer packed field is decoded as an array.
_LONG = 1000


class _Line(NamedTuple):
    function: int
    line: int


class _Location(NamedTuple):
    mapping: int
    address: int
    lines: tuple[_Line, ...]


class Pprof:
    """Reads pprof profiles."""

    format = "pprof"
    title = "pprof (profile.proto)"

    def recognises(self, source: Source) -> int:
        """By top-level fields that all are those of profile.proto, with at least one sample type or sample, and an empty first string."""
        seen: Counter[int] = Counter()
        head = source.head
        try:
            for number, wire, value in fields(head):
                if not 0 < number <= _DOC or (wire == LENGTH) != (number in _LENGTHS or (number == _COMMENT and wire == LENGTH)):
                    return 0
                if (number == _SAMPLE_TYPE and not _is_value_type(value)) or (number == _STRING and not seen[_STRING] and value != b""):
                    return 0
                seen[number] += 1
        except WireError:
            if len(head) < 2**14:
                return 0
        # A message of another schema may by chance have such fields; four kinds of them make that unlikely.
        told = seen[_SAMPLE_TYPE] > 0 and len(seen) >= 3 and (seen[_STRING] > 0 or seen[_SAMPLE] > 3)
        return 85 if told else 0

    def read(self, source: Source) -> Profile:
        """Read all samples.

        Raises:
            ReadError: damaged (with the byte), no sample with a value, or a stack or name beyond the limits.
        """
        try:
            reading = _Reading(source)
        except WireError as error:
            raise source.damaged("a pprof profile", str(error)) from error
        stacks = reading.stacks()
        if not stacks:
            raise nothing(source, "samples of pprof", reading.left_out.listed)
        return Profile(
            format=self.format, files=(source.name,), tool=reading.comment(), stacks=stacks, facts=reading.facts(), excluded=reading.left_out.listed
        )


def _is_value_type(value: int | bytes) -> bool:
    if isinstance(value, int) or len(value) > 24:
        return False
    try:
        return all(number in (1, 2) and wire == VARINT for number, wire, _ in fields(value))
    except WireError:
        return False


class _Reading:
    """The tables of one profile, then its samples."""

    def __init__(self, source: Source) -> None:
        self.left_out = LeftOut()
        self._tree = StackTree(source)
        self._strings: list[str] = []
        self._types: list[tuple[int, int]] = []
        self._locations: dict[int, _Location] = {}
        self._functions: dict[int, tuple[int, int]] = {}
        self._mappings: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._comments: list[int] = []
        self._period_type = (0, 0)
        self._labels: Counter[int] = Counter()
        samples: list[bytes] = []
        for number, wire, value in fields(source.data):
            if number == _SAMPLE and isinstance(value, bytes):
                samples.append(value)
            elif wire == LENGTH and isinstance(value, bytes):
                self._table(number, value)
            elif isinstance(value, int):
                self._comments.append(value) if number == _COMMENT else self._numbers.__setitem__(number, value)
        self._stacks_of_locations: dict[bytes, int] = {}
        self._frames: dict[int, tuple[int, ...]] = {}
        if not 0 < len(self._types) <= _MOST_TYPES:
            raise source.damaged(f"1 to {_MOST_TYPES} sample types", str(len(self._types)))
        for place, sample in enumerate(samples):
            self._sample(sample, place)

    def _table(self, number: int, value: bytes) -> None:
        match number:
            case 6:
                self._strings.append(value.decode("utf-8", "replace"))
            case 1:
                self._types.append(_pair(value, 1, 2))
            case 11:
                self._period_type = _pair(value, 1, 2)
            case 3:
                found = _scalars(value)
                self._mappings[found.get(1, 0)] = found.get(5, 0)
            case 4:
                self._location(value)
            case 5:
                found = _scalars(value)
                self._functions[found.get(1, 0)] = (found.get(2, 0) or found.get(3, 0), found.get(4, 0))
            case 13:
                self._comments.extend(int(each) for each in varints(value))

    def _location(self, value: bytes) -> None:
        lines = []
        scalars: dict[int, int] = {}
        for number, wire, part in fields(value):
            if number == 4 and isinstance(part, bytes):
                lines.append(_Line(*_pair(part, 1, 2)))
            elif wire == VARINT and isinstance(part, int):
                scalars[number] = part
        self._locations[scalars.get(1, 0)] = _Location(scalars.get(2, 0), scalars.get(3, 0), tuple(lines))

    def _sample(self, sample: bytes, place: int) -> None:
        places: list[bytes] = []
        values: list[int] = []
        for number, wire, part in fields(sample):
            if number == 1:
                places.append(part if isinstance(part, bytes) else _varint_bytes(part))
            elif number == 2:
                values.extend(map(signed, _numbers(part) if isinstance(part, bytes) else [part]))
            elif number == 3 and wire == LENGTH and isinstance(part, bytes):
                self._labels[_scalars(part).get(1, 0)] += 1
        if len(values) != len(self._types):
            self.left_out.add(f"samples without a value for each of {len(self._types)} sample types", f"sample {place}")
            return
        node = self._node(b"".join(places), place)
        if node is None:
            return
        for index, value in enumerate(values):
            if value < 0:
                self.left_out.add(f"negative values of {self._type(index)[0]}", f"sample {place}")
            elif value:
                self._tree.add(node, value, str(index))

    def _node(self, packed: bytes, place: int) -> int | None:
        node = self._stacks_of_locations.get(packed)
        if node is None:
            frames = [frame for location in reversed(_numbers(packed)) for frame in self._frames_of(location)]
            if not frames:
                self.left_out.add("samples without a stack", f"sample {place}")
                return None
            node = self._stacks_of_locations[packed] = self._tree.node(frames)
        return node

    def _frames_of(self, number: int) -> tuple[int, ...]:
        """The frames of a location, outermost first."""
        frames = self._frames.get(number)
        if frames is None:
            location = self._locations.get(number) or _Location(0, 0, ())
            library = self._text(self._mappings.get(location.mapping, 0))
            if location.lines:
                last = len(location.lines) - 1
                made = [self._frame(line, library, inlined=place < last) for place, line in enumerate(location.lines)]
                frames = tuple(made[::-1])
            else:
                name = f"0x{location.address:x}" if location.address else UNKNOWN
                frames = (self._tree.frame(name, library=library),)
            self._frames[number] = frames
        return frames

    def _frame(self, line: _Line, library: str, *, inlined: bool) -> int:
        name, file = self._functions.get(line.function, (0, 0))
        path = self._text(file)
        kind = "inlined" if inlined else "python" if path.endswith(".py") else "native" if library else ""
        return self._tree.frame(self._text(name), file=path or None, line=line.line if 0 < line.line < 2**31 else None, library=library, kind=kind)

    def _text(self, index: int) -> str:
        return self._strings[index] if 0 <= index < len(self._strings) else ""

    def _type(self, index: int) -> tuple[str, str]:
        name, unit = self._types[index]
        return self._text(name) or "samples", self._text(unit) or "count"

    def _order(self) -> Iterator[int]:
        """The sample type of choice first (the last one where the file names none), then as in the file."""
        wanted = self._text(self._numbers.get(_DEFAULT_TYPE, 0))
        count = len(self._types)
        first = next((index for index in range(count) if wanted and self._type(index)[0] == wanted), count - 1)
        yield first
        yield from (index for index in range(count) if index != first)

    def stacks(self) -> tuple[Stacks, ...]:
        """One for each sample type that has a value."""
        at_s = signed(self._numbers.get(_TIME, 0)) / 1e9
        made = []
        for index in self._order():
            if str(index) not in self._tree.measures:
                continue
            name, unit = self._type(index)
            base, per_unit = _UNITS.get(unit.lower(), ("count", 1))
            made.append(
                self._tree.stacks(
                    str(index), measure=name, unit=base, per_unit=per_unit, sampled=False, at_s=at_s or None, interval_s=self._interval_s()
                )
            )
        return tuple(made)

    def _interval_s(self) -> float | None:
        unit, per_unit = _UNITS.get(self._text(self._period_type[1]).lower(), ("", 1))
        period = signed(self._numbers.get(_PERIOD, 0))
        return period / per_unit if unit == "s" and period > 0 else None

    def comment(self) -> str:
        """What the file says of its maker."""
        said = [self._text(index) for index in self._comments]
        return "; ".join(text for text in said if text)[:200]

    def facts(self) -> dict[str, str]:
        """Duration, period, default type, labels."""
        found = {}
        if (nanoseconds := signed(self._numbers.get(_DURATION, 0))) > 0:
            found["duration"] = f"{nanoseconds / 1e9:.9g} s"
        if (period := signed(self._numbers.get(_PERIOD, 0))) > 0:
            found["period"] = f"{period} {self._text(self._period_type[1])} of {self._text(self._period_type[0])}".strip()
        if wanted := self._text(self._numbers.get(_DEFAULT_TYPE, 0)):
            found["default sample type"] = wanted
        if self._labels:
            found["labels"] = ", ".join(f"{self._text(key)[:80]} ({count})" for key, count in self._labels.most_common(20))
        return found


def _scalars(value: bytes) -> dict[int, int]:
    return {number: part for number, wire, part in fields(value) if wire == VARINT and isinstance(part, int)}


def _pair(value: bytes, first: int, second: int) -> tuple[int, int]:
    found = _scalars(value)
    return found.get(first, 0), found.get(second, 0)


def _numbers(packed: bytes) -> list[int]:
    """The unsigned values of a packed field: those of a sample are few, and arrays would cost more than they save."""
    if packed.isascii():
        return list(packed)
    if len(packed) > _LONG:
        return [int(value) for value in varints(packed)]
    values: list[int] = []
    value = shift = 0
    for byte in packed:
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            values.append(value & 0xFFFFFFFFFFFFFFFF)
            value = shift = 0
        else:
            shift += 7
            if shift > 63:
                raise WireError("a number longer than ten bytes", 0)
    if shift:
        raise WireError("a number cut short", len(packed))
    return values


def _varint_bytes(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
