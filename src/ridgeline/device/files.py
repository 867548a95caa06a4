"""Reads a device from a TOML file in which every number names its source.

Decides what a device file may say and refuses everything else with the file and the key; quantities are texts such as `3.35 TB/s`, so that
a person can compare them with the source. What a number *means* is fixed by `core.device`; where files come from is left to `catalogue`.
A specification gives one bandwidth for all access mixes, so that each `[[bandwidth]]` becomes one ceiling per mix.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ..core import Ceiling, Device, Engine, MemoryLevel, Precision, Quantity, ReadError, UsageError
from ..core.device import MEMORY_MIXES
from ..core.units import parse

__all__ = ["read_device", "shipped"]

# A device file is a page of text; anything much longer is something else.
_MAX_BYTES = 256 * 1024
_Date = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
_Threads = Annotated[int, msgspec.Meta(ge=0, le=2**20)]


class _Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"place": "from"}):
    """Where numbers were taken from: a document or a file of a repository, when it was read, and the commit where one is known."""

    place: _Name
    read: _Date
    commit: str | None = None

    def origin(self, note: str = "") -> str:
        """One line for a person."""
        text = f"{self.place}{f' at {self.commit}' if self.commit else ''}, read {self.read}"
        return f"{text}: {note}" if note else text


class _Number(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: str | int
    source: _Name
    note: str = ""


class _Rate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    engine: Engine
    precision: Precision
    rate: str
    source: _Name
    threads: _Threads = 0
    note: str = ""


class _Bandwidth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    level: _Name
    rate: str
    source: _Name
    threads: _Threads = 0
    note: str = ""


class _Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: _Name
    capacity: str
    source: _Name
    shared_by: _Count | None = None
    line_bytes: _Count = 64


class _Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price per hour; `devices` is how many devices it pays for, `date` when the table was read (its commit, where known, fixes the table)."""

    value: str
    currency: Literal["USD"]
    provider: _Name
    date: _Date
    source: _Name
    devices: _Count = 1


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: _Name
    kind: Literal["cpu", "gpu", "npu"]
    # How the numbers are known: a maker's specification, or an assumption made for teaching.
    known: Literal["spec", "assumed"] = "spec"
    source: dict[str, _Source]
    ceiling: list[_Rate] = []
    bandwidth: list[_Bandwidth] = []
    level: list[_Level] = []
    execution_units: _Number | None = None
    vector_bits: _Number | None = None
    registers: _Number | None = None
    shared_memory: _Number | None = None
    memory: _Number | None = None
    clock: _Number | None = None
    power: _Number | None = None
    price: _Price | None = None
    notes: list[str] = []


class _Reader:
    """One file being turned into a `Device`; knows the file's name for the errors."""

    def __init__(self, file: _File, where: str) -> None:
        self.file = file
        self.where = where

    def error(self, key: str, error: str) -> ReadError:
        return ReadError("a device file whose every number has a unit and a source", found=f"{self.where}, {key}: {error}", remedy="mend that key")

    def origin(self, key: str, source: str, note: str = "") -> str:
        if source not in self.file.source:
            raise self.error(f"{key}.source", f"no [source.{source}], there are {sorted(self.file.source)}")
        return self.file.source[source].origin(note)

    def number(self, key: str, text: str | int, unit: str) -> float:
        try:
            value = parse(str(text), unit)
        except UsageError as error:
            raise self.error(key, error.found or str(error)) from error
        if value <= 0:
            raise self.error(key, f"{text!r} is not above zero")
        return value

    def whole(self, key: str, number: _Number | None, unit: str) -> tuple[int | None, tuple[str, ...]]:
        """The value as an int and, since an int carries no origin, a note with it."""
        if number is None:
            return None, ()
        value = self.number(f"{key}.value", number.value, unit)
        if value != int(value):
            raise self.error(f"{key}.value", f"{number.value!r} is no whole number of {unit}")
        return int(value), (f"{key}: {self.origin(key, number.source, number.note)}",)

    def exact(self, key: str, text: str | int, unit: str, source: str, note: str = "") -> Quantity:
        value = self.number(key, text, unit)
        return Quantity.exact(value, unit, source=self.file.known, origin=self.origin(key.rpartition(".")[0] or key, source, note))

    def optional(self, key: str, number: _Number | None, unit: str) -> Quantity | None:
        return None if number is None else self.exact(f"{key}.value", number.value, unit, number.source, number.note)

    def ceilings(self) -> tuple[Ceiling, ...]:
        found = []
        for index, rate in enumerate(self.file.ceiling):
            key = f"ceiling[{index}]"
            if rate.engine in (*MEMORY_MIXES, "latency"):
                raise self.error(f"{key}.engine", f"{rate.engine} is of memory; it goes under [[bandwidth]]")
            unit = "FLOP/s" if rate.engine in ("fma", "add") else "op/s"
            quantity = self.exact(f"{key}.rate", rate.rate, unit, rate.source, rate.note)
            found.append(Ceiling(engine=rate.engine, precision=rate.precision, threads=rate.threads, rate=quantity, library="spec"))
        for index, band in enumerate(self.file.bandwidth):
            quantity = self.exact(f"bandwidth[{index}].rate", band.rate, "B/s", band.source, band.note)
            found += [
                Ceiling(engine=mix, precision="any", threads=band.threads, rate=quantity, level=band.level, library="spec") for mix in MEMORY_MIXES
            ]
        return tuple(found)

    def levels(self) -> tuple[tuple[MemoryLevel, ...], tuple[str, ...]]:
        levels, notes = [], []
        for index, level in enumerate(self.file.level):
            key = f"level[{index}]"
            capacity = int(self.number(f"{key}.capacity", level.capacity, "B"))
            levels.append(MemoryLevel(name=level.name, capacity_bytes=capacity, shared_by=level.shared_by, line_bytes=level.line_bytes))
            notes.append(f"levels.{level.name}: {self.origin(key, level.source)}")
        return tuple(levels), tuple(notes)

    def price(self) -> Quantity | None:
        price = self.file.price
        if price is None:
            return None
        whole = self.exact("price.value", price.value, "USD/h", price.source, f"{price.provider}, on demand, {price.date}, for {price.devices}")
        return whole.scaled(1 / price.devices)

    def device(self) -> Device:
        if not self.file.source:
            raise self.error("source", "none given")
        units, unit_note = self.whole("execution_units", self.file.execution_units, "count")
        vector, vector_note = self.whole("vector_bits", self.file.vector_bits, "count")
        registers, register_note = self.whole("registers", self.file.registers, "B")
        shared, shared_note = self.whole("shared_memory", self.file.shared_memory, "B")
        memory, memory_note = self.whole("memory", self.file.memory, "B")
        levels, level_notes = self.levels()
        return Device(
            name=self.file.name,
            kind=self.file.kind,
            ceilings=self.ceilings(),
            levels=levels,
            execution_units=units,
            vector_bits=vector,
            registers_bytes=registers,
            shared_memory_bytes=shared,
            memory_bytes=memory,
            clock_hz=self.optional("clock", self.file.clock, "Hz"),
            power_w=self.optional("power", self.file.power, "W"),
            price_per_hour=self.price(),
            probed_at=max(source.read for source in self.file.source.values()),
            notes=(*self.file.notes, *unit_note, *vector_note, *register_note, *shared_note, *memory_note, *level_notes),
        )


def parse_device(text: str, where: str) -> Device:
    """Build a device from the text of a file; `where` names it in errors (see `read_device`)."""
    try:
        file = msgspec.toml.decode(text, type=_File)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, ValueError) as error:
        raise ReadError(
            "a device file in TOML", found=f"{where}: {error}", remedy="mend that key; ridgeline devices shows files that are right"
        ) from error
    return _Reader(file, where).device()


def read_device(path: Path) -> Device:
    """Read one device file.

    Args:
        path: a TOML file like those in `ridgeline/device/data`.

    Returns:
        The device; rates in FLOP/s, op/s and B/s, sizes in bytes, each with its origin.

    Raises:
        ReadError: not a file, larger than 256 KiB, not UTF-8, not TOML, or a key that does not fit; names file and key.
    """
    try:
        if not path.is_file():  # a pipe would be waited for without end
            raise OSError("not a file" if path.exists() else "no such file")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ReadError("a readable device file in UTF-8", found=f"{path}: {error}", remedy="give the path of a TOML file") from error
    if len(data) > _MAX_BYTES:
        raise ReadError(f"a device file of at most {_MAX_BYTES} bytes", found=f"{path}: more", remedy="give the path of a TOML file")
    return parse_device(text, path.name)


def shipped() -> tuple[Device, ...]:
    """The devices that come with ridgeline, in order of file name."""
    folder = resources.files(__package__) / "data"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    return tuple(parse_device(entry.read_text(encoding="utf-8"), entry.name) for entry in entries)
